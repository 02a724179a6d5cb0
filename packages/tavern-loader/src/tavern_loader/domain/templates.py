"""Session templates: named selections, as values of their file.

Owns names, ids and the chosen template. Must not know where the file is.

Source: the plugin contract, section F.
"""

import re
from collections.abc import Iterator
from typing import Any

from attrs import frozen

from tavern_loader.domain.documents import JsonObject, check_schema
from tavern_loader.domain.js_values import list_of, object_of, require, text_of
from tavern_loader.domain.selection import Selection
from tavern_loader.domain.session_selections import (
    channel_of,
    selection_from_json,
    selection_to_json,
)
from tavern_loader.errors import NotFoundError, StoreError

SCHEMA = 1
MAX_TEMPLATES = 100
MAX_NAME_CHARS = 120
MAX_NAME_BYTES = 480
EMPTY: JsonObject = {"schemaVersion": SCHEMA, "selectedId": None, "templates": []}
_TEMPLATE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")


@frozen(kw_only=True)
class Template:
    """A selection to begin sessions with."""

    id: str
    name: str
    selection: Selection
    created_at: str
    updated_at: str


def check(document: JsonObject) -> None:
    """Refuse what is no file of templates. Raises ValueError."""
    check_schema(document, SCHEMA)
    templates = document.get("templates")
    require(isinstance(templates, list | tuple), "templates is no list")
    ids = [text_of(object_of(one).get("id")) for one in list_of(templates)]
    are_ids = all(map(_TEMPLATE_ID.fullmatch, ids)) and len(set(ids)) == len(ids)
    require(are_ids, "an id of a template is missing, wrong or used twice")
    for one in list_of(templates):
        template_name(object_of(one).get("name"))


def template_name(value: object) -> str:
    """Give a name, trimmed. Raises ValueError for none, or one of more than 120 characters."""
    name = text_of(value).strip()
    if not name:
        raise ValueError("a template needs a name")
    if len(name) > MAX_NAME_CHARS or len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        raise ValueError(f"the name of a template has at most {MAX_NAME_CHARS} characters")
    return name


def all_templates(document: JsonObject, extras: JsonObject) -> Iterator[Template]:
    """List the templates in their order."""
    for found in map(object_of, list_of(document.get("templates"))):
        template_id = text_of(found.get("id"))
        yield Template(
            id=template_id,
            name=text_of(found.get("name")).strip(),
            selection=selection_from_json(
                found.get("selection"), channel_of(extras, "templates", template_id)
            ),
            created_at=text_of(found.get("createdAt")),
            updated_at=text_of(found.get("updatedAt")),
        )


def selected_id(document: JsonObject) -> str | None:
    """Give the id of the chosen template, if that is there."""
    chosen = document.get("selectedId")
    ids = (object_of(one).get("id") for one in list_of(document.get("templates")))
    return chosen if isinstance(chosen, str) and chosen in ids else None


def find(document: JsonObject, extras: JsonObject, template_id: str) -> Template:
    """Give a template. Raises NotFoundError."""
    for template in all_templates(document, extras):
        if template.id == template_id:
            return template
    raise NotFoundError("SESSION_TEMPLATE_NOT_FOUND", f"no session template {template_id}")


def with_template(document: dict[str, Any], template: Template) -> dict[str, Any]:
    """Put a template in the place of the one of its id, or behind all others.

    Raises ValueError for a name or an id that cannot be one, StoreError for one template too many.
    """
    if not _TEMPLATE_ID.fullmatch(template.id):
        raise ValueError("an id of a template is 1 to 200 letters, digits and ._:-")
    written = {
        "id": template.id,
        "name": template_name(template.name),
        "selection": selection_to_json(template.selection),
        "createdAt": template.created_at,
        "updatedAt": template.updated_at,
    }
    held = list(list_of(document.get("templates")))
    at = next((at for at, one in enumerate(held) if object_of(one).get("id") == template.id), None)
    if at is None:
        held.append(written)
    else:
        held[at] = {**held[at], **written}
    if len(held) > MAX_TEMPLATES:
        message = f"there can be at most {MAX_TEMPLATES} session templates"
        raise StoreError("SESSION_TEMPLATE_LIMIT_REACHED", message)
    return {**document, "templates": held}


def without_template(document: dict[str, Any], gone: str) -> dict[str, Any]:
    """Take a template out; if it was chosen, none is."""
    kept = [one for one in list_of(document.get("templates")) if object_of(one).get("id") != gone]
    chosen = document.get("selectedId")
    return {**document, "templates": kept, "selectedId": None if chosen == gone else chosen}


def choosing(document: dict[str, Any], template_id: str | None) -> dict[str, Any]:
    """Choose the template that new sessions begin with; None for none."""
    return {**document, "selectedId": template_id}
