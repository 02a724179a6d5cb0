"""Reading the parameters of a message of the link, with the place of what is wrong.

Owns the checks and their words. Must not know any method.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from attrs import field, frozen

from tavern_loader.errors import ParametersError
from tavern_loader.ports import JsonObject
from tavern_trace import is_session_id

T = TypeVar("T")


@frozen
class Parameters:
    """One object of a message. Every reading raises ParametersError, with a JSON pointer."""

    values: JsonObject = field(repr=False)
    path: str = ""

    def text(self, name: str) -> str:
        """Read a text."""
        return self._required(name, self.text_or_none(name), "a text")

    def text_or_none(self, name: str) -> str | None:
        """Read a text that may be null or absent."""
        found: str | None = self._checked(name, _is_text, "a text")
        return found

    def whole(self, name: str) -> int:
        """Read a whole number."""
        return self._required(name, self.whole_or_none(name), "a whole number")

    def whole_or_none(self, name: str) -> int | None:
        """Read a whole number that may be null or absent."""
        found: int | None = self._checked(name, _is_whole, "a whole number")
        return found

    def flag(self, name: str) -> bool:
        """Read a truth value; false if it is absent."""
        found: bool | None = self._checked(name, _is_flag, "true or false")
        return bool(found)

    def nested(self, name: str) -> "Parameters":
        """Read an object."""
        found = self._required(name, self.object_or_none(name), "an object")
        return Parameters(found, f"{self.path}/{name}")

    def object_or_empty(self, name: str) -> JsonObject:
        """Read an object that may be null or absent."""
        return self.object_or_none(name) or {}

    def object_or_none(self, name: str) -> JsonObject | None:
        """Read an object that may be null or absent, and tell the two from an empty one."""
        found: JsonObject | None = self._checked(name, _is_object, "an object")
        return found

    def objects(self, name: str) -> tuple[JsonObject, ...]:
        """Read a list of objects; empty if it is absent."""
        return tuple(one.values for one in self.each(name))

    def each(self, name: str) -> Iterator["Parameters"]:
        """Read a list of objects one by one; nothing if it is absent."""
        listed: list[Any] = self._checked(name, _is_list, "a list") or []
        for place, value in enumerate(listed):
            path = f"{self.path}/{name}/{place}"
            if not _is_object(value):
                raise _fault(path, "an object")
            yield Parameters(value, path)

    def texts(self, name: str) -> tuple[str, ...]:
        """Read a list of texts; empty if it is absent."""
        listed: list[Any] = self._checked(name, _is_list, "a list") or []
        for place, value in enumerate(listed):
            if not _is_text(value):
                raise _fault(f"{self.path}/{name}/{place}", "a text")
        return tuple(listed)

    def counts(self, name: str) -> Mapping[str, int]:
        """Read an object of whole numbers; empty if it is absent."""
        found = self.object_or_empty(name)
        for key, value in found.items():
            if not _is_whole(value):
                raise _fault(f"{self.path}/{name}/{key}", "a whole number")
        return found

    def session(self) -> JsonObject:
        """Read the session that a message is about; its id is one that can be kept."""
        session = self.nested("session")
        if not is_session_id(session.text("id")):
            raise _fault(f"{session.path}/id", "an id of letters, digits and ._:-")
        return session.values

    def _checked(self, name: str, is_right: Callable[[object], bool], wanted: str) -> Any:  # noqa: ANN401 - the check says what it is
        value = self.values.get(name)
        if value is not None and not is_right(value):
            raise _fault(f"{self.path}/{name}", wanted)
        return value

    def _required(self, name: str, value: T | None, wanted: str) -> T:
        if value is None:
            raise _fault(f"{self.path}/{name}", wanted)
        return value


def _fault(path: str, wanted: str) -> ParametersError:
    return ParametersError(f"{path}: {wanted} is needed")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)
