"""The kinds of values that occur in SillyTavern's JSON, and how each reads what it should not be.

A wrong type is never an error: the value is read as SillyTavern would take it (or as the default),
a FIELD_TYPE diagnostic tells so, and the text of the file stays as it is.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import not_
from typing import Any

from attrs import field, frozen

from tavern_format._fields import Column, Kind, Misfit, holds_only, json_type
from tavern_format._json_text import JS_DECIMAL_LIMIT, JsonObject
from tavern_format._structure import Spec
from tavern_format.diagnostics import Report, error, pointer, warn


def _types(*types: type) -> frozenset[type]:
    return frozenset(types)


_NONE = type(None)


def _read_text(value: object) -> str:
    """Numbers are shown as text; 0 is no text, as everywhere in SillyTavern (`value || ""`)."""
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise Misfit(js_number_text(value) if value else "", "a string")
    raise Misfit("", "a string")


def js_number_text(value: float) -> str:
    """Write a number as JavaScript's `String(value)` does for common sizes: `1`, not `1.0`."""
    if isinstance(value, int):  # it may be too large to become a float
        return str(value)
    is_whole = value.is_integer() and abs(value) < JS_DECIMAL_LIMIT
    return str(int(value)) if is_whole else repr(value)


def number_of(text: str) -> float | int | None:
    """Read the plain decimal spelling of a number; None for anything else."""
    try:
        number = float(text)
    except ValueError:
        return None
    if number != number or number in (float("inf"), float("-inf")):  # noqa: PLR0124
        return None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _number(default: float | None) -> Callable[[Any], Any]:
    def read(value: object) -> float | None:
        if value is None:
            return default
        if isinstance(value, bool):
            raise Misfit(int(value), "a number")
        if isinstance(value, str):
            number = number_of(value)
            raise Misfit(default if number is None else number, "a number")
        raise Misfit(default, "a number")

    return read


def js_truthy(value: object) -> bool:
    """Tell whether JavaScript takes a JSON value for true: empty arrays and objects are."""
    return True if isinstance(value, list | dict) else bool(value)


def _read_flag(value: object) -> bool:
    if value is None:
        return False
    raise Misfit(js_truthy(value), "true or false")


def _texts_of(value: object, *, split: bool, numbers: bool) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        parts = tuple(part.strip() for part in value.split(",")) if split else ()
        raise Misfit(tuple(filter(None, parts)), "an array of strings")
    if not isinstance(value, list):
        raise Misfit((), "an array of strings")
    kept = tuple(
        item if isinstance(item, str) else js_number_text(item)
        for item in value
        if isinstance(item, str) or (numbers and type(item) in (int, float))
    )
    if all(isinstance(item, str) for item in value):
        return kept
    raise Misfit(kept, "an array of strings only")


def _write_texts(value: Sequence[str]) -> list[str]:
    if isinstance(value, str) or not all(isinstance(item, str) for item in value):
        message = "a sequence of strings is needed"
        raise TypeError(message)
    return list(value)


def _write_text(value: object) -> object:
    if not isinstance(value, str):
        message = f"a string is needed, not {type(value).__name__}"
        raise TypeError(message)
    return value


def _are_texts(value: object) -> bool:
    return value is None or (isinstance(value, list) and set(map(type, value)) <= {str})


def _texts_column(column: Column) -> Column | None:
    if not set(map(type, column)) <= {list}:
        return None
    if not any(column):
        return [()] * len(column)
    if set(map(type, chain.from_iterable(column))) <= {str}:
        return list(map(tuple, column))
    return None


def texts(*, split: bool = False, numbers: bool = False) -> Kind:
    """Make the kind of string lists; `split` reads "a, b" as two, `numbers` turns 7 into "7"."""
    return Kind(
        exact=_types(),
        read=lambda value: _texts_of(value, split=split, numbers=numbers),
        write=_write_texts,
        bulk=_texts_column,
        plain=_are_texts,
    )


def number(default: float) -> Kind:
    """Make the kind of numbers whose `null` means `default`."""
    return Kind(_types(int, float), _number(default))


def choice(members: Mapping[Any, Any], default: object, wanted: str) -> Kind:
    """Make the kind of a closed set: JSON value to member; anything else reads as `default`."""
    names = {member: value for value, member in members.items()}

    def read(value: object) -> object:
        if plain(value):
            return default if value is None else members[value]
        raise Misfit(default, wanted)

    def write(member: object) -> object:
        if member is not None and member not in names:
            message = f"{wanted} is needed"
            raise ValueError(message)
        return names.get(member)

    def bulk(column: Column) -> Column | None:
        if set(map(type, column)) in ({int}, {str}) and set(column) <= members.keys():
            return list(map(members.__getitem__, column))
        return None

    def plain(value: object) -> bool:
        # JSON knows one sort of number: 4.0 is 4, and finds it in the table.
        return value is None or (type(value) in (int, float, str) and value in members)

    return Kind(_types(), read, write, bulk, plain)


