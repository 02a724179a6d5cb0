"""One call of a parser, caught: the value with its diagnostics, or the refusal."""

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs
from attrs import field, frozen

from tavern_format import Diagnostic, FormatError, Parsed
from tests.conformance._findings import Findings, is_array


@frozen
class Outcome:
    """What a parser made of an input."""

    value: Any = field(default=None, repr=False)
    diagnostics: tuple[Diagnostic, ...] = ()
    error: FormatError | None = None

    @property
    def accepted(self) -> bool:
        """Whether there is a value."""
        return self.error is None

    def codes(self) -> list[str]:
        """List the code of the refusal, or those of the diagnostics."""
        return [self.error.code] if self.error else [found.code for found in self.diagnostics]

    def says(self, pattern: str) -> bool:
        """Tell whether one of the codes matches a pattern as a whole."""
        return any(re.fullmatch(pattern, code) for code in self.codes())

    def summary(self) -> str:
        """Write what happened on one line."""
        if self.error:
            return f"refused ({self.error})"
        remarks = ", ".join(f"{found.code} {found.path or '/'}" for found in self.diagnostics)
        return f"accepted ({remarks or 'no diagnostics'})"


def attempt(parse: Callable[[], Parsed[Any]]) -> Outcome:
    """Call a parser; only the package's own errors are caught."""
    try:
        parsed = parse()
    except FormatError as fault:
        return Outcome(error=fault)
    return Outcome(parsed.value, parsed.diagnostics)


def require_types(findings: Findings, model: Any) -> None:
    """Hold every attribute of a model, at any depth, against its declared type.

    However odd the input is, a model must never hold a value of another type.
    """
    for path, text in _type_faults(model, "model"):
        findings.add("types", f"{path}: {text}")


def _type_faults(model: Any, path: str) -> Iterator[tuple[str, str]]:
    hints = get_type_hints(type(model))
    for found in attrs.fields(type(model)):
        value = getattr(model, found.name)
        place = f"{path}.{found.name}"
        if found.name == "origin":
            continue
        if not _fits(value, hints[found.name]):
            yield place, f"{type(value).__name__} where {hints[found.name]} is declared"
        for at, item in enumerate(value if is_array(value) else (value,)):
            if attrs.has(type(item)):
                yield from _type_faults(item, f"{place}[{at}]" if is_array(value) else place)


def _fits(value: Any, hint: Any) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any or (hint is None and value is None):
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in arguments)
    if origin is None:
        return _is(value, hint)
    if issubclass(origin, Mapping):
        return isinstance(value, Mapping)
    return is_array(value) and all(_fits(item, arguments[0]) for item in value)


def _is(value: Any, wanted: type) -> bool:
    if wanted in (int, float):
        whole = isinstance(value, int) and not isinstance(value, bool | Enum)
        return whole or (wanted is float and isinstance(value, float))
    if wanted in (NoneType, str, bool):
        return type(value) is wanted or (wanted is str and isinstance(value, str))
    return isinstance(value, wanted)
