"""Session templates, and what a configuration would bind, as pages see them.

Owns the keys of both, in the plugin's spelling.

Source: the plugin contract, section F.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tavern_loader.adapters.http.schema import OPEN_OBJECT, TEXT, Schema, needed, objects
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.selection import Selection
from tavern_loader.domain.session_selections import selection_to_json
from tavern_loader.domain.templates import Template
from tavern_loader.service.templates import Content, Fault

TEMPLATE = needed(id=TEXT, name=TEXT, selection=OPEN_OBJECT, createdAt=TEXT, updatedAt=TEXT)
DIAGNOSTICS = objects(code=TEXT, field=TEXT, resourceId=TEXT, message=TEXT)
LOOKED_AT: dict[str, Schema] = {"contents": OPEN_OBJECT, "diagnostics": DIAGNOSTICS}


def template_to_json(template: Template) -> dict[str, Any]:
    """Write a template."""
    return {
        "id": template.id,
        "name": template.name,
        "selection": selection_to_json(template.selection),
        "createdAt": template.created_at,
        "updatedAt": template.updated_at,
    }


def look(services: HttpServices, selection: Selection) -> dict[str, Any]:
    """Say what a selection stands for, and what of it is missing."""
    preview = services.templates.preview(selection)
    return {
        "contents": _contents(selection, preview.contents),
        "diagnostics": diagnostics(preview.faults),
    }


def _contents(selection: Selection, contents: Sequence[Content]) -> dict[str, Any]:
    found: Mapping[Kind, list[dict[str, Any]]] = {kind: [] for kind in Kind}
    for one in contents:
        found[one.kind].append({"id": one.id, "name": one.name, "missing": one.missing})
    return {
        "preset": next(iter(found[Kind.PRESET]), None),
        "characterCard": next(iter(found[Kind.CHARACTER]), None),
        "user": next(iter(found[Kind.USER]), None),
        "worldBooks": found[Kind.WORLD_BOOK],
        "character": selection_to_json(selection)["character"],
    }


def diagnostics(faults: Sequence[Fault]) -> list[dict[str, str]]:
    """Write what is missing."""
    return [
        {
            "code": one.code,
            "field": one.field,
            "resourceId": one.resource_id,
            "message": one.message,
        }
        for one in faults
    ]
