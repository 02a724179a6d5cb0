"""Reading and writing values by tables: one row names a JSON key and the attribute it becomes.

What a table does not know survives: unknown fields, and the order of the keys where it is not the
table's own, go along in `Foreign`. Must not know which tables there are.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from attrs import field, frozen

from tavern_trace._json import EMPTY, FrozenObject, Json, JsonObject, freeze, freeze_object
from tavern_trace.errors import SchemaError

T = TypeVar("T")
E = TypeVar("E", bound=Enum)

Read = Callable[[object], Any]
"""Makes an attribute of a JSON value."""
Write = Callable[[Any], Json]


@frozen(kw_only=True)
class Foreign:
    """What a stored object had beyond the schema."""

    fields: JsonObject = field(default=EMPTY)
    """Unknown fields, in their order."""
    layout: tuple[str, ...] = field(default=(), eq=False, repr=False)
    """The keys as they came, where the table has another order; no part of the value."""


NOTHING_FOREIGN = Foreign()


class Tabled(Protocol):
    """A value that a table can write."""

    @property
    def foreign(self) -> Foreign:
        """What it had beyond the schema."""


class Presence(Enum):
    """When a key is written."""

    REQUIRED = "always, and reading fails without it"
    USUAL = "always, unless the object came without it and has the default still"
    OPTIONAL = "where the attribute is not None, or the object came with it"
    FILLED = "where the attribute is not empty"


@frozen
class Row:
    """One key."""

    key: str
    attribute: str
    """Empty: a constant."""
    read: Read | None
    """None: what is stored does not count; the value says it itself."""
    write: Write
    presence: Presence = Presence.REQUIRED
    constant: Json = None
    may_be_absent: bool = field(init=False)

    @may_be_absent.default
    def _is_optional(self) -> bool:
        return self.presence in (Presence.OPTIONAL, Presence.FILLED)


@frozen
class Table(Generic[T]):
    """All keys of one kind of object, in the order in which they are written."""

    make: Callable[..., T]
    rows: tuple[Row, ...]
    by_key: Mapping[str, Row] = field(init=False, repr=False)

    @by_key.default
    def _index(self) -> Mapping[str, Row]:
        return {row.key: row for row in self.rows}


def constant(key: str, value: Json, presence: Presence = Presence.REQUIRED) -> Row:
    """Make a row that is always the same, whatever was read."""
    return Row(key, "", None, same, presence, value)


def read_object(table: Table[T], document: object) -> T:
    """Make a value of an object, frozen or not. Raises SchemaError, FIELD_INVALID with the path."""
    if not isinstance(document, Mapping):
        raise SchemaError("FIELD_INVALID", "no object")
    known: dict[str, Any] = {}
    order = []
    plain = True
    for row in table.rows:
        if row.key not in document:
            if row.presence is Presence.REQUIRED and row.read is not None:
                raise SchemaError("FIELD_INVALID", "it is missing", path=f"/{row.key}")
            plain = plain and row.may_be_absent
            continue
        order.append(row.key)
        if row.read is not None:
            item = document[row.key]
            try:
                known[row.attribute] = row.read(item)
            except SchemaError as fault:
                raise fault.inside(row.key) from None
            if item is None or item == []:
                plain = plain and _is_written(row, known[row.attribute], ())
    if plain and order == list(document):
        return table.make(**known)
    fields = {key: freeze(item) for key, item in document.items() if key not in table.by_key}
    foreign = Foreign(fields=FrozenObject(fields), layout=tuple(document))
    return table.make(**known, foreign=foreign)


def write_object(
    table: Table[Any], value: Tabled, *, without: frozenset[str] = frozenset()
) -> dict[str, Json]:
    """Make an object of a value: keys in their first order, then new ones in the table's."""
    foreign = value.foreign
    layout = foreign.layout
    written: dict[str, Json] = {}
    for row in table.rows:
        held = getattr(value, row.attribute) if row.attribute else row.constant
        if row.key not in without and _is_written(row, held, layout):
            written[row.key] = row.write(held)
    if not foreign.fields and not layout:
        return written
    given = written | {key: item for key, item in foreign.fields.items() if key not in without}
    order = dict.fromkeys((*layout, *given))
    return {key: given[key] for key in order if key in given}


def _is_written(row: Row, held: object, layout: tuple[str, ...]) -> bool:
    presence = row.presence
    if presence is Presence.REQUIRED:
        return True
    if presence is Presence.OPTIONAL:
        return held is not None or (row.read is not None and row.key in layout)
    if presence is Presence.FILLED:
        return bool(held)
    return not layout or row.key in layout or (row.read is not None and bool(held))


# --- what a row may hold ---------------------------------------------------------------------


def _refused(wanted: str) -> SchemaError:
    return SchemaError("FIELD_INVALID", f"no {wanted}")


def read_text(value: object) -> str:
    """Take a text."""
    if isinstance(value, str):
        return value
    raise _refused("text")


def read_whole(value: object) -> int:
    """Take a whole number; 1.0 is one in JSON, too."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise _refused("whole number")


def read_number(value: object) -> float:
    """Take a number; what is too large for one is infinite, and none."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value - value == 0:
        return value
    raise _refused("number")


def read_flag(value: object) -> bool:
    """Take true or false."""
    if isinstance(value, bool):
        return value
    raise _refused("true or false")


def read_json(value: object) -> Json:
    """Take anything."""
    return freeze(value)


def read_mapping(value: object) -> JsonObject:
    """Take an object as it is."""
    if isinstance(value, Mapping):
        return freeze_object(value)
    raise _refused("object")


def nullable(read: Read) -> Read:
    """Take null, too."""
    return lambda value: None if value is None else read(value)


def choice(kind: type[E]) -> Read:
    """Take one of a closed set of texts."""

    def read(value: object) -> E:
        try:
            return kind(value)
        except ValueError:
            raise _refused(f"known {kind.__name__}") from None

    return read


def items(read: Read) -> Read:
    """Take an array of which each item is read alike."""

    def read_all(value: object) -> tuple[Any, ...]:
        if not isinstance(value, tuple | list):
            raise _refused("array")
        found = []
        for at, item in enumerate(value):
            try:
                found.append(read(item))
            except SchemaError as fault:
                raise fault.inside(str(at)) from None
        return tuple(found)

    return read_all


def same(value: Json) -> Json:
    """Write a value that is JSON already."""
    return value


def each(write: Write) -> Write:
    """Write an array of which each item is written alike."""
    return lambda value: tuple(write(item) for item in value)


def unless_none(write: Write) -> Write:
    """Write None as null."""
    return lambda value: None if value is None else write(value)


def structure(table: Table[Any]) -> tuple[Read, Write]:
    """Read and write objects of another table."""
    return (
        lambda value: read_object(table, value),
        lambda value: write_object(table, value),
    )
