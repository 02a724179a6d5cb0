"""From a `CharacterCard` to bytes: JSON in any specification, PNG, CHARX.

An unedited card written in its own specification is the JSON it was read from. A conversion keeps
every key of the source: the old top-level fields become the mirrors that readers of V1 look at.
"""

from collections.abc import Mapping

import attrs

from tavern_format import _json_text as json_text
from tavern_format._book_writing import book_to_json, convert_world_book
from tavern_format._card_picture import ICON_FILE, icon_path, picture_of, with_icon
from tavern_format._card_spellings import CARD_SPECS, LABELS, recognise_label, version_text
from tavern_format._json_text import JsonObject
from tavern_format._structure import Origin
from tavern_format.card import CardCarrier, CardSpec, CharacterCard
from tavern_format.charx import write_charx
from tavern_format.errors import UnsupportedVersionError
from tavern_format.limits import DEFAULT_LIMITS
from tavern_format.png_chunks import (
    PNG_SIGNATURE,
    empty_png,
    strip_card_chunks,
    write_card_chunks,
)
from tavern_format.world_book import BookSpelling, WorldBook


def dump_card(
    card: CharacterCard, *, spec: CardSpec | None = None, indent: int | None = None
) -> bytes:
    """Write a card as JSON.

    `spec` chooses V1, V2 or V3; None keeps the card's own, or takes V2 where an edit set a field
    that its own specification does not have. Raises UnsupportedVersionError (CARD_SPEC) when asked
    for a shape that is only read, or for V1 when the card holds what V1 cannot.
    """
    return json_text.dump(card_to_json(card, spec), indent=indent)


def dump_card_png(
    card: CharacterCard, *, picture: bytes | None = None, v3_copy: bool = True
) -> bytes:
    """Put a card into a PNG: a `chara` text that readers of V2 take, and a `ccv3` text for V3.

    `picture` is the PNG to write into; by default the one the card came in, or the main icon of a
    CHARX, else a small plain one. Every older card text in it is removed, all other chunks stay
    byte for byte. Without `v3_copy` only a V3 card gets the `ccv3` text, so that any other is
    read back as what it is. Raises CarrierError (PNG_*) for a picture that is no PNG.
    Source: SillyTavern 1.19.0, src/character-card-parser.js, write.
    """
    target = (picture_of(card) or empty_png()) if picture is None else picture
    own = card.spec if card.spec in LABELS else CardSpec.V2
    document = card_to_json(card, own)
    ccv3 = _ccv3(document) if v3_copy or own is CardSpec.V3 else None
    return write_card_chunks(target, json_text.dump(document), ccv3)


def card_picture(card: CharacterCard) -> bytes | None:
    """Give the PNG that shows the character, without any card text; None where there is none.

    That is the PNG the card came in, the main icon of an archive, or the PNG in front of one.
    Raises CarrierError (PNG_*) for a PNG that ends early.
    """
    picture = picture_of(card)
    return None if picture is None else strip_card_chunks(picture)


def dump_card_charx(card: CharacterCard, *, files: Mapping[str, bytes] | None = None) -> bytes:
    """Write a card as CHARX: `card.json` in V3 and the card's files (or `files` instead).

    The picture of a card that came in a PNG or BYAF becomes its main icon; the picture in front of
    a CHARX stays there. The archive is the same for the same input on every machine. Raises
    ValueError for a path that no reader would accept, CarrierError for a picture that ends early.
    """
    content = dict(card.files if files is None else files)
    document = card_to_json(card, CardSpec.V3)
    picture = None if card.carrier is CardCarrier.CHARX else picture_of(card)
    if picture is not None and icon_path(card.assets, content) is None:
        content[ICON_FILE] = strip_card_chunks(picture)
        document = with_icon(document)
    prefix = card.picture if card.carrier is CardCarrier.CHARX else b""
    if prefix.startswith(PNG_SIGNATURE):
        prefix = strip_card_chunks(prefix)  # a card text in it would win over the archive
    return write_charx(json_text.dump(document, indent=4), content, prefix)


def ccv3_of(chara: bytes) -> bytes | None:
    """Make the `ccv3` text for a `chara` text, as SillyTavern does; None where that is no JSON."""
    document = json_text.load_leniently(chara)
    if isinstance(document, dict):
        return _ccv3(document)
    if isinstance(document, list):
        return json_text.dump(json_text.with_javascript_numbers(document))
    return None


def _ccv3(document: JsonObject) -> bytes:
    labelled = {**document, "spec": "chara_card_v3", "spec_version": "3.0"}
    return json_text.dump(json_text.with_javascript_numbers(labelled))


