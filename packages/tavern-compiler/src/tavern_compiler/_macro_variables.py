"""One store of variables, with the rules of SillyTavern's variable macros.

Owns reading, adding and keys of stored JSON. Must not know which macro asks; a store is a copy, the
caller's mapping is never changed.

Source: SillyTavern 1.19.0, public/scripts/variables.js.
"""

import math
from collections.abc import Callable, Mapping

from tavern_compiler._js_json import (
    array_index,
    json_text,
    parse_json,
    plain_text,
    result_text,
    value_number,
)
from tavern_compiler._js_number import number_text, stored_number, to_number
from tavern_compiler._text import trim, utf16_length


class MacroRefusal(Exception):  # noqa: N818 - part of a macro's result, never an error of a caller
    """A macro cannot be executed and stays as it is; the text says why."""


class Store:
    """The values of one store; every text that is read or written costs its length."""

    def __init__(self, values: Mapping[str, object], spend: Callable[[int], None]) -> None:
        """Copy the values."""
        self.values = dict(values)
        self._spend = spend

    def has(self, name: str) -> bool:
        """Tell whether a variable exists."""
        return name in self.values

    def delete(self, name: str) -> None:
        """Remove a variable, if it is there."""
        self.values.pop(name, None)

    def get(self, name: str, key: str | None = None) -> object:
        """Read a variable, or one key of the JSON in it; what reads as a number is one."""
        missing = name not in self.values
        value = self.values.get(name, "")
        if key is not None:
            self._spend(len(plain_text(value)))
            value = _member("undefined" if missing else value, key, missing=missing)
        return _read(value)

    def set(self, name: str, value: object) -> None:
        """Store a value. Raises MacroRefusal when the name is empty."""
        if not name:
            message = "a variable needs a name"
            raise MacroRefusal(message)
        self._spend(len(result_text(value)))
        self.values[name] = value

    def set_key(self, name: str, key: str, value: str) -> None:
        """Store a value under a key of the JSON in a variable; where that is no JSON, nothing."""
        if not name:
            message = "a variable needs a name"
            raise MacroRefusal(message)
        current = self.values.get(name)
        text = "null" if current is None else plain_text(current)
        self._spend(len(text))
        try:
            self.set(name, json_text(self._with_key(parse_json(text), key, value)))
        except ValueError:
            return

    def _with_key(self, document: object, key: str, value: str) -> object:
        number = to_number(key)
        if document is None:
            document = {} if math.isnan(number) else []
        name = key if math.isnan(number) else number_text(number)
        if isinstance(document, dict):
            return {**document, name: value}
        if not isinstance(document, list):
            message = "neither a list nor an object"
            raise ValueError(message)  # noqa: TRY004 - the text is at fault
        if name == "length":
            return self._resized(document, value)
        index = array_index(name)
        if index is None:
            return document
        document = self._resized(document, str(max(index + 1, len(document))))
        document[index] = value
        return document

    def _resized(self, items: list[object], length: str) -> list[object]:
        count = array_index(length)
        if count is None:
            raise ValueError(length)
        self._spend(len("null,") * max(0, count - len(items)))
        return [*items[:count], *[None] * (count - len(items))]

    def add(self, name: str, value: str | float) -> object:
        """Add to a variable: push on a list, add numbers, else put the text behind it.

        Returns the new value.
        """
        current = self.get(name)
        if not current or (isinstance(current, float) and math.isnan(current)):
            current = 0.0
        pushed = _pushed(current, value)
        if pushed is not None:
            self.set(name, json_text(pushed))
            return pushed
        increment, base = value_number(value), value_number(current)
        if math.isnan(increment) or math.isnan(base):
            text = ("" if current == 0 else plain_text(current)) + plain_text(value)
            self.set(name, text)
            return text
        total = base + increment
        if math.isnan(total):
            return ""
        self.set(name, stored_number(total))
        return total


def _pushed(current: object, value: str | float) -> list[object] | None:
    if isinstance(current, float):
        return None
    try:
        document = parse_json(plain_text(current))
    except ValueError:
        return None
    return [*document, value] if isinstance(document, list) else None


def _read(value: object) -> object:
    if isinstance(value, str) and not trim(value):
        return value
    number = value_number(value)
    return number if not math.isnan(number) else value


def _member(value: object, key: str, *, missing: bool) -> object:
    """Read a key of the JSON that a value holds; a value that holds none is given as it is."""
    try:
        document = parse_json(plain_text(value))
    except ValueError:
        return "" if missing else value
    number = to_number(key)
    name = key if math.isnan(number) else number_text(number)
    found: object = ""
    if document is None:
        found = None
    elif isinstance(document, dict):
        found = document.get(name, "")
    elif isinstance(document, list | str):
        found = _element(document, name)
    return json_text(found) if found is None and document is not None else _as_text(found)


def _as_text(value: object) -> object:
    return json_text(value) if isinstance(value, dict | list) else value


def _element(items: list[object] | str, name: str) -> object:
    if isinstance(items, str):
        if name == "length":
            return float(utf16_length(items))
        units = items.encode("utf-16-le", "surrogatepass")
        index = array_index(name)
        if index is None or 2 * index >= len(units):
            return ""
        return units[2 * index : 2 * index + 2].decode("utf-16-le", "surrogatepass")
    if name == "length":
        return float(len(items))
    index = array_index(name)
    return items[index] if index is not None and index < len(items) else ""
