"""From a `CharacterCard` to bytes: JSON in any specification, PNG, CHARX.

An unedited card written in its own specification is the JSON it was read from. A conversion keeps
every key of the source: the old top-level fields become the mirrors that readers of V1 look at.
"""

from collections.abc import Mapping

import attrs

from tavern_format import _json_text as json_text
from tavern_format._book_writing import book_to_json, convert_world_book
from tavern_format._card_picture import ICON_FILE, icon_path, picture_of, with_icon
from tavern_format._card_spellings import CARD_SPECS, LABELS
from tavern_format._json_text import JsonObject
from tavern_format._structure import Origin
from tavern_format.card import CardCarrier, CardSpec, CharacterCard
from tavern_format.charx import write_charx
from tavern_format.errors import UnsupportedVersionError
from tavern_format.png_chunks import (
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


def dump_card_png(card: CharacterCard, *, picture: bytes | None = None) -> bytes:
    """Put a card into a PNG: a `chara` text that readers of V2 take, and a `ccv3` text for V3.

    `picture` is the PNG to write into; by default the one the card came in, or the main icon of a
    CHARX, else a small plain one. Every older card text in it is removed, all other chunks stay
    byte for byte. Raises CarrierError (PNG_*) for a picture that is no PNG.
    Source: SillyTavern 1.19.0, src/character-card-parser.js, write.
    """
    target = (picture_of(card) or empty_png()) if picture is None else picture
    own = card.spec if card.spec in LABELS else CardSpec.V2
    chara = json_text.dump(card_to_json(card, own))
    return write_card_chunks(target, chara, ccv3_of(chara))


def dump_card_charx(card: CharacterCard, *, files: Mapping[str, bytes] | None = None) -> bytes:
    """Write a card as CHARX: `card.json` in V3 and the card's files (or `files` instead).

    The picture of a card that came in a PNG becomes its main icon; the picture in front of a CHARX
    stays there. The archive is the same for the same input on every machine. Raises ValueError for
    a path that no reader would accept, CarrierError for a picture that ends early.
    """
    content = dict(card.files if files is None else files)
    document = card_to_json(card, CardSpec.V3)
    picture = picture_of(card) if card.carrier is CardCarrier.PNG else None
    if picture is not None and icon_path(card.assets, content) is None:
        content[ICON_FILE] = strip_card_chunks(picture)
        document = with_icon(document)
    prefix = card.picture if card.carrier is CardCarrier.CHARX else b""
    return write_charx(json_text.dump(document, indent=4), content, prefix)


def ccv3_of(chara: bytes) -> bytes | None:
    """Make the `ccv3` text for a `chara` text, as SillyTavern does; None where that is no JSON."""
    document = json_text.load_leniently(chara)
    if isinstance(document, dict):
        document = {**document, "spec": "chara_card_v3", "spec_version": "3.0"}
    elif not isinstance(document, list):
        return None
    return json_text.dump(json_text.with_javascript_numbers(document))


def card_to_json(card: CharacterCard, spec: CardSpec | None = None) -> JsonObject:
    """Give the card as a JSON object (see `dump_card`)."""
    own = card.spec if spec is None else spec
    if own not in {*LABELS, CardSpec.V1} and own is not card.spec:
        message = "cards are written as v1, v2 or v3"
        raise UnsupportedVersionError("CARD_SPEC", message, spec=own)
    if own is card.spec:
        written = _encode(card)
        if _holds_all(card, written):
            return written
        own = own if own in LABELS else CardSpec.V2
    if own is CardSpec.V1:
        return _to_v1(card)
    return _with_labels(_to_data(card), own)


def _encode(card: CharacterCard) -> JsonObject:
    """Write the card in its own specification."""
    if card.origin is None and card.spec in LABELS:
        return _with_labels(_with_book(CARD_SPECS[card.spec].encode(card), card), card.spec)
    written = CARD_SPECS[card.spec].encode(card)
    return _with_book(written, card) if card.spec in LABELS else written


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
    return convert_world_book(book, BookSpelling.CHARACTER_BOOK, name=name)


def _is_book(raw: object) -> bool:
    return isinstance(raw, dict) and isinstance(raw.get("entries"), dict | list)


def _holds_all(card: CharacterCard, written: JsonObject) -> bool:
    """Tell whether reading `written` again would give every field of the card."""
    if card.spec in LABELS:
        return True
    again = CARD_SPECS[card.spec].decode(written, "", _ignore)
    neutral = attrs.evolve(
        card,
        spec=again.spec,
        spec_version=again.spec_version,
        carrier=again.carrier,
        files=again.files,
    )
    return again == neutral


def _ignore(_: object) -> None:
    """Drop a diagnostic that was given when the card was read."""


def _to_data(card: CharacterCard) -> JsonObject:
    """Write under `data`; a card of another shape keeps its own keys beside it as mirrors."""
    if card.spec in LABELS:
        return _encode(card)
    spec = CARD_SPECS[CardSpec.V2]
    beside = dict(card.raw)
    fresh = spec.encode(attrs.evolve(card, spec=CardSpec.V2, origin=Origin(spec, beside, 0)))
    complete = spec.encode(attrs.evolve(card, origin=None))["data"]
    merged = {**beside, **fresh, "data": {**complete, **fresh.get("data", {})}}
    return _with_book(merged, card)


def _with_labels(written: JsonObject, spec: CardSpec) -> JsonObject:
    label, version = LABELS[spec]
    same = written.get("spec") == label
    kept = written.get("spec_version") if same else None
    data = written.get("data", {})
    if spec is CardSpec.V3:
        data = {"group_only_greetings": [], **data} if "group_only_greetings" not in data else data
    head = {"spec": label, "spec_version": version if kept is None else kept}
    if "spec" in written:
        return {**written, **head, "data": data}
    return {**head, **written, "data": data}


def _to_v1(card: CharacterCard) -> JsonObject:
    spec = CARD_SPECS[CardSpec.V1]
    written = spec.encode(attrs.evolve(card, origin=None))
    again = attrs.evolve(card, spec=CardSpec.V1)
    if not _holds_all(again, written):
        message = "the card holds fields that V1 does not have; write it as v2 or v3"
        raise UnsupportedVersionError("CARD_SPEC", message, spec=CardSpec.V1)
    return written
