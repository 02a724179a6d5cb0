"""From JSON objects to frozen models and back without losing anything: tables, not code per model.

A model class is plain attrs. A `Spec` says where each of its attributes lives in one spelling of
the resource (SillyTavern's file, a card's `character_book`, ...). `decode_all` reads many objects
at once, column by column: for a book of 10,000 entries the types of one column are checked by C
loops, and only a column that holds something odd is looked at value by value. `encode` starts
from the object that was read and writes only what differs from it, so that unknown keys, key
order, odd types and `null` survive whatever the caller did not touch.

Knows JSON and attrs only; no resource.
"""

import marshal
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, Generic, NamedTuple, TypeVar, cast

import attrs
from attrs import field, frozen

from tavern_format._json_text import JsonObject
from tavern_format._models import Models
from tavern_format.diagnostics import Report, pointer, warn

M = TypeVar("M")
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
            target[key] = target = dict(_object(target.get(key)))
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


_SPECS: "dict[str, Spec[Any]]" = {}
"""Every table by its name, filled while the modules of the package are imported."""


def _spec_named(name: str) -> "Spec[Any]":
    return _SPECS[name]


class Origin(NamedTuple):
    """Where a model was read from: what makes writing it back lossless."""

    spec: "Spec[Any]"
    raw: JsonObject
    """The object as parsed. Belongs to the reader: never change it."""
    key: str | int
    """Its key or index in the container it came from."""


_FEW_OBJECTS = 64
"""Up to here a look at each value costs less than making columns, which cards seldom need."""


