"""Regex scripts: find-and-replace rules that run on messages and prompts.

Found in a file of their own (one object or an array), in `extensions.regex_scripts` of presets and
of cards. This module reads and writes them; it runs none (tavern-compiler does), and the patterns
stay as they are written (`js_regex` reads those).

Source: SillyTavern 1.19.0, public/scripts/extensions/regex (engine.js, index.js).
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import attrs
from attrs import field, frozen

from tavern_format import _json_text as json_text
from tavern_format._fields import Field, Kind, Misfit, json_type
from tavern_format._json_text import JsonObject
from tavern_format._kinds import (
    FLAG,
    NUMBER,
    TEXT,
    choice,
    keep_objects,
    nested_many,
    number_of,
    optional,
    texts,
)
from tavern_format._structure import Origin, Spec
from tavern_format.diagnostics import Parsed, Remarks, Report, info, pointer, warn
from tavern_format.errors import LimitExceededError, MalformedResourceError
from tavern_format.limits import DEFAULT_LIMITS, Limits


class Placement(IntEnum):
    """Which texts a script runs on; SillyTavern's numbers."""

    MARKDOWN_DISPLAY = 0
    """Legacy: display only."""
    USER_INPUT = 1
    AI_OUTPUT = 2
    SLASH_COMMAND = 3
    SEND_AS = 4
    """Legacy: replaced by SLASH_COMMAND."""
    WORLD_INFO = 5
    REASONING = 6


class SubstituteRegex(IntEnum):
    """Whether macros in the find pattern are expanded first; SillyTavern's numbers."""

    NONE = 0
    RAW = 1
    ESCAPED = 2


@frozen(kw_only=True, weakref_slot=False)
class RegexScript:
    """One script, with SillyTavern's defaults."""

    id: str = ""
    name: str = ""
    find_regex: str = ""
    """`/body/flags` or a bare pattern: JavaScript, see `js_regex.parse_script_regex`."""
    replace_string: str = ""
    trim_strings: tuple[str, ...] = ()
    placement: tuple[int, ...] = ()
    """Numbers of `Placement`; an unknown number is kept and never matches."""
    disabled: bool = False
    markdown_only: bool = False
    prompt_only: bool = False
    run_on_edit: bool = False
    substitute_regex: SubstituteRegex = SubstituteRegex.NONE
    min_depth: float | None = None
    """Messages from the end; None: no lower bound."""
    max_depth: float | None = None
    """Messages from the end; None: no upper bound."""
    origin: Origin | None = field(default=None, repr=False, eq=False)


