"""Presets of the text-completion family: instruct, context, system prompt, reasoning, samplers.

They come one to a file, or together in a "master" file with one section each.

Source: SillyTavern 1.19.0, public/scripts/preset-manager.js (master import),
public/scripts/instruct-mode.js, public/scripts/power-user.js.
"""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from tavern_format import _json_text as json_text
from tavern_format._fields import Field, Kind, json_type
from tavern_format._json_text import JsonObject
from tavern_format._kinds import FLAG, NUMBER, TEXT, number, optional
from tavern_format._structure import Origin, Spec
from tavern_format.detection import (
    TEXT_COMPLETION_SHAPES,
    ResourceKind,
    detect_document,
    master_sections,
    name_document,
)
from tavern_format.diagnostics import Parsed, Remarks, pointer
from tavern_format.errors import MalformedResourceError
from tavern_format.limits import DEFAULT_LIMITS, Limits


@frozen(kw_only=True, weakref_slot=False)
class InstructPreset:
    """How messages are wrapped for a model that completes text."""

    name: str = ""
    input_sequence: str = ""
    output_sequence: str = ""
    system_sequence: str = ""
    input_suffix: str = ""
    output_suffix: str = ""
    system_suffix: str = ""
    first_input_sequence: str = ""
    last_input_sequence: str = ""
    first_output_sequence: str = ""
    last_output_sequence: str = ""
    last_system_sequence: str = ""
    stop_sequence: str = ""
    story_string_prefix: str = ""
    story_string_suffix: str = ""
    activation_regex: str = ""
    user_alignment_message: str = ""
    names_behavior: str = ""
    """`none`, `force` or `always`."""
    wrap: bool = False
    macro: bool = False
    skip_examples: bool = False
    system_same_as_user: bool = False
    sequences_as_stop_strings: bool = False
    origin: Origin | None = field(default=None, repr=False, eq=False)


@frozen(kw_only=True, weakref_slot=False)
class ContextPreset:
    """How the parts of a prompt are joined for a model that completes text."""

    name: str = ""
    story_string: str = ""
    example_separator: str = ""
    chat_start: str = ""
    use_stop_strings: bool = False
    names_as_stop_strings: bool = False
    always_force_name2: bool = False
    trim_sentences: bool = False
    single_line: bool = False
    story_string_position: float = 0
    story_string_depth: float = 1
    """Messages from the end."""
    story_string_role: float = 0
    """0 system, 1 user, 2 assistant."""
    origin: Origin | None = field(default=None, repr=False, eq=False)


@frozen(kw_only=True, weakref_slot=False)
class SystemPromptPreset:
    """A system prompt."""

    name: str = ""
    content: str = ""
    post_history: str = ""
    origin: Origin | None = field(default=None, repr=False, eq=False)


@frozen(kw_only=True, weakref_slot=False)
class ReasoningPreset:
    """How a model's reasoning is set off from its answer."""

    name: str = ""
    prefix: str = ""
    suffix: str = ""
    separator: str = ""
    origin: Origin | None = field(default=None, repr=False, eq=False)


@frozen(kw_only=True, weakref_slot=False)
class TextCompletionPreset:
    """Samplers of a text-completion service; all others are in `origin.raw`."""

    name: str = ""
    temperature: float | None = None
    """`temp`."""
    top_p: float | None = None
    top_k: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    """`rep_pen`."""
    reply_size_tokens: float | None = None
    """`genamt`."""
    context_size_tokens: float | None = None
    """`max_length`."""
    dry_sequence_breakers: str = ""
    """A JSON array written as a text."""
    origin: Origin | None = field(default=None, repr=False, eq=False)


TextPreset = (
    InstructPreset | ContextPreset | SystemPromptPreset | ReasoningPreset | TextCompletionPreset
)


@frozen(kw_only=True)
class MasterPreset:
    """Several presets in one file; a section that is not there is None.

    Setting a section to None takes it out of the file.
    """

    instruct: InstructPreset | None = None
    context: ContextPreset | None = None
    sysprompt: SystemPromptPreset | None = None
    preset: TextCompletionPreset | None = None
    reasoning: ReasoningPreset | None = None
    raw: Mapping[str, Any] = field(factory=dict, repr=False, eq=False)


def _same_named(names: str, kind: Kind, default: object) -> tuple[Field, ...]:
    return tuple(Field(name, (name,), kind, default=default) for name in names.split())