@frozen
class Spec(Generic[M]):
    """One spelling of one model."""

    name: str
    model: type[M]
    fields: tuple[Field, ...]
    mirrors: Mapping[str, tuple[tuple[str, ...], ...]] = field(factory=dict)
    """Attribute to further places that repeat it; written on an edit where they exist."""
    _plan: tuple[tuple[Field, tuple[str, ...]], ...] = field(init=False, repr=False, eq=False)
    _kinds: Mapping[tuple[str, ...], Mapping[str, Kind]] = field(init=False, repr=False, eq=False)
    _names: tuple[str, ...] = field(init=False, repr=False, eq=False)
    _draft: Any = field(init=False, repr=False, eq=False)
    _defaults: Mapping[str, Any] = field(init=False, repr=False, eq=False)

    @_plan.default
    def _make_plan(self) -> tuple[tuple[Field, tuple[str, ...]], ...]:
        return tuple((row, row.parent) for row in self.fields)

    @_kinds.default
    def _find_kinds(self) -> Mapping[tuple[str, ...], Mapping[str, Kind]]:
        kinds: dict[tuple[str, ...], dict[str, Kind]] = {}
        for row in self.fields:
            kinds.setdefault(row.path[:-1], {})[row.path[-1]] = row.kind
        return kinds

    @_names.default
    def _find_names(self) -> tuple[str, ...]:
        return tuple(found.name for found in attrs.fields(cast("Any", self.model)))

    @_draft.default
    def _make_draft(self) -> Any:  # noqa: ANN401
        return _draft_class(self.model)

    @_defaults.default
    def _find_defaults(self) -> Mapping[str, Any]:
        return {
            found.name: found.default
            for found in attrs.fields(cast("Any", self.model))
            if found.default is not attrs.NOTHING
        }

    def decode(
        self,
        raw: JsonObject,
        path: str,
        report: Report,
        key: str | int = 0,
        given: Mapping[str, Any] | None = None,
    ) -> M:
        """Read one object; odd values are reported and replaced, nothing raises.

        `given` are attributes the table does not know, such as the carrier of a card.
        """
        columns = self._columns([raw], lambda _: path, report, [key])
        columns["origin"] = [Origin(self, raw, key)]
        if given is not None:
            columns.update({name: [value] for name, value in given.items()})
        return self._build(columns, 1)[0]

    def decode_all(
        self,
        objects: Sequence[JsonObject],
        place: Callable[[int], str],
        report: Report,
        keys: Sequence[str | int] | None = None,
    ) -> "Models[M]":
        """Read many objects of one container, in order; `place(i)` is the i-th pointer.

        Every value is looked at and reported now; the models are made when first asked for.
        """
        count = len(objects)
        names = range(count) if keys is None else keys
        if count <= _FEW_OBJECTS and all(map(self._is_plain, objects)):
            # Not even the columns are made yet.
            return Models(count, lambda: self._decode_all(objects, place, _ignore, names)())  # noqa: PLW0108
        return Models(count, self._decode_all(objects, place, report, names))

    def _decode_all(
        self,
        objects: Sequence[JsonObject],
        place: Callable[[int], str],
        report: Report,
        keys: Sequence[str | int],
    ) -> Callable[[], list[M]]:
        """Look at every value; what is returned makes the models."""
        columns = self._columns(objects, place, report, keys)

        def make() -> list[M]:
            origins = list(map(Origin, repeat(self), objects, keys))
            return self._build({**columns, "origin": origins}, len(objects))

        return make

    def _is_plain(self, raw: JsonObject) -> bool:
        """Tell whether reading an object has nothing to report: a look at each value there is."""
        for path, rows in self._kinds.items():
            holder = value_at(raw, path)
            if isinstance(holder, dict):
                for key, value in holder.items():
                    kind = rows.get(key)
                    if kind is not None and type(value) not in kind.exact and not kind.plain(value):
                        return False
        return True

    def _columns(
        self,
        objects: Sequence[JsonObject],
        place: Callable[[int], str],
        report: Report,
        keys: Sequence[str | int],
    ) -> dict[str, Column]:
        parents: _Parents = {(): objects}
        columns: dict[str, Column] = {}
        for row, parent in self._plan:
            holders = parents[parent] if parent in parents else _descend(parents, parent)
            column = row.column(holders, keys)
            columns[row.attribute] = row.kind.read_column(column, place, row.path, report)
        return columns

    def _build(self, columns: Mapping[str, Column], count: int) -> list[M]:
        ordered = [
            columns[name] if name in columns else repeat(self._default(name), count)
            for name in self._names
        ]
        models = list(map(self._draft, *ordered))
        for model in models:
            model.__class__ = self.model
        return models

    def __attrs_post_init__(self) -> None:
        if _SPECS.setdefault(self.name, self) is not self:
            message = f"two specs are called {self.name}"
            raise ValueError(message)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name: the tables hold functions, and every process has its own."""
        return _spec_named, (self.name,)

    def _default(self, name: str) -> object:
        default = self._defaults[name]
        return default.factory() if isinstance(default, attrs.Factory) else default  # type: ignore[arg-type]

    def encode(self, model: M) -> JsonObject:
        """Write one model in this spelling: its own object with the edited attributes replaced."""
        origin: Origin | None = cast("Any", model).origin
        if origin is None or origin.spec.name != self.name:
            return self._write(model, {}, [row for row in self.fields if self._says(model, row)])
        before = self.decode(origin.raw, "", _ignore, origin.key)
        edited = self._differing(before, model, self.fields)
        if not edited:
            return origin.raw
        written = self._write(model, dict(origin.raw), edited)
        # Replacing `extensions` as a whole takes its members along; the model still holds them.
        below = [row for row in self.fields if any(map(row.is_below, edited))]
        lost = self._differing(self.decode(written, "", _ignore, origin.key), model, below)
        return self._write(model, written, lost)

    def _differing(self, one: M, other: M, rows: Iterable[Field]) -> list[Field]:
        return [
            row
            for row in rows
            if not _same(getattr(one, row.attribute), getattr(other, row.attribute))
        ]

    def _says(self, model: M, row: Field) -> bool:
        """Tell whether an object needs the key: where it is sparse, the default goes without."""
        return not row.sparse or not _same(
            getattr(model, row.attribute), self._default(row.attribute)
        )

    def _write(self, model: M, target: JsonObject, rows: Iterable[Field]) -> JsonObject:
        for row in sorted(rows, key=lambda row: len(row.path)):  # `extensions` before its members
            value = getattr(model, row.attribute)
            if value is None and row.sparse:
                row.remove(target)
            else:
                row.write(target, value)
            for mirror in self.mirrors.get(row.attribute, ()):
                if value_at(target, mirror) is not ABSENT:
                    attrs.evolve(row, path=mirror, store=None).write(target, value)
        return target


def _draft_class(model: type[Any]) -> type[Any]:
    """Make a class with the model's very slots whose `__init__` assigns plainly.

    The `__init__` of a frozen attrs class calls `object.__setattr__` per attribute, which costs
    three times as much: a third of the time of parsing a large book. A draft is turned into the
    model by setting `__class__`, which CPython allows between classes of one layout; a slot for
    weak references would break that, so models go without.
    """
    slots = {found.name: attrs.field(default=None) for found in attrs.fields(model)}
    return attrs.make_class(
        f"_{model.__name__}Draft", slots, slots=True, weakref_slot=False, eq=False, repr=False
    )


def _same(before: object, after: object) -> bool:
    return before is after or (type(before) is type(after) and before == after)


def value_at(raw: JsonObject, path: tuple[str, ...]) -> object:
    """Give the value at a path of keys; ABSENT where there is none."""
    node: object = raw
    for key in path:
        if not isinstance(node, dict):
            return ABSENT
        node = node.get(key, ABSENT)
    return node


def _ignore(_: object) -> None:
    """Drop a diagnostic that was given when the value was first read."""


_Parents = dict[tuple[str, ...], Sequence[JsonObject] | None]


def _descend(known: _Parents, path: tuple[str, ...]) -> Sequence[JsonObject] | None:
    """List the objects at a path, one per model; None where no model has one there."""
    if path not in known:
        outer = _descend(known, path[:-1])
        found = [] if outer is None else [parent.get(path[-1]) for parent in outer]
        some = any(isinstance(child, dict) for child in found)
        known[path] = [_object(child) for child in found] if some else None
    return known[path]


def _object(value: object) -> JsonObject:
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