def _read_placement(value: object) -> tuple[int, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Misfit((), "an array of numbers")
    numbers = [_whole(item) for item in value]
    kept = tuple(number for number in numbers if number is not None)
    if len(kept) == len(value):
        return kept
    raise Misfit(kept, "an array of numbers only")


def _whole(item: object) -> int | None:
    """Give a place as a whole number: JSON's `2.0` is one; a text that says it never matches."""
    if isinstance(item, float) and item.is_integer():
        return int(item)
    return item if type(item) is int else None


def _read_depth(value: object) -> float | None:
    """Depths come from a text box: SillyTavern reads a text as a number, and an empty one as 0."""
    if isinstance(value, str) and not value.strip():
        raise Misfit(0, "a number or null")
    return number_of(value) if isinstance(value, str) else _OPTIONAL_NUMBER.read(value)


def _read_substitute(value: object) -> SubstituteRegex:
    """Older files hold a boolean; SillyTavern reads a text as a number."""
    if isinstance(value, bool):
        return SubstituteRegex(int(value))
    number = number_of(value) if isinstance(value, str) else None
    if number in tuple(SubstituteRegex):
        raise Misfit(SubstituteRegex(int(number)), "a number from 0 to 2")
    return _SUBSTITUTE.read(value)  # type: ignore[no-any-return]


_OPTIONAL_NUMBER = optional(NUMBER)
_SUBSTITUTE = choice(
    {int(way): way for way in SubstituteRegex}, SubstituteRegex.NONE, "a number from 0 to 2"
)
_DEPTH = Kind(_OPTIONAL_NUMBER.exact, _read_depth)

SCRIPT_SPEC = Spec(
    "regex-script",
    RegexScript,
    (
        Field("id", ("id",), TEXT, default=""),
        Field("name", ("scriptName",), TEXT, default=""),
        Field("find_regex", ("findRegex",), TEXT, default=""),
        Field("replace_string", ("replaceString",), TEXT, default=""),
        Field("trim_strings", ("trimStrings",), texts(), default=[]),
        Field("placement", ("placement",), Kind(frozenset(), _read_placement, list), default=[]),
        Field("disabled", ("disabled",), FLAG, default=False),
        Field("markdown_only", ("markdownOnly",), FLAG, default=False),
        Field("prompt_only", ("promptOnly",), FLAG, default=False),
        Field("run_on_edit", ("runOnEdit",), FLAG, default=False),
        Field(
            "substitute_regex",
            ("substituteRegex",),
            attrs.evolve(_SUBSTITUTE, read=_read_substitute),
            default=0,
        ),
        Field("min_depth", ("minDepth",), _DEPTH),
        Field("max_depth", ("maxDepth",), _DEPTH),
    ),
)
SCRIPTS = nested_many(SCRIPT_SPEC)
"""The kind of `extensions.regex_scripts`."""


@frozen(kw_only=True)
class RegexScripts:
    """The scripts of one file, in order."""

    scripts: tuple[RegexScript, ...] = ()
    origin: Any = field(default=None, repr=False, eq=False)
    """The parsed document: one object, or an array."""


def parse_regex_scripts(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Parsed[RegexScripts]:
    """Parse a regex-script file: one script, or an array of them.

    A script without a name, which SillyTavern refuses to import, is read with a NAME_MISSING
    diagnostic. Raises MalformedResourceError (JSON_*, REGEX_SCRIPT_SHAPE) and LimitExceededError.
    """
    data = json_text.as_bytes(data, limits)
    found = Remarks(limits.diagnostics)
    document = json_text.load(data, limits, found)
    if not isinstance(document, list) and not _is_script(document):
        raise _not_scripts(document)
    items = document if isinstance(document, list) else [document]
    if len(items) > limits.entries:
        raise LimitExceededError(
            limit="entries", actual=len(items), maximum=limits.entries, unit="scripts"
        )
    single = not isinstance(document, list)
    objects = keep_objects(items, "", found)
    places = ["" if single else pointer("", at) for at in objects]
    scripts = SCRIPT_SPEC.decode_all(
        list(objects.values()), places.__getitem__, found, tuple(objects)
    )
    remark_scripts(scripts, places, found)
    return Parsed(RegexScripts(scripts=tuple(scripts), origin=document), found.all())


def dump_regex_scripts(scripts: RegexScripts, *, indent: int | None = None) -> bytes:
    """Write scripts as they were read: one object for a file of one, else an array."""
    return json_text.dump(_to_json(scripts), indent=indent)


def _to_json(scripts: RegexScripts) -> JsonObject | list[Any]:
    written: list[Any] = [SCRIPT_SPEC.encode(script) for script in scripts.scripts]
    if isinstance(scripts.origin, dict) and len(written) == 1:
        return written[0]  # type: ignore[no-any-return]
    if isinstance(scripts.origin, list):
        for at, item in enumerate(scripts.origin):
            if not isinstance(item, dict):
                written.insert(min(at, len(written)), item)
    return written


def remark_scripts(scripts: Sequence[RegexScript], places: Sequence[str], report: Report) -> None:
    """Report scripts that SillyTavern would not import, or that never run."""
    for script, place in zip(scripts, places, strict=True):
        if not script.name:
            message = "no `scriptName`: SillyTavern refuses to import the script"
            warn(report, "NAME_MISSING", pointer(place, "scriptName"), message)
        if not script.placement:
            message = "no placement: the script never runs"
            info(report, "PLACEMENT_MISSING", pointer(place, "placement"), message)


def _is_script(document: object) -> bool:
    return isinstance(document, dict) and ("scriptName" in document or "findRegex" in document)


def _not_scripts(document: object) -> MalformedResourceError:
    message = f"regex scripts are an object or an array, not {json_type(document)}"
    if isinstance(document, dict):
        message = "no `scriptName` and no `findRegex`"
        if "regex_scripts" in document:
            message += " (the scripts are under `regex_scripts`)"
    return MalformedResourceError("REGEX_SCRIPT_SHAPE", message, path="")


_EVERYWHERE = (1, 2, 3, 5, 6)
"""What the display-only placement became: every one that is not legacy."""


def migrate_regex_script(raw: Mapping[str, Any]) -> JsonObject:
    """Bring a script of an older SillyTavern up to date, as SillyTavern does at its start.

    The display-only placement becomes the two flags that replaced it, "send as" becomes the slash
    command, a placement that is no list becomes empty. The `id` is left alone (SillyTavern gives a
    new one on import). Returns a new object; keys keep their order.
    """
    done = dict(raw)
    placement = raw.get("placement")
    if not isinstance(placement, list):
        return {**done, "placement": []}
    if Placement.MARKDOWN_DISPLAY in placement:
        only = len(placement) == 1
        rest = [item for item in placement if item != Placement.MARKDOWN_DISPLAY]
        done.update(markdownOnly=True, promptOnly=True)
        done["placement"] = list(_EVERYWHERE) if only else rest
    if Placement.SEND_AS in done["placement"]:
        only = len(done["placement"]) == 1
        rest = [item for item in done["placement"] if item != Placement.SEND_AS]
        done["placement"] = [int(Placement.SLASH_COMMAND)] if only else rest
    return done
