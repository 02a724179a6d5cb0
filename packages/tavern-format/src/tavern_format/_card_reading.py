"""From bytes to a `CharacterCard`: which carrier, which specification, what to remark.

The JSON object is never repaired or rewritten here: the model is read from it through the table of
its specification, and it stays in the model's origin for writing.

Source: SillyTavern 1.19.0, src/endpoints/characters.js (importFromJson, importFromPng,
importFromYaml), src/character-card-parser.js (read).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tavern_format import _json_text as json_text
from tavern_format._book_reading import book_from_json
from tavern_format._card_spellings import (
    CARD_SPECS,
    LABELS,
    REQUIRED_KEYS,
    recognise_label,
    version_text,
)
from tavern_format._fields import json_type
from tavern_format._json_text import JsonObject
from tavern_format._kinds import number_of
from tavern_format.byaf import read_byaf
from tavern_format.card import CardCarrier, CardSpec, CharacterCard
from tavern_format.charx import read_charx
from tavern_format.detection import Container, guess_container, name_document, name_text
from tavern_format.diagnostics import Parsed, Remarks, Report, info, pointer, warn
from tavern_format.errors import CarrierError, FormatError, MalformedResourceError
from tavern_format.limits import DEFAULT_LIMITS, Limits
from tavern_format.png_chunks import (
    CardPayload,
    looks_double_encoded,
    open_card_png,
)
from tavern_format.regex_script import remark_scripts
from tavern_format.world_book import BookSpelling

_ROLES = ("system", "user", "assistant")


def parse_card(
    data: bytes, *, carrier: CardCarrier | None = None, limits: Limits = DEFAULT_LIMITS
) -> Parsed[CharacterCard]:
    """Parse a character card of any specification in any carrier.

    `carrier` insists on one; None goes by the bytes, never by a file name.

    PNG and APNG (`ccv3` before `chara`; the next payload where one is unusable), CHARX (plain, or
    behind a JPEG or PNG), BYAF, JSON, YAML (needs the `yaml` extra). Raises MalformedResourceError
    (JSON_*, EMPTY_INPUT, ENCODING_NOT_UTF8, CARD_NOT_FOUND, DATA_TYPE, NAME_MISSING, NAME_TYPE,
    YAML_*), CarrierError (PNG_*, ZIP_*, CHARX_*, BYAF_*,
    PICTURE_WITHOUT_CARD, CARRIER_OTHER) and LimitExceededError.
    Source: SillyTavern 1.19.0, src/endpoints/characters.js.
    """
    data = json_text.as_bytes(data, limits)
    found = Remarks(limits.diagnostics)
    read = _READERS[_CONTAINER[carrier] if carrier else guess_container(data)]
    card = read(data, limits, found)
    if carrier is not None and card.carrier is not carrier:
        message = f"the card came in {card.carrier}"
        raise CarrierError("CARRIER_OTHER", message, carrier=carrier)
    return Parsed(card, found.all())


def _from_text(data: bytes, limits: Limits, report: Report) -> CharacterCard:
    found = Remarks(limits.diagnostics)
    try:
        document = json_text.load(data, limits, found)
    except MalformedResourceError as fault:
        if fault.code not in {"JSON_SYNTAX", "JSON_TRUNCATED"}:
            raise
        document = _yaml_or_raise(data, limits, fault, report)
        plain = document.keys().isdisjoint(("spec", "data"))
        given: dict[str, Any] = {"carrier": CardCarrier.YAML}
        if plain:
            given["spec"] = CardSpec.TEXT_GENERATION_WEBUI
        return card_from_json(document, report, limits, given)
    for remark in found.all():
        report(remark)
    return card_from_json(document, report, limits)


def _yaml_or_raise(
    data: bytes, limits: Limits, fault: MalformedResourceError, report: Report
) -> JsonObject:
    """Read text-generation-webui YAML; anything that starts like JSON keeps its JSON error."""
    if data.lstrip()[:1] in (b"{", b"[", b'"', b"\xef") or b":" not in data:
        kind = name_text(data)
        if kind is None:
            raise fault
        message = f"this is {kind}, not a character card"
        raise MalformedResourceError("CARD_NOT_FOUND", message, path="") from fault
    from tavern_format._card_yaml import load_yaml  # noqa: PLC0415 - the extra may be missing

    return load_yaml(data, limits, report)


def _from_png(data: bytes, limits: Limits, report: Report) -> CharacterCard:
    try:
        payloads, assets = open_card_png(data, limits, report)
    except CarrierError:
        if b"PK\x03\x04" not in data:
            raise
        return _from_zip(data, limits, report)
    given = {
        "carrier": CardCarrier.PNG,
        "picture": bytes(data),
        "files": assets,
    }
    return _first_usable(payloads, limits, report, given)


def _first_usable(
    payloads: Iterator[CardPayload], limits: Limits, report: Report, given: Mapping[str, Any]
) -> CharacterCard:
    """Take the first payload that is a card; SillyTavern gives up after the first."""
    faults: list[tuple[str, FormatError]] = []
    for payload in payloads:
        found = Remarks(limits.diagnostics)
        try:
            document = json_text.load(payload.data, limits, found)
            card = card_from_json(document, found, limits, given)
        except FormatError as fault:
            faults.append((payload.keyword, _unusable(payload, fault)))
            continue
        for keyword, reason in faults:
            message = f"the {keyword} text is unusable ({reason.code}); the next one was read"
            warn(report, "PNG_FALLBACK", "", message)
        for remark in found.all():
            report(remark)
        return card
    raise faults[0][1]


def _unusable(payload: CardPayload, fault: FormatError) -> FormatError:
    """Say what is wrong with the text where the fault inside it would mislead."""
    if looks_double_encoded(payload.data):
        code, message = "PNG_DOUBLE_BASE64", "is base64 of base64"
    elif payload.holds_bare_json:
        code, message = "PNG_TEXT_BASE64", "is JSON that was never encoded as base64"
    elif payload.irregular_base64:
        code, message = "PNG_TEXT_BASE64", f"is damaged base64 ({fault.code})"
    else:
        return fault
    return CarrierError(
        code,
        f"the {payload.keyword} text {message}",
        carrier="png",
        offset_bytes=payload.offset_bytes,
    )


def _from_zip(data: bytes, limits: Limits, report: Report) -> CharacterCard:
    try:
        archive = read_charx(data, limits, report)
    except CarrierError as fault:
        if fault.code != "CHARX_NO_CARD":
            raise
        return _from_byaf(data, limits, report, fault)
    document = json_text.load(archive.card, limits, report)
    given = {
        "carrier": CardCarrier.CHARX,
        "picture": archive.prefix,
        "files": archive.files,
    }
    card = card_from_json(document, report, limits, given)
    if card.spec not in LABELS:
        message = "SillyTavern takes V2 and V3 cards only in a CHARX"
        warn(report, "CHARX_SPEC", "", message)
    return card


def _from_byaf(data: bytes, limits: Limits, report: Report, fault: CarrierError) -> CharacterCard:
    """Read a BYAF archive; an archive that is neither keeps the fault of the CHARX reader."""
    try:
        archive = read_byaf(data, limits, report)
    except CarrierError as other:
        if other.code == "BYAF_NO_MANIFEST":
            raise fault from None
        raise
    picture = archive.files[archive.images[0].path] if archive.images else b""
    given = {"carrier": CardCarrier.BYAF, "files": archive.files, "picture": picture}
    return card_from_json(archive.card, report, limits, given)


def card_from_json(
    document: object, report: Report, limits: Limits, given: Mapping[str, Any] | None = None
) -> CharacterCard:
    """Read a card from parsed JSON or YAML; `given` are attributes that the carrier decides.

    Raises as `parse_card`.
    """
    if not isinstance(document, dict):
        message = f"a card is an object, not {json_type(document)}"
        raise MalformedResourceError("CARD_NOT_FOUND", message, path="")
    raw: JsonObject = document
    spec = (given or {}).get("spec") or _recognise(raw)
    place = "/data" if spec in LABELS else ""
    fields: Any = raw["data"] if spec in LABELS else raw
    _require_name(raw, spec)
    more = {
        "spec": spec,
        "spec_version": version_text(raw.get("spec_version")),
        "character_book": _book(fields, place, report, limits) if spec in LABELS else None,
    }
    card = CARD_SPECS[spec].decode(raw, "", report, given={**more, **(given or {})})
    if spec in LABELS:
        _remark_labels(raw, spec, report)
    _remark_fields(card, fields, place, report)
    return card


def _recognise(document: JsonObject) -> CardSpec:
    """Follow SillyTavern's order: `spec` first, then `name`, then `char_name`.

    One step more than SillyTavern: an object under `data` makes a card even without `spec`.
    """
    data = document.get("data")
    if "spec" in document or _is_card_data(data):
        if not isinstance(data, dict):
            message = f"`data` must be an object, not {json_type(data)}"
            message = message if "data" in document else "the card has no `data`"
            raise MalformedResourceError("DATA_TYPE", message, path="/data")
        return recognise_label(document)
    if "context" in document and "name" in document and not _is_v1(document):
        return CardSpec.TEXT_GENERATION_WEBUI
    if "name" in document and not _is_other(document):
        return CardSpec.V1
    if "char_name" in document:
        return CardSpec.GRADIO
    raise _not_a_card(document)


def _is_card_data(data: object) -> bool:
    return isinstance(data, dict) and not data.keys().isdisjoint(REQUIRED_KEYS[CardSpec.V2])


def _is_v1(document: JsonObject) -> bool:
    return not document.keys().isdisjoint(REQUIRED_KEYS[CardSpec.V1][1:])


def _is_other(document: JsonObject) -> bool:
    """Tell books, presets and scripts with a name from V1 cards."""
    kind = name_document(document)
    return kind is not None and not _is_v1(document)


def _not_a_card(document: JsonObject) -> MalformedResourceError:
    message = "no card in this object (neither `spec` nor `name` nor `char_name`)"
    for envelope in ("card", "character", "data"):
        inner = document.get(envelope)
        if isinstance(inner, dict) and ("spec" in inner or "name" in inner):
            message += f"; the card seems to be under `{envelope}`"
    kind = name_document(document)
    if kind is not None:
        message = f"this is {kind}, not a character card"
    return MalformedResourceError("CARD_NOT_FOUND", message, path="")


_NAME_PATHS: dict[CardSpec, tuple[tuple[str, ...], ...]] = {
    CardSpec.V1: (("name",),),
    CardSpec.V2: (("data", "name"), ("name",)),
    CardSpec.V3: (("data", "name"), ("name",)),
    CardSpec.GRADIO: (("char_name",),),
    CardSpec.TEXT_GENERATION_WEBUI: (("name",),),
}


def _require_name(raw: JsonObject, spec: CardSpec) -> None:
    """Refuse a card nobody named; an empty name is only remarked: the caller may supply one."""
    for path in _NAME_PATHS[spec]:
        node: Any = raw
        for key in path:
            node = node.get(key, _ABSENT)
        if node is None and len(path) > 1:
            continue
        if isinstance(node, str):
            return
        if node is not _ABSENT:
            message = f"the name must be a string, not {json_type(node)}"
            raise MalformedResourceError("NAME_TYPE", message, path=pointer("", *path))
    message = "the card has no name"
    raise MalformedResourceError("NAME_MISSING", message, path=pointer("", *_NAME_PATHS[spec][0]))


_ABSENT = object()


def _book(fields: JsonObject, place: str, report: Report, limits: Limits) -> Any:  # noqa: ANN401
    """Read the embedded book; one that cannot be read stays in the file and is reported."""
    raw = fields.get("character_book")
    if raw is None:
        return None
    try:
        where = pointer(place, "character_book")
        return book_from_json(raw, report, limits, path=where, empty=BookSpelling.CHARACTER_BOOK)
    except MalformedResourceError as fault:
        message = f"the embedded book cannot be read ({fault.message}); it is kept"
        warn(report, "BOOK_UNREADABLE", fault.path or pointer(place, "character_book"), message)
        return None


def _remark_labels(raw: JsonObject, spec: CardSpec, report: Report) -> None:
    label, usual = LABELS[spec]
    if raw.get("spec", _ABSENT) is _ABSENT:
        warn(report, "SPEC_MISSING", "", "no `spec`: read by its shape as a V2 card")
    elif raw["spec"] != label:
        warn(report, "SPEC_UNKNOWN", "/spec", "an unknown `spec`: read by its shape as a V2 card")
    version = raw.get("spec_version")
    number = number_of(version) if isinstance(version, str) else version
    if version is None:
        info(report, "SPEC_VERSION", "/spec_version", f'no `spec_version`; "{usual}" is usual')
    elif not isinstance(version, str) or number is None:
        info(report, "SPEC_VERSION", "/spec_version", f'`spec_version` is usually "{usual}"')
    elif raw.get("spec") == label and int(number) != int(float(usual)):
        warn(report, "SPEC_VERSION", "/spec_version", "`spec` and `spec_version` disagree")
    elif raw.get("spec") == label and number > float(usual):
        message = "a newer version than this reader knows; unknown fields are kept"
        info(report, "SPEC_VERSION", "/spec_version", message)


def _remark_fields(card: CharacterCard, fields: JsonObject, place: str, report: Report) -> None:
    missing = [key for key in REQUIRED_KEYS[card.spec] if key not in fields]
    if missing:
        message = f"fields that the specification requires are missing: {', '.join(missing)}"
        info(report, "FIELDS_MISSING", place, message)
    name_place = pointer("", *_NAME_PATHS[card.spec][0])
    if not card.name.strip():
        message = "the name is empty: SillyTavern cannot show the character"
        warn(report, "NAME_MISSING", name_place, message)
    if any("\ud800" <= letter <= "\udfff" for letter in card.name):
        warn(report, "LONE_SURROGATE", name_place, "the name holds half a character")
    if card.spec is CardSpec.V1 and "character_book" in fields:
        message = "a V1 card has no book: SillyTavern ignores it, it is kept"
        warn(report, "BOOK_IGNORED", "/character_book", message)
    if card.depth_prompt is not None and card.depth_prompt.role not in _ROLES:
        role_place = pointer(place, "extensions", "depth_prompt", "role")
        warn(report, "ROLE_UNKNOWN", role_place, "an unknown role; SillyTavern sends it as system")
    places = [
        pointer(place, "extensions", "regex_scripts", script.origin.key if script.origin else at)
        for at, script in enumerate(card.regex_scripts)
    ]
    remark_scripts(card.regex_scripts, places, report)


def _from_picture(data: bytes, limits: Limits, report: Report) -> CharacterCard:
    """Refuse a picture that cannot carry a card, unless an archive hangs behind it."""
    if b"PK\x03\x04" in data:
        return _from_zip(data, limits, report)
    message = "this is a picture without a card (cards come in PNG, not in JPEG, WebP or GIF)"
    raise CarrierError("PICTURE_WITHOUT_CARD", message, carrier="picture")


_READERS = {
    Container.PNG: _from_png,
    Container.ZIP: _from_zip,
    Container.PICTURE: _from_picture,
    Container.TEXT: _from_text,
}
_CONTAINER = {
    CardCarrier.PNG: Container.PNG,
    CardCarrier.CHARX: Container.ZIP,
    CardCarrier.BYAF: Container.ZIP,
    CardCarrier.JSON: Container.TEXT,
    CardCarrier.YAML: Container.TEXT,
}
