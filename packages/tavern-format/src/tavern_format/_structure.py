"""From JSON objects to frozen models and back without losing anything: tables, not code per model.

A model class is plain attrs. A `Spec` says where each of its attributes lives in one spelling of
the resource (SillyTavern's file, a card's `character_book`, ...). `decode_all` reads many objects
at once, column by column: for a book of 10,000 entries the types of one column are checked by C
loops, and only a column that holds something odd is looked at value by value. `encode` starts
from the object that was read and writes only what differs from it, so that unknown keys, key
order, odd types and `null` survive whatever the caller did not touch.

Knows JSON and attrs only; no resource.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, Generic, NamedTuple, TypeVar, cast

import attrs
from attrs import field, frozen

from tavern_format._fields import ABSENT, Column, Field, Kind, as_object, value_at
from tavern_format._json_text import JsonObject
from tavern_format._models import Models
from tavern_format.diagnostics import Report

M = TypeVar("M")

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


def _ignore(_: object) -> None:
    """Drop a diagnostic that was given when the value was first read."""


_Parents = dict[tuple[str, ...], Sequence[JsonObject] | None]


def _descend(known: _Parents, path: tuple[str, ...]) -> Sequence[JsonObject] | None:
    """List the objects at a path, one per model; None where no model has one there."""
    if path not in known:
        outer = _descend(known, path[:-1])
        found = [] if outer is None else [parent.get(path[-1]) for parent in outer]
        some = any(isinstance(child, dict) for child in found)
        known[path] = [as_object(child) for child in found] if some else None
    return known[path]
