"""YAML cards of text-generation-webui, through PyYAML (the `yaml` extra).

Owns which values a YAML text means: those of the YAML 1.2 core schema (`yes` and dates stay texts,
`012` is twelve). Refuses tags, aliases and repeated keys: none of them belongs in a card, and
aliases can blow a small file up without bound. Only PyYAML's events are used; no message repeats
one of PyYAML's, which quote the file.

Source: YAML 1.2.2, 10.3 (core schema).
"""

import re
from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any

from tavern_format import _json_text as json_text
from tavern_format._json_text import JsonObject
from tavern_format.diagnostics import Report
from tavern_format.errors import FormatError, LimitExceededError, MalformedResourceError
from tavern_format.limits import Limits

_DEEPEST_LEVELS = 100
"""A card has four; PyYAML looks for each key again on every level."""
_NUMBER_CHARS = 1_000
"""Python's own bound for a whole number is 4,300 digits, written in decimal."""


class _NumberError(ValueError):
    """A number JSON cannot hold."""


def _float(literal: str) -> float:
    number = float(literal.replace(".inf", "inf").replace(".nan", "nan"))
    if not isfinite(number):
        raise _NumberError
    return number


_SCALARS: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = (
    (re.compile(r"~|null|Null|NULL|"), lambda _: None),
    (re.compile(r"true|True|TRUE"), lambda _: True),
    (re.compile(r"false|False|FALSE"), lambda _: False),
    (re.compile(r"[-+]?[0-9]++"), int),
    (re.compile(r"0o[0-7]++|0x[0-9a-fA-F]++"), lambda literal: int(literal, 0)),
    (
        re.compile(r"[-+]?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?"),
        _float,
    ),
    (
        re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"),
        lambda literal: _float(literal.lower()),
    ),
)
"""What a plain scalar means, the first that fits; any other is a text."""
_SCALAR_STARTS = frozenset("~nNtTfF+-.0123456789")


def load_yaml(data: bytes, limits: Limits, report: Report = lambda _: None) -> JsonObject:
    """Parse one YAML document that is a mapping.

    Diagnostics: as `decode` of JSON (ENCODING_REPLACED). Raises MalformedResourceError
    (YAML_SYNTAX, YAML_ALIAS, YAML_TAG, YAML_NUMBER, YAML_KEY, YAML_KEY_REPEATED, YAML_SHAPE,
    YAML_DEPTH where the caller has left no stack, YAML_UNAVAILABLE where PyYAML is not installed)
    and LimitExceededError (`yaml_bytes`, `json_depth_levels`, `string_chars`).
    """
    if len(data) > limits.yaml_bytes:
        raise LimitExceededError(
            limit="yaml_bytes", actual=len(data), maximum=limits.yaml_bytes, unit="bytes"
        )
    try:
        import yaml  # noqa: PLC0415 - the extra may be missing
    except ModuleNotFoundError:
        message = "YAML cards need PyYAML: pip install 'tavern-format[yaml]'"
        raise MalformedResourceError("YAML_UNAVAILABLE", message) from None
    text = json_text.decode(data, report)
    try:
        document = _Builder(yaml, text, limits).build(yaml.parse(text, Loader=yaml.SafeLoader))
    except FormatError:
        raise
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        index = getattr(fault, "position", None) if mark is None else mark.index
        raise _fault("YAML_SYNTAX", "the text is not YAML", text, index) from None
    except (ValueError, OverflowError):  # an escape beyond Unicode, a version of many digits
        raise _fault("YAML_SYNTAX", "the text is not YAML", text, None) from None
    except RecursionError:
        message = "nested too deeply for the calling program's remaining stack"
        raise MalformedResourceError("YAML_DEPTH", message) from None
    if not isinstance(document, dict):
        message = "the YAML document is no mapping"
        raise MalformedResourceError("YAML_SHAPE", message, path="")
    return document


class _Builder:
    """Makes JSON values of PyYAML's events as they come: nothing is built beyond a limit."""

    def __init__(self, yaml: Any, text: str, limits: Limits) -> None:  # noqa: ANN401
        self._yaml = yaml
        self._text = text
        self._levels = min(limits.json_depth_levels, _DEEPEST_LEVELS)
        self._string_chars = limits.string_chars
        self._open: list[tuple[Any, str | None]] = []
        """The containers around the next value; of a mapping also the key that waits for it."""
        self._documents: list[Any] = []

    def build(self, events: Iterator[Any]) -> Any:  # noqa: ANN401
        """Give the one document of the stream; None for an empty stream."""
        yaml = self._yaml
        for event in events:
            if isinstance(event, yaml.AliasEvent):
                raise self._refusal("YAML_ALIAS", "aliases are not read in cards", event)
            if getattr(event, "tag", None) is not None:
                raise self._refusal("YAML_TAG", "tags are not read in cards", event)
            if isinstance(event, yaml.ScalarEvent):
                self._put(self._scalar(event), event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._begin({} if isinstance(event, yaml.MappingStartEvent) else [], event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._open.pop()
        return self._documents[0] if self._documents else None

    def _begin(self, container: Any, event: Any) -> None:  # noqa: ANN401
        self._put(container, event)
        self._open.append((container, None))
        if len(self._open) > self._levels:
            raise LimitExceededError(
                limit="json_depth_levels",
                actual=len(self._open),
                maximum=self._levels,
                unit="levels",
            )

    def _put(self, value: Any, event: Any) -> None:  # noqa: ANN401
        container, key = self._open[-1] if self._open else (self._documents, None)
        if isinstance(container, list):
            if not self._open and container:
                raise self._refusal("YAML_SYNTAX", "the text holds a second document", event)
            container.append(value)
        elif key is None:
            self._open[-1] = (container, self._key(value, container, event))
        else:
            container[key] = value
            self._open[-1] = (container, None)

    def _key(self, value: Any, mapping: JsonObject, event: Any) -> str:  # noqa: ANN401
        """Spell a key as JavaScript does: null is the empty text, other values as in JSON."""
        if isinstance(value, dict | list):
            raise self._refusal("YAML_KEY", "a key is no single value", event)
        key = value
        if not isinstance(value, str):
            plain = json_text.with_javascript_numbers(value)
            key = "" if value is None else json_text.dump(plain).decode()
        if key in mapping:
            raise self._refusal("YAML_KEY_REPEATED", "a key occurs twice", event)
        found: str = key
        return found

    def _scalar(self, event: Any) -> Any:  # noqa: ANN401
        literal: str = event.value
        if len(literal) > self._string_chars:
            raise LimitExceededError(
                limit="string_chars",
                actual=len(literal),
                maximum=self._string_chars,
                unit="characters",
            )
        if not event.implicit[0] or (literal and literal[0] not in _SCALAR_STARTS):
            return literal
        read = next((read for form, read in _SCALARS if form.fullmatch(literal)), None)
        if read is None:
            return literal
        if len(literal) > _NUMBER_CHARS:
            raise self._refusal("YAML_NUMBER", "a number has too many digits", event)
        try:
            return read(literal)
        except _NumberError:
            raise self._refusal("YAML_NUMBER", "a number is not finite", event) from None

    def _refusal(self, code: str, message: str, event: Any) -> MalformedResourceError:  # noqa: ANN401
        return _fault(code, message, self._text, event.start_mark.index)


def _fault(code: str, message: str, text: str, index: int | None) -> MalformedResourceError:
    offset = None if index is None else len(text[:index].encode("utf-8", "replace"))
    return MalformedResourceError(code, message, offset_bytes=offset)
