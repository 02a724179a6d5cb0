"""Stored users: who plays, by name and description.

Owns what a user may be. A document has no other fields than the plugin's: it refuses one that has.
Must not know files.

Source: the plugin contract, section F.
"""

from typing import Any

from tavern_compiler import User
from tavern_loader.domain.documents import JsonObject
from tavern_loader.domain.js_values import require, text_of

MAX_NAME_CHARS = 200
MAX_DESCRIPTION_CHARS = 100_000
_EDITABLE = frozenset({"name", "description"})
_FIRST_PRINTABLE = " "
_DELETE = "\x7f"


def new_user(*, document_id: str, name: str, description: str = "") -> dict[str, Any]:
    """Make the document of a user. Raises ValueError for a name or description that cannot be."""
    return {
        "id": document_id,
        "name": _name(name),
        "description": _description(description),
    }


def edited_user(document: dict[str, Any], patch: JsonObject) -> dict[str, Any]:
    """Change a user. Raises ValueError for a field that cannot be edited, or a bad value."""
    for field in patch:
        require(field in _EDITABLE, f"there is no field {field} to edit")
    return {
        **document,
        "name": _name(patch.get("name", document.get("name"))),
        "description": _description(patch.get("description", document.get("description", ""))),
    }


def user_of(document: JsonObject) -> User:
    """Give the user that a document stands for."""
    return User(
        name=text_of(document.get("name")).strip(), description=text_of(document.get("description"))
    )


def _name(value: object) -> str:
    name = text_of(value).strip()
    require(isinstance(value, str) and name, "a user needs a name")
    require(len(name) <= MAX_NAME_CHARS, f"a name has at most {MAX_NAME_CHARS} characters")
    printable = all(char >= _FIRST_PRINTABLE and char != _DELETE for char in name)
    require(printable, "a name has no control characters")
    return name


def _description(value: object) -> str:
    require(isinstance(value, str), "a description is a text")
    text = text_of(value)
    message = f"a description has at most {MAX_DESCRIPTION_CHARS} characters"
    require(len(text) <= MAX_DESCRIPTION_CHARS, message)
    return text