def card_to_json(card: CharacterCard, spec: CardSpec | None = None) -> JsonObject:
    """Give the card as a JSON object (see `dump_card`)."""
    target = card.spec if spec is None else spec
    if target in LABELS:
        return _labelled(_to_data(card), target, card)
    if target is _shape(card):
        written = CARD_SPECS[target].encode(card)
        if _holds_all(card, written, target):
            return written
        if spec is None:
            return _labelled(_to_data(card), CardSpec.V2, card)
    elif target is CardSpec.V1:
        written = _to_v1(card)
        if _holds_all(card, written, CardSpec.V1) and not _unknown_data(card):
            return written
    else:
        message = "cards are written as v1, v2 or v3"
        raise UnsupportedVersionError("CARD_SPEC", message, spec=target)
    message = f"the card holds what {target} has no place for; write it as v2 or v3"
    raise UnsupportedVersionError("CARD_SPEC", message, spec=target)


def _shape(card: CharacterCard) -> CardSpec:
    """Tell how the card's own JSON is laid out, whatever its `spec` was changed to since."""
    if card.origin is None:
        return card.spec
    found = next(spec for spec, table in CARD_SPECS.items() if table is card.origin.spec)
    return card.spec if found in LABELS and card.spec in LABELS else found


def _with_book(written: JsonObject, card: CharacterCard) -> JsonObject:
    data = written.get("data", {})
    before = data.get("character_book")
    if card.character_book is None:
        unreadable = card.origin is not None and before is not None and not _is_book(before)
        if before is None or unreadable:
            return written
        kept = {key: value for key, value in data.items() if key != "character_book"}
        return {**written, "data": kept}
    book = book_to_json(_as_character_book(card.character_book, before, card.name))
    return written if book is before else {**written, "data": {**data, "character_book": book}}


def _as_character_book(book: WorldBook, before: object, name: str) -> WorldBook:
    """Convert a book that was put into the card; one that was read from it keeps its spelling."""
    if book.origin is not None and book.origin.raw is before:
        return book
    # The book is in memory already: how many entries it has was settled when it was read.
    limits = attrs.evolve(DEFAULT_LIMITS, entries=max(DEFAULT_LIMITS.entries, len(book.entries)))
    return convert_world_book(book, BookSpelling.CHARACTER_BOOK, name=name, limits=limits)


def _is_book(raw: object) -> bool:
    return isinstance(raw, dict) and isinstance(raw.get("entries"), dict | list)


def _holds_all(card: CharacterCard, written: JsonObject, spec: CardSpec) -> bool:
    """Tell whether reading `written` again would give every field of the card."""
    again = CARD_SPECS[spec].decode(written, "", _ignore)
    neutral = attrs.evolve(
        card, spec=again.spec, spec_version=again.spec_version, carrier=again.carrier
    )
    return again == neutral


def _ignore(_: object) -> None:
    """Drop a diagnostic that was given when the card was read."""


def _to_data(card: CharacterCard) -> JsonObject:
    """Write under `data`; a card of another shape keeps its own keys beside it as mirrors."""
    spec = CARD_SPECS[CardSpec.V2]
    if card.origin is None or _shape(card) in LABELS:
        return _with_book(spec.encode(card), card)
    beside = dict(card.raw)
    fresh = spec.encode(attrs.evolve(card, origin=Origin(spec, beside, 0)))
    complete = spec.encode(attrs.evolve(card, origin=None))["data"]
    return _with_book({**beside, **fresh, "data": {**complete, **fresh.get("data", {})}}, card)


def _labelled(written: JsonObject, spec: CardSpec, card: CharacterCard) -> JsonObject:
    """Say which specification it is; what the file said stays where nobody changed it."""
    read_as = recognise_label(written)
    version = written.get("spec_version")
    said = card.origin is not None and _shape(card) in LABELS
    if said and read_as is spec and card.spec_version == version_text(version):
        return written
    label, usual = LABELS[spec]
    own = card.spec_version if card.spec is spec and card.spec_version else usual
    head = {"spec": label, "spec_version": own if read_as is spec or card.origin is None else usual}
    data = written.get("data", {})
    if spec is CardSpec.V3 and "group_only_greetings" not in data:
        data = {**data, "group_only_greetings": []}
    if "spec" in written:
        return {**written, **head, "data": data}
    return {**head, **written, "data": data}


def _to_v1(card: CharacterCard) -> JsonObject:
    """Write the six fields and their like at the top, beside whatever else stood there."""
    outer = {key: value for key, value in card.raw.items() if key not in _DATA_KEYS}
    return {**outer, **CARD_SPECS[CardSpec.V1].encode(attrs.evolve(card, origin=None))}


_DATA_KEYS = ("spec", "spec_version", "data")


def _unknown_data(card: CharacterCard) -> bool:
    """Tell whether the `data` of the card's JSON holds keys that no field stands for."""
    data = card.raw.get("data")
    known = {row.path[1] for row in CARD_SPECS[CardSpec.V2].fields} | {"character_book"}
    return isinstance(data, dict) and not data.keys() <= known