_OPTIONAL_NUMBER = optional(NUMBER)
_SPECS: dict[str, Spec[Any]] = {
    "instruct": Spec(
        "instruct",
        InstructPreset,
        (
            *_same_named(
                "name input_sequence output_sequence system_sequence input_suffix output_suffix"
                " system_suffix first_input_sequence last_input_sequence first_output_sequence"
                " last_output_sequence last_system_sequence stop_sequence story_string_prefix"
                " story_string_suffix activation_regex user_alignment_message names_behavior",
                TEXT,
                "",
            ),
            *_same_named(
                "wrap macro skip_examples system_same_as_user sequences_as_stop_strings",
                FLAG,
                default=False,
            ),
        ),
    ),
    "context": Spec(
        "context",
        ContextPreset,
        (
            *_same_named("name story_string example_separator chat_start", TEXT, ""),
            *_same_named(
                "use_stop_strings names_as_stop_strings always_force_name2 trim_sentences"
                " single_line",
                FLAG,
                default=False,
            ),
            *_same_named("story_string_position story_string_role", number(0), 0),
            Field("story_string_depth", ("story_string_depth",), number(1), default=1),
        ),
    ),
    "sysprompt": Spec(
        "sysprompt", SystemPromptPreset, _same_named("name content post_history", TEXT, "")
    ),
    "reasoning": Spec(
        "reasoning", ReasoningPreset, _same_named("name prefix suffix separator", TEXT, "")
    ),
    "preset": Spec(
        "text-completion-preset",
        TextCompletionPreset,
        (
            *_same_named("name dry_sequence_breakers", TEXT, ""),
            *_same_named("top_p top_k min_p", _OPTIONAL_NUMBER, None),
            Field("temperature", ("temp",), _OPTIONAL_NUMBER),
            Field("repetition_penalty", ("rep_pen",), _OPTIONAL_NUMBER),
            Field("reply_size_tokens", ("genamt",), _OPTIONAL_NUMBER),
            Field("context_size_tokens", ("max_length",), _OPTIONAL_NUMBER),
        ),
    ),
}
_SECTION_OF = {kind: section for section, kind, _ in TEXT_COMPLETION_SHAPES}


def parse_text_preset(
    data: bytes, *, limits: Limits = DEFAULT_LIMITS
) -> Parsed[TextPreset | MasterPreset]:
    """Parse an instruct, context, system-prompt, reasoning or sampler file, or a master file.

    Where two shapes fit, SillyTavern's order decides: instruct, context, system prompt, samplers,
    reasoning. Sections of a master file that are incomplete are left alone, as SillyTavern leaves
    them. Raises MalformedResourceError (JSON_*, TEXT_PRESET_SHAPE) and LimitExceededError.
    """
    data = json_text.as_bytes(data, limits)
    found = Remarks(limits.diagnostics)
    document = json_text.load(data, limits, found)
    if not isinstance(document, dict):
        message = f"a preset is an object, not {json_type(document)}"
        raise MalformedResourceError("TEXT_PRESET_SHAPE", message, path="")
    section = _SECTION_OF.get(detect_document(document))
    if section is not None:
        return Parsed(_SPECS[section].decode(document, "", found), found.all())
    if detect_document(document) is not ResourceKind.MASTER_PRESET:
        kind = name_document(document)
        message = "no preset of the text-completion family"
        message = message if kind is None else f"this is {kind}, not a text-completion preset"
        raise MalformedResourceError("TEXT_PRESET_SHAPE", message, path="")
    sections = {
        name: _SPECS[name].decode(document[name], pointer("", name), found)
        for name in master_sections(document)
        if name in _SPECS
    }
    return Parsed(MasterPreset(**sections, raw=document), found.all())


def dump_text_preset(preset: TextPreset | MasterPreset, *, indent: int | None = None) -> bytes:
    """Write a preset as it was read, with its edits."""
    return json_text.dump(_to_json(preset), indent=indent)


def _to_json(preset: TextPreset | MasterPreset) -> JsonObject:
    if isinstance(preset, MasterPreset):
        sections = {
            name: _to_json(section)
            for name in _SPECS
            if (section := getattr(preset, name)) is not None
        }
        raw = dict(preset.raw)
        gone = {name for name in master_sections(raw) if name in _SPECS and name not in sections}
        return {**{key: value for key, value in raw.items() if key not in gone}, **sections}
    spec = next(spec for spec in _SPECS.values() if isinstance(preset, spec.model))
    return spec.encode(preset)
