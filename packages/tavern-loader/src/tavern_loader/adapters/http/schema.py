"""The part of JSON Schema that the API is described in, and the check of a value against it.

One description serves the check of a request and the published document. Must not know routes.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]


def faults(schema: Schema, value: object, path: str = "body") -> Iterator[str]:
    """Say what is wrong with a value, each fault with its place; never with the value itself."""
    kinds = schema.get("type", ())
    allowed: Sequence[str] = (kinds,) if isinstance(kinds, str) else kinds
    if allowed and not any(_TYPES[kind](value) for kind in allowed):
        yield f"{path} must be {' or '.join(allowed)}"
        return
    if "enum" in schema and not _is_one_of(value, schema["enum"]):
        yield f"{path} must be one of {', '.join(str(one) for one in schema['enum'])}"
    if isinstance(value, str):
        yield from _text_faults(schema, value, path)
    elif isinstance(value, list):
        yield from _list_faults(schema, value, path)
    elif isinstance(value, Mapping):
        yield from _object_faults(schema, value, path)
    elif value is not None:
        yield from _number_faults(schema, value, path)
    if "anyOf" in schema and all(any(faults(one, value, path)) for one in schema["anyOf"]):
        yield f"{path} is of none of the forms it may have"
    if "not" in schema and not any(faults(schema["not"], value, path)):
        yield f"{path} is of a form it may not have"


def _text_faults(schema: Schema, value: str, path: str) -> Iterator[str]:
    if len(value) > schema.get("maxLength", len(value)):
        yield f"{path} must not have more than {schema['maxLength']} characters"
    if len(value) < schema.get("minLength", 0):
        yield f"{path} must have at least {schema['minLength']} characters"
    if "pattern" in schema and re.fullmatch(schema["pattern"][1:-1], value) is None:
        yield f"{path} must match {schema['pattern']}"


def _list_faults(schema: Schema, value: Sequence[object], path: str) -> Iterator[str]:
    if len(value) > schema.get("maxItems", len(value)):
        yield f"{path} must not have more than {schema['maxItems']} items"
    for index, item in enumerate(value):
        yield from faults(schema.get("items", {}), item, f"{path}[{index}]")


def _object_faults(schema: Schema, value: Mapping[str, object], path: str) -> Iterator[str]:
    known: Mapping[str, Schema] = schema.get("properties", {})
    for key in schema.get("required", ()):
        if key not in value:
            yield f"{path}.{key} is needed"
    if len(value) < schema.get("minProperties", 0):
        yield f"{path} must not be empty"
    if schema.get("additionalProperties", True) is False and not set(value) <= set(known):
        yield f"{path} may only have {', '.join(known)}"
    for key, item in value.items():
        if key in known:
            yield from faults(known[key], item, f"{path}.{key}")


def _number_faults(schema: Schema, value: Any, path: str) -> Iterator[str]:  # noqa: ANN401
    if value < schema.get("minimum", value):
        yield f"{path} must be at least {schema['minimum']}"
    if value > schema.get("maximum", value):
        yield f"{path} must be at most {schema['maximum']}"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_one_of(value: Any, choices: Sequence[Any]) -> bool:  # noqa: ANN401
    """Whether a value is a choice; a sum of steps need not be it to the last bit."""
    if _is_number(value):
        return any(math.isclose(value, one, abs_tol=1e-9) for one in choices if _is_number(one))
    return value in choices


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": _is_number,
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
}

# Pieces that several routes are described with.

ID_PATTERN = r"^[a-zA-Z0-9_-]{1,100}$"
NOT_BLANK = r"^[\s\S]*\S[\s\S]*$"
SESSION_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$"
OPEN_OBJECT: Schema = {"type": "object"}
OBJECTS: Schema = {"type": "array", "items": OPEN_OBJECT}
OK: Schema = {"type": "boolean", "enum": [True]}
TEXT: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
RESOURCE_ID: Schema = {"type": "string", "pattern": ID_PATTERN}
SESSION_ID: Schema = {"type": "string", "pattern": SESSION_PATTERN}
TEMPLATE_ID = SESSION_ID
IDS: Schema = {"type": "array", "items": RESOURCE_ID}


def objects(**properties: Schema) -> Schema:
    """Describe a list of objects that have at least these keys."""
    return {"type": "array", "items": needed(**properties)}


def needed(**properties: Schema) -> Schema:
    """Describe an object that has these keys, and may have others."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def closed(*, optional: Mapping[str, Schema] | None = None, **properties: Schema) -> Schema:
    """Describe an object that has these keys, may have the optional ones, and no others."""
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
        "additionalProperties": False,
    }


def success(**properties: Schema) -> Schema:
    """Describe an answer that says `ok`."""
    return needed(ok=OK, **properties)


def nullable(schema: Schema) -> Schema:
    """Allow null as well, for a schema with one type and no enum."""
    return {**schema, "type": [schema["type"], "null"]}
