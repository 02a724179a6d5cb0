"""BYAF, Backyard's archive: read as the V2 card that SillyTavern makes of it.

Owns the mapping from Backyard's three documents (manifest, character, scenarios) to a card; the
messages of a scenario are in `_byaf_chat`. The input's own documents stay among the files, so
nothing that the card has no place for is lost.

Source: Backyard archive format, schema version 1; SillyTavern 1.19.0, src/byaf.js.
"""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from tavern_format import _json_text as json_text
from tavern_format._byaf_values import (
    JS_BLANKS,
    either,
    first_text,
    is_truthy,
    items,
    member,
    rewrite_macros,
)
from tavern_format._json_text import JsonObject
from tavern_format._zip import ZipArchive, ZipFiles, normal_path, open_zip
from tavern_format.diagnostics import Report, info, pointer, warn
from tavern_format.errors import CarrierError, FormatError
from tavern_format.limits import Limits

MANIFEST_FILE = "manifest.json"
_MAC_FOLDER = "__MACOSX"
_SCHEMA = """
manifest: schemaVersion createdAt characters scenarios author
character: schemaVersion id name displayName isNSFW persona createdAt updatedAt loreItems images
scenario: schemaVersion title model formattingInstructions minP minPEnabled temperature \
    repeatPenalty repeatLastN topK topP exampleMessages canDeleteExampleMessages firstMessages \
    narrative promptTemplate grammar messages backgroundImage
"""
_KNOWN = {
    kind: frozenset(fields.split())
    for kind, _, fields in (line.partition(":") for line in _SCHEMA.strip().splitlines())
}
"""The fields of schema version 1. Any other is kept in the card's extensions."""


@frozen(kw_only=True)
class ByafImage:
    """A picture of the character."""

    path: str
    """Within `Byaf.files`."""
    label: str


@frozen(kw_only=True)
class Byaf:
    """An opened BYAF archive."""

    card: JsonObject
    """A V2 card. Without `create_date` unless the manifest has one: SillyTavern writes the time."""
    images: tuple[ByafImage, ...]
    """Pictures that are in the archive; the first one is the character's."""
    scenarios: tuple[JsonObject, ...] = field(repr=False)
    """As in the archive. The first one is the card's, of the others it has the first messages;
    `chat_of_scenario` makes chats of them."""
    backgrounds: tuple[str | None, ...]
    """Path of the background picture of each scenario, where it has one."""
    files: ZipFiles
    """All files of the archive, expanded when looked up."""


def read_byaf(data: bytes, limits: Limits, report: Report) -> Byaf:
    """Open a BYAF archive and make a card of its first character.

    The diagnostics of a document inside have its path in the archive in front of their pointer.
    Raises CarrierError (ZIP_*, BYAF_NO_MANIFEST, BYAF_MANIFEST, BYAF_CHARACTER),
    MalformedResourceError (a manifest or character that is no JSON) and LimitExceededError. A
    scenario that cannot be read is only remarked (BYAF_SCENARIO), as in SillyTavern.
    """
    archive = open_zip(data, limits, report)
    manifest = _manifest(archive, limits, report)
    path, character = _character(archive, manifest, limits, report)
    scenarios = _scenarios(archive, manifest, limits, report)
    return Byaf(
        card=_card(manifest, character, scenarios),
        images=_images(archive, character, path, report),
        scenarios=tuple(scenarios),
        backgrounds=tuple(
            _find(archive, member(scenario, "backgroundImage"), report) for scenario in scenarios
        ),
        files=archive.files(),
    )


def _manifest(archive: ZipArchive, limits: Limits, report: Report) -> JsonObject:
    path = _find(archive, MANIFEST_FILE, report)
    if path is None:
        message = "the archive has no manifest.json"
        raise CarrierError("BYAF_NO_MANIFEST", message, carrier="byaf")
    manifest = _load(archive, path, limits, report)
    if not isinstance(member(manifest, "characters"), list):
        message = "the manifest has no list of characters"
        raise CarrierError("BYAF_MANIFEST", message, carrier="byaf")
    found: JsonObject = manifest
    return found


def _character(
    archive: ZipArchive, manifest: JsonObject, limits: Limits, report: Report
) -> tuple[str, JsonObject]:
    listed = manifest["characters"]
    path = _find(archive, listed[0], report) if listed else None
    if path is None:
        message = "the manifest names no character that is in the archive"
        raise CarrierError("BYAF_CHARACTER", message, carrier="byaf")
    if len(listed) > 1:
        message = f"the archive holds {len(listed)} characters; the first one is read"
        warn(report, "BYAF_CHARACTERS", "", message)
    character = _load(archive, path, limits, report)
    if not isinstance(character, dict):
        message = "the character is not an object"
        raise CarrierError("BYAF_CHARACTER", message, carrier="byaf")
    return path, character


def _scenarios(
    archive: ZipArchive, manifest: JsonObject, limits: Limits, report: Report
) -> list[JsonObject]:
    found: list[JsonObject] = []
    for number, listed in enumerate(items(manifest, "scenarios"), 1):
        path = _find(archive, listed, report)
        try:
            scenario = None if path is None else _load(archive, path, limits, report)
        except FormatError as fault:
            message = f"scenario {number} cannot be read ({fault.code})"
            warn(report, "BYAF_SCENARIO", "", message)
            continue
        if isinstance(scenario, dict):
            found.append(scenario)
        else:
            message = f"scenario {number} is missing or not an object"
            warn(report, "BYAF_SCENARIO", "", message)
    return found


