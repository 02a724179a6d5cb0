"""Reading whole world books: the spelling, the container, every entry through its table.

The rules of a single entry are in `_entry_spellings`; what is worth telling is in `_book_remarks`.
"""

from collections.abc import Mapping, Sequence, ValuesView
from typing import Any

from tavern_format import _json_text as json_text
from tavern_format._book_remarks import remark_entries
from tavern_format._entry_spellings import ENTRY_SPECS
from tavern_format._fields import Field, json_type
from tavern_format._foreign_books import FOREIGN_SPECS, container_key, detect_foreign
from tavern_format._json_text import JsonObject
from tavern_format._kinds import FLAG, MAPPING, NUMBER, TEXT, optional
from tavern_format._structure import Origin, Spec
from tavern_format.diagnostics import Parsed, Remarks, Report, error, pointer, warn
from tavern_format.errors import LimitExceededError, MalformedResourceError
from tavern_format.limits import DEFAULT_LIMITS, Limits
from tavern_format.png_chunks import PNG_SIGNATURE, read_naidata
from tavern_format.world_book import BookSpelling, Entry, Unread, WorldBook

SPECS: dict[BookSpelling, Spec[Entry]] = {**ENTRY_SPECS, **FOREIGN_SPECS}
BOOK_SPEC = Spec(
    "world-book",
    WorldBook,
    (
        Field("name", ("name",), optional(TEXT)),
        Field("description", ("description",), TEXT, default=""),
        Field("scan_depth", ("scan_depth",), optional(NUMBER)),
        Field("token_budget", ("token_budget",), optional(NUMBER)),
        Field("recursive_scanning", ("recursive_scanning",), optional(FLAG)),
        Field("extensions", ("extensions",), MAPPING),
    ),
)


def parse_world_book(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Parsed[WorldBook]:
    """Parse a world book in any known spelling: JSON, or a NovelAI lorebook PNG.

    Entries come in the order of the file. Raises MalformedResourceError (JSON_*, EMPTY_INPUT,
    ENCODING_NOT_UTF8, WORLD_BOOK_SHAPE), CarrierError (PNG_*) and LimitExceededError.
    Source: SillyTavern 1.19.0, public/scripts/world-info.js, importWorldInfo.
    """
    data = json_text.as_bytes(data, limits)
    found = Remarks(limits.diagnostics)
    if data[:8] == PNG_SIGNATURE:
        payload = read_naidata(data, limits, found)
        if payload is None:
            message = "the PNG holds no NovelAI lorebook"
            raise MalformedResourceError("WORLD_BOOK_SHAPE", message)
        data = payload
    document = json_text.load(data, limits, found)
    book = book_from_json(document, found, limits)
    return Parsed(book, found.all())


def book_from_json(
    document: object,
    report: Report,
    limits: Limits,
    *,
    path: str = "",
    empty: BookSpelling = BookSpelling.WORLD_INFO,
) -> WorldBook:
    """Read a book from parsed JSON; `path` is its place in the document. Raises as the parser.

    `empty` is the spelling of a book without entries, of SillyTavern's two.
    """
    outer = _require_object(document, path)
    spelling, inner, inside = _recognise(outer, path, empty)
    key = container_key(spelling)
    container = _container(inner, key, spelling, inside, report)
    items: list[tuple[str | int, Any]] = list(
        container.items() if isinstance(container, dict) else enumerate(container)
    )
    if len(items) > limits.entries:
        raise LimitExceededError(
            limit="entries", actual=len(items), maximum=limits.entries, unit="entries"
        )
    place = pointer(inside, key)
    entries, unread = _read_items(items, spelling, place, report)
    given = {
        "entries": entries,
        "spelling": spelling,
        "unread": unread,
        "origin": Origin(BOOK_SPEC, outer, 0),
    }
    return BOOK_SPEC.decode(inner, inside, report, given=given)


def _require_object(document: object, path: str) -> JsonObject:
    if isinstance(document, dict):
        return document
    message = f"a world book is an object, not {json_type(document)}"
    if isinstance(document, list):
        message += " (a bare list of entries is no book: put it under `entries`)"
    raise MalformedResourceError("WORLD_BOOK_SHAPE", message, path=path)


def _recognise(
    outer: JsonObject, path: str, empty: BookSpelling
) -> tuple[BookSpelling, JsonObject, str]:
    foreign = detect_foreign(outer)
    if foreign is not None:
        return foreign, outer, path
    inner = inner_book(outer)
    inside = path if inner is outer else pointer(path, "data")
    if "entries" not in inner:
        message = "no `entries`"
        if "character_book" in _object(outer.get("data")):
            message += " (this is a character card; its book is inside the card)"
        raise MalformedResourceError("WORLD_BOOK_SHAPE", message, path=inside)
    return _spelling_of(inner["entries"], empty), inner, inside


def inner_book(outer: JsonObject) -> JsonObject:
    """Step into the `data` of a stand-alone V3 lorebook."""
    inner = outer.get("data")
    wrapped = "entries" not in outer and isinstance(inner, dict) and "entries" in inner
    return inner if wrapped and isinstance(inner, dict) else outer


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _spelling_of(entries: object, empty: BookSpelling) -> BookSpelling:
    """Tell the two spellings apart by what the first entry calls its keys."""
    items = entries.values() if isinstance(entries, dict) else entries
    if isinstance(items, list | ValuesView):
        first = next((item for item in items if isinstance(item, dict)), None)
        if first is None:
            return empty
        if "keys" in first and "key" not in first:
            return BookSpelling.CHARACTER_BOOK
        if not first.keys().isdisjoint(_BOOK_MARKS) and first.keys().isdisjoint(_FILE_MARKS):
            return BookSpelling.CHARACTER_BOOK
    return BookSpelling.WORLD_INFO


_BOOK_MARKS = ("insertion_order", "enabled", "secondary_keys")
_FILE_MARKS = ("key", "uid", "order", "disable")


def _container(
    inner: JsonObject, key: str, spelling: BookSpelling, path: str, report: Report
) -> JsonObject | list[Any]:
    container = inner.get(key)
    if not isinstance(container, dict | list):
        message = f"`{key}` must be an object or an array, not {json_type(container)}"
        raise MalformedResourceError("WORLD_BOOK_SHAPE", message, path=pointer(path, key))
    if isinstance(container, dict) and spelling is not BookSpelling.WORLD_INFO:
        message = "the entries are an object where an array belongs; its values were read in order"
        warn(report, "ENTRIES_SHAPE", pointer(path, key), message)
    return container


def _read_items(
    items: Sequence[tuple[str | int, Any]], spelling: BookSpelling, path: str, report: Report
) -> tuple[Sequence[Entry], tuple[Unread, ...]]:
    good = [(key, raw) for key, raw in items if isinstance(raw, dict)]
    unread: tuple[Unread, ...] = ()
    if len(good) != len(items):
        unread = tuple(
            Unread(at, key, raw) for at, (key, raw) in enumerate(items) if not isinstance(raw, dict)
        )
        for item in unread:
            message = f"{json_type(item.value)} is no entry; it is kept but takes no part"
            error(report, "ENTRY_TYPE", pointer(path, item.key), message)
    keys = [key for key, _ in good]
    objects = [raw for _, raw in good]
    entries = SPECS[spelling].decode_all(objects, lambda at: pointer(path, keys[at]), report, keys)
    if spelling in ENTRY_SPECS:
        remark_entries(objects, keys, spelling, path, report)
    return entries, unread
