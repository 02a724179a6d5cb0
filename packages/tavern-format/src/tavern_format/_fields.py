"""One attribute of a model: what its JSON value may be, and where it stands in an object.

A `Kind` reads a whole column of values at once and looks at single ones only where it must; a
`Field` gives a kind its place. Knows JSON only; no resource, and nothing of how rows make a model.
"""

import marshal
from collections.abc import Callable, Sequence
from typing import Any

from attrs import field, frozen

from tavern_format._json_text import JsonObject
from tavern_format.diagnostics import Report, pointer, warn

Column = list[Any]
Fetch = Callable[[Sequence[JsonObject], Sequence[str | int]], Column]
ABSENT = object()
"""Stands for a key that is not there, where that differs from `null`."""


class Misfit(Exception):  # noqa: N818 - a signal inside this package, never an error of a caller
    """A JSON value of another type than its place asks for, and what it is read as instead."""

    def __init__(self, usable: object, wanted: str) -> None:
        """Keep the value to go on with."""
        super().__init__(wanted)
        self.usable = usable
        self.wanted = wanted


@frozen
class Kind:
    """How one sort of JSON value is read and written."""

    exact: frozenset[type]
    """JSON types (as Python holds them) that are taken as they are."""
    read: Callable[[Any], Any]
    """Any other JSON value to the model's value; raises Misfit."""
    write: Callable[[Any], Any] = lambda value: value
    bulk: Callable[[Column], Column | None] = lambda _: None
    """A whole column at once, or None where it holds something `read` must look at."""
    plain: Callable[[Any], bool] = lambda value: value is None
    """Whether a value of no exact type is read without a remark; `null` always is."""
    _marks: bytes | None = field(init=False, repr=False, eq=False)

    @_marks.default
    def _find_marks(self) -> bytes | None:
        return marshal_marks(self.exact)

    def read_column(
        self, column: Column, place: Callable[[int], str], path: tuple[str, ...], report: Report
    ) -> Column:
        """Read one attribute of many objects.

        `place(i)` is the pointer of the i-th object, `path` the attribute's place in it; both are
        only looked at when something must be reported.
        """
        if len(column) == 1 and type(column[0]) in self.exact:
            return column
        if self._marks is not None:
            if holds_only(column, self._marks):
                return column
        elif self.exact and set(map(type, column)) <= self.exact:
            return column
        done = self.bulk(column)
        if done is not None:
            return done
        return [self._read_one(value, at, place, path, report) for at, value in enumerate(column)]

    def _read_one(
        self,
        value: object,
        at: int,
        place: Callable[[int], str],
        path: tuple[str, ...],
        report: Report,
    ) -> object:
        if type(value) in self.exact:
            return value
        try:
            return self.read(value)
        except Misfit as misfit:
            message = f"{misfit.wanted} is needed here, not {json_type(value)}; the text is kept"
            warn(report, "FIELD_TYPE", pointer(place(at), *path), message)
            return misfit.usable


_MARKS = {bool: b"TF", type(None): b"N"}


def marshal_marks(types: frozenset[type]) -> bytes | None:
    """Give the bytes marshal writes for all values of the types, where it writes one byte each."""
    return b"".join(map(_MARKS.__getitem__, types)) if types and types <= _MARKS.keys() else None


def holds_only(column: Column, marks: bytes) -> bool:
    """Tell whether every value of a column is one of the marked singletons (1 is not `true`).

    Columns of switches are the bulk of a book. marshal writes `true`, `false` and `null` as one
    byte each, four times as fast as a loop asks for types.
    """
    return not marshal.dumps(column)[_MARSHAL_HEAD:].strip(marks)


_MARSHAL_HEAD = len(marshal.dumps([]))


@frozen
class Field:
    """One attribute of a model and its place in one spelling."""

    attribute: str
    path: tuple[str, ...]
    """Keys from the object down: `("depth",)`, `("extensions", "depth")`."""
    kind: Kind
    default: Any = None
    """JSON value that an absent key stands for."""
    null_is_absent: bool = False
    """True where `null` means the default too, as behind JavaScript's `??`."""
    fetch: Fetch | None = None
    """For the few attributes that are read from more than one key."""
    store: Callable[[JsonObject, Any], None] | None = None
    """The counterpart of `fetch`."""
    sparse: bool = False
    """True where a new object holds the key only for another value than the default."""

    def column(self, parents: Sequence[JsonObject] | None, keys: Sequence[str | int]) -> Column:
        """Collect the JSON value from every parent (the object that holds the last key)."""
        if parents is None:
            return [self.default] * len(keys)
        if self.fetch is not None:
            return self.fetch(parents, keys)
        key, default = self.path[-1], self.default
        if len(parents) == 1:  # a card, a preset: half the cost of a comprehension
            column = [parents[0].get(key, default)]
        else:
            column = [parent.get(key, default) for parent in parents]
        if self.null_is_absent and default is not None and None in column:
            return [default if value is None else value for value in column]
        return column

    @property
    def parent(self) -> tuple[str, ...]:
        """Path of the object that holds the value; a `fetch` starts at the top."""
        return () if self.fetch is not None else self.path[:-1]

    def write(self, target: JsonObject, value: object) -> None:
        """Put the attribute into an object that belongs to the writer."""
        written = self.kind.write(value)
        if self.store is not None:
            self.store(target, written)
            return
        for key in self.path[:-1]:
            target[key] = target = dict(as_object(target.get(key)))
        target[self.path[-1]] = written

    def remove(self, target: JsonObject) -> None:
        """Take the key out of an object that belongs to the writer."""
        if value_at(target, self.path) is ABSENT:
            return
        for key in self.path[:-1]:
            target[key] = target = dict(target[key])
        del target[self.path[-1]]

    def is_below(self, other: "Field") -> bool:
        """Tell whether the attribute lives inside the value of another."""
        depth = len(other.path)
        return len(self.path) > depth and self.path[:depth] == other.path


def value_at(raw: JsonObject, path: tuple[str, ...]) -> object:
    """Give the value at a path of keys; ABSENT where there is none."""
    node: object = raw
    for key in path:
        if not isinstance(node, dict):
            return ABSENT
        node = node.get(key, ABSENT)
    return node


def as_object(value: object) -> JsonObject:
    """Give an object as it is, and an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def json_type(value: object) -> str:
    """Name a value's JSON type with its article, for messages.

    >>> json_type([1])
    'an array'
    """
    names = {
        str: "a string",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        list: "an array",
        dict: "an object",
        type(None): "null",
    }
    return names.get(type(value), type(value).__name__)