def _images(
    archive: ZipArchive, character: JsonObject, character_path: str, report: Report
) -> tuple[ByafImage, ...]:
    folder = character_path.rpartition("/")[0]
    found: list[ByafImage] = []
    for number, image in enumerate(items(character, "images"), 1):
        listed = member(image, "path")
        inside = f"{folder}/{listed}" if isinstance(listed, str) and listed else None
        path = _find(archive, inside, report)
        if path is None:
            message = f"picture {number} of the character is not in the archive"
            warn(report, "BYAF_IMAGE", "", message)
            continue
        label = member(image, "label")
        found.append(ByafImage(path=path, label=label if isinstance(label, str) else ""))
    return tuple(found)


def _card(manifest: JsonObject, character: JsonObject, scenarios: list[JsonObject]) -> JsonObject:
    scenario = scenarios[0] if scenarios else {}
    author = member(manifest, "author")
    data: JsonObject = {
        "name": either(member(character, "name"), member(character, "displayName")),
        "description": rewrite_macros(member(character, "persona")),
        "personality": "",
        "scenario": rewrite_macros(member(scenario, "narrative")),
        "first_mes": rewrite_macros(first_text(scenario)),
        "mes_example": examples_of(scenario),
        "creator_notes": either(member(author, "backyardURL")),
        "system_prompt": rewrite_macros(member(scenario, "formattingInstructions")),
        "post_history_instructions": "",
        "alternate_greetings": _other_greetings(scenarios),
        "character_book": _book(character),
        "tags": ["nsfw"] if is_truthy(member(character, "isNSFW")) else [],
        "creator": either(member(author, "name")),
        "character_version": "",
        "extensions": _extensions(manifest, character, scenarios),
    }
    if data["character_book"] is None:
        del data["character_book"]
    card: JsonObject = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
    created = manifest.get("createdAt")
    return {**card, "create_date": created} if created and isinstance(created, str) else card


def examples_of(scenario: JsonObject) -> str:
    """Write example messages as a V2 card has them, each under a `<START>` of its own."""
    texts = (member(message, "text") for message in items(scenario, "exampleMessages"))
    blocks = (f"<START>\n{rewrite_macros(text)}\n" for text in texts if is_truthy(text))
    return "".join(blocks).rstrip(JS_BLANKS)


def _other_greetings(scenarios: list[JsonObject]) -> list[str]:
    """Give the first messages of the other scenarios, each once, without the card's own.

    Compared before macros are rewritten, as SillyTavern does.
    """
    own = first_text(scenarios[0]) if scenarios else None
    texts = (first_text(scenario) for scenario in scenarios[1:])
    kept = (rewrite_macros(text) for text in texts if is_truthy(text) and text != own)
    return list(dict.fromkeys(kept))


def _book(character: JsonObject) -> JsonObject | None:
    lore = items(character, "loreItems")
    if not lore:
        return None
    entries = [
        {
            "keys": _keys(rewrite_macros(member(item, "key"))),
            "content": rewrite_macros(member(item, "value")),
            "extensions": {},
            "enabled": True,
            "insertion_order": index,
        }
        for index, item in enumerate(lore)
        if is_truthy(item)
    ]
    return {"entries": entries, "extensions": {}}


def _keys(listed: str) -> list[str]:
    keys = (key.strip(JS_BLANKS) for key in listed.split(","))
    return [key for key in keys if key]


def _extensions(
    manifest: JsonObject, character: JsonObject, scenarios: list[JsonObject]
) -> JsonObject:
    extensions: JsonObject = {}
    if is_truthy(character.get("displayName")):
        extensions["display_name"] = character["displayName"]
    unknown: JsonObject = {
        "manifest": _unknown("manifest", manifest),
        "character": _unknown("character", character),
        "scenarios": [_unknown("scenario", scenario) for scenario in scenarios],
    }
    if not any(unknown["scenarios"]):
        unknown["scenarios"] = []
    kept = {kind: fields for kind, fields in unknown.items() if fields}
    if kept:
        extensions["tavern_format"] = {"byaf": kept}
    return extensions


def _unknown(kind: str, document: Mapping[str, Any]) -> JsonObject:
    return {key: value for key, value in document.items() if key not in _KNOWN[kind]}


def _load(archive: ZipArchive, path: str, limits: Limits, report: Report) -> Any:  # noqa: ANN401
    content = archive.read(path, report)
    return json_text.load(content, limits, report, path=pointer("", path))


def _find(archive: ZipArchive, listed: object, report: Report) -> str | None:
    """Find a file by the path a document gives; SillyTavern takes any that ends so."""
    path = normal_path(listed) if isinstance(listed, str) else None
    if path is None or path in archive.entries:
        return path
    for name in archive.names:
        if name.endswith(path) and not name.startswith(_MAC_FOLDER):
            message = "a file lies deeper in the archive than its path says; it was taken"
            info(report, "BYAF_PATH", "", message)
            return name
    return None
