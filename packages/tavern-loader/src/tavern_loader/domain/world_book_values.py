"""How the values of a world book are read: as themselves, or as a default with a remark.

Owns one reading for each kind of value. Must not know fields or books.

Source: the plugin contract, sections A9 and B1.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import evolve, frozen

from tavern_loader.domain.js_values import number_of, strings_of

POSITIONS = (
    "before_character_definition",
    "after_character_definition",
    "before_author_note",
    "after_author_note",
    "at_depth",
    "before_example_messages",
    "after_example_messages",
    "outlet",
)
ROLES = ("system", "user", "assistant")
LOGICS = ("and_any", "not_all", "not_any", "and_all")
_SHORT_POSITIONS = {"before_char": POSITIONS[0], "after_char": POSITIONS[1]}
MAX_PROBABILITY = 100
_INFINITE = float("inf")

Remark = Callable[[str, str, str], None]
"""Takes a code, a path and a message."""


class Absent:
    """Stands for no value, which is not `null`."""


ABSENT: Final = Absent()


def _unchanged(value: object) -> object:
    return value


@frozen(kw_only=True)
class Reading:
    """One kind of value."""

    read: Callable[[object], Any]
    """Gives ABSENT for a value of another kind."""
    default: Any = None
    code: str = ""
    expected: str = ""
    null_is_default: bool = False
    """Whether `null` says the same as nothing, without a remark."""
    write: Callable[[Any], Any] = _unchanged

    def take(self, value: object, path: str, remark: Remark) -> Any:  # noqa: ANN401 - JSON
        """Read a value; `remark` hears of one that another stands in for."""
        if value is ABSENT or (value is None and self.null_is_default):
            return self.usual
        found = self.read(value)
        if found is not ABSENT:
            return found
        number = _number_in(value) if self.code == _BAD_NUMBER else None
        if number is not None and self.read(number) is not ABSENT:
            remark("coerced-number", path, "A number in a text was taken as a number.")
            return number
        remark(self.code, path, f"Not {self.expected}: the usual value stands in for it.")
        return self.usual

    @property
    def usual(self) -> Any:  # noqa: ANN401 - JSON
        """The default, as a value of its own."""
        return list(self.default) if isinstance(self.default, list) else self.default


_BAD_NUMBER = "invalid-number"


def _plain(kind: type) -> Callable[[object], Any]:
    return lambda value: value if isinstance(value, kind) else ABSENT


def number(default: float | None, least: float = -_INFINITE, most: float = _INFINITE) -> Reading:
    """Make the reading of a number in a range; without a default, `null` is taken too."""

    def read(value: object) -> object:
        found = number_of(value)
        return found if found is not None and least <= found <= most else ABSENT

    return Reading(
        read=read,
        default=default,
        code=_BAD_NUMBER,
        expected="a number in its range",
        null_is_default=default is None,
    )


def count(default: int | None) -> Reading:
    """Make the reading of a whole number from 0 on; without a default, `null` is taken too."""

    def read(value: object) -> object:
        found = number_of(value)
        return found if found is not None and found >= 0 and found == int(found) else ABSENT

    return evolve(number(default), read=read)


def _choice(options: tuple[str, ...], code: str, short: Mapping[str, str] | None = None) -> Reading:
    def read(value: object) -> object:
        if isinstance(value, int) and not isinstance(value, bool):
            return options[value] if 0 <= value < len(options) else ABSENT
        named = (short or {}).get(value, value) if isinstance(value, str) else None
        return named if named in options else ABSENT

    return Reading(
        read=read,
        default=options[0],
        code=code,
        expected="one of the known values",
        null_is_default=True,
        write=lambda value: options.index(value) if value in options else 0,
    )


def _texts(value: object) -> object:
    return strings_of(value) if isinstance(value, list | tuple) else ABSENT


def _number_in(value: object) -> float | int | None:
    try:
        found = float(value) if isinstance(value, str) else None
    except ValueError:
        return None
    if found is None or number_of(found) is None:
        return None
    return int(found) if found.is_integer() else found


ANY = Reading(read=_unchanged, default=False)
TEXT = Reading(read=_plain(str), default="", code="invalid-string", expected="a text")
TEXTS = Reading(read=_texts, default=[], code="invalid-string-array", expected="a list of texts")
UNSET = Reading(
    read=_plain(bool), code="invalid-boolean", expected="true or false", null_is_default=True
)
"""True or false; nothing, where the settings of the scan decide."""
NO = evolve(UNSET, default=False)
YES = evolve(UNSET, default=True)
OFF_SWITCH = evolve(
    YES,
    read=lambda value: not value if isinstance(value, bool) else ABSENT,
    write=lambda value: not value,
)
"""Says the opposite of the field it is for."""
BEFORE = _choice(POSITIONS, "unknown-position", _SHORT_POSITIONS)
AFTER = evolve(BEFORE, default=POSITIONS[1])
ROLE = _choice(ROLES, "unknown-role")
LOGIC = _choice(LOGICS, "unknown-secondary-logic")