def optional(kind: Kind) -> Kind:
    """Let `null` stand for None in another kind."""
    return Kind(
        kind.exact | {_NONE},
        lambda value: None if value is None else kind.read(value),
        lambda value: None if value is None else kind.write(value),
        plain=kind.plain,
    )


def _mapping_column(column: Column) -> Column | None:
    """Give every model without one an object of its own: callers may hold on to it."""
    if set(map(type, column)) <= {dict, _NONE}:
        return [{} if value is None else value for value in column]
    return None


def _read_mapping(value: object) -> JsonObject:
    if value is None or value == []:
        return {}
    raise Misfit({}, "an object")


def negated(kind: Kind) -> Kind:
    """Invert a flag: `disable` in the file, `enabled` in the model."""

    def read(value: object) -> bool:
        if type(value) is bool:
            return not value
        try:
            return not kind.read(value)
        except Misfit as misfit:
            raise Misfit(not misfit.usable, misfit.wanted) from None

    def bulk(column: Column) -> Column | None:
        return list(map(not_, column)) if holds_only(column, _FLAG_MARKS) else None

    return Kind(
        _types(), read, not_, bulk, plain=lambda value: value is None or type(value) is bool
    )


def _read_lenient_number(value: object) -> float | None:
    """A number that SillyTavern's own editors store as text now and then."""
    number_in_text = number_of(value) if isinstance(value, str) else None
    return number_in_text if number_in_text is not None else _number(None)(value)


def _read_text_or_texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        raise Misfit((value,), "an array of strings")
    return _texts_of(value, split=False, numbers=False)


TEXT = Kind(_types(str), _read_text, _write_text)
FLAG = Kind(_types(bool), _read_flag)
_FLAG_MARKS = b"TF"
MAPPING = Kind(_types(dict), _read_mapping, bulk=_mapping_column)
ANYTHING = Kind(_types(str, bool, int, float, list, dict, _NONE), lambda value: value)
NUMBER = Kind(_types(int, float), _number(None))
NUMBER_OR_TEXT = Kind(_types(int, float), _read_lenient_number)
TEXT_OR_TEXTS = Kind(_types(), _read_text_or_texts, _write_texts, _texts_column)


@frozen
class Nested(Kind):
    """The kind of one object with a model of its own; `null` reads as None."""

    spec: Spec[Any] = field(kw_only=True)

    def read_column(
        self, column: Column, place: Callable[[int], str], path: tuple[str, ...], report: Report
    ) -> Column:
        """Read all objects of the column at once with the nested spec."""
        if set(map(type, column)) <= {_NONE}:
            return column
        objects = {at: value for at, value in enumerate(column) if isinstance(value, dict)}
        for at, value in enumerate(column):
            if value is not None and at not in objects:
                message = f"an object is needed here, not {json_type(value)}; the text is kept"
                warn(report, "FIELD_TYPE", pointer(place(at), *path), message)
        where = tuple(objects)
        models = self.spec.decode_all(
            list(objects.values()), lambda index: pointer(place(where[index]), *path), report
        )
        done: Column = [None] * len(column)
        for at, model in zip(where, models, strict=True):
            done[at] = model
        return done


@frozen
class NestedMany(Kind):
    """The kind of an array of objects with one model; other items are skipped and reported."""

    spec: Spec[Any] = field(kw_only=True)

    def read_column(
        self, column: Column, place: Callable[[int], str], path: tuple[str, ...], report: Report
    ) -> Column:
        """Read each array with the nested spec, under its own pointer."""
        return [
            () if value is None else self._read_at(value, pointer(place(at), *path), report)
            for at, value in enumerate(column)
        ]

    def _read_at(self, value: object, path: str, report: Report) -> object:
        if not isinstance(value, list):
            message = f"an array is needed here, not {json_type(value)}; the text is kept"
            warn(report, "FIELD_TYPE", path, message)
            return ()
        objects = keep_objects(value, path, report)
        indices = tuple(objects)
        return tuple(
            self.spec.decode_all(
                list(objects.values()), lambda at: pointer(path, indices[at]), report, indices
            )
        )


def keep_objects(items: list[Any], path: str, report: Report) -> dict[int, JsonObject]:
    """Pick the objects of an array by index; every other item is reported as not read."""
    for at, item in enumerate(items):
        if not isinstance(item, dict):
            message = f"an object is needed here, not {json_type(item)}; the item is not used"
            error(report, "ITEM_TYPE", pointer(path, at), message)
    return {at: item for at, item in enumerate(items) if isinstance(item, dict)}


def nested(spec: Spec[Any]) -> Kind:
    """Make the kind of one nested object."""
    return Nested(
        _types(), _unused, lambda model: None if model is None else spec.encode(model), spec=spec
    )


def nested_many(spec: Spec[Any]) -> Kind:
    """Make the kind of an array of nested objects."""
    return NestedMany(_types(), _unused, lambda models: list(map(spec.encode, models)), spec=spec)


def _unused(value: object) -> object:
    return value
