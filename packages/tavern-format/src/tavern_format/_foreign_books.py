"""Lorebooks of other applications, as SillyTavern imports them.

Each is read into the common model where it stands, and can be converted to SillyTavern's file. The
conversion writes what SillyTavern writes, with two repairs that are listed in COMPATIBILITY.md:
NovelAI's `forceActivation` becomes `constant`, and the empty keys that a trailing comma leaves in a
RisuAI key list are dropped (an empty key can match everything).

Source: SillyTavern 1.19.0, public/scripts/world-info.js, importWorldInfo, convertAgnaiMemoryBook,
convertRisuLorebook, convertNovelLorebook.
"""

from collections.abc import Callable
from copy import copy

from tavern_format._entry_spellings import TEMPLATE, UID
from tavern_format._fields import Field, Kind, Misfit
from tavern_format._json_text import JsonObject
from tavern_format._kinds import FLAG, NUMBER, TEXT, js_truthy, number, optional, texts
from tavern_format._structure import Spec
from tavern_format.diagnostics import Report, info, pointer
from tavern_format.world_book import BookSpelling, Entry


def _read_csv(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return csv_keys(value)
    if value is None:
        return ()
    raise Misfit((), "a text of keys separated by commas")


def csv_keys(text: str) -> tuple[str, ...]:
    """Split RisuAI's comma-separated keys, trimmed, without empty ones."""
    return tuple(filter(None, (part.strip() for part in text.split(","))))


_CSV = Kind(frozenset(), _read_csv, ", ".join)
_KEYS = texts(numbers=True)
_INDEX_UID = Field("uid", ("id",), UID, fetch=lambda _, keys: list(keys))

FOREIGN_SPECS: dict[BookSpelling, Spec[Entry]] = {
    BookSpelling.AGNAI: Spec(
        "agnai",
        Entry,
        (
            _INDEX_UID,
            Field("keys", ("keywords",), _KEYS, default=[]),
            Field("comment", ("name",), TEXT, default=""),
            Field("content", ("entry",), TEXT, default=""),
            Field("order", ("weight",), number(0), default=0),
            Field("priority", ("priority",), optional(NUMBER)),
            Field("enabled", ("enabled",), FLAG, default=False),
        ),
    ),
    BookSpelling.RISU: Spec(
        "risu",
        Entry,
        (
            _INDEX_UID,
            Field("keys", ("key",), _CSV, default=""),
            Field("secondary_keys", ("secondkey",), _CSV, default=""),
            Field("comment", ("comment",), TEXT, default=""),
            Field("content", ("content",), TEXT, default=""),
            Field("order", ("insertorder",), number(0), default=0),
            Field("constant", ("alwaysActive",), FLAG, default=False),
            Field("selective", ("selective",), FLAG, default=False),
            Field("probability", ("activationPercent",), optional(NUMBER), default=100),
            Field("use_regex", ("useRegex",), optional(FLAG)),
        ),
    ),
    BookSpelling.NOVEL: Spec(
        "novelai",
        Entry,
        (
            _INDEX_UID,
            Field("keys", ("keys",), _KEYS, default=[]),
            Field("comment", ("displayName",), TEXT, default=""),
            Field("content", ("text",), TEXT, default=""),
            Field("order", ("contextConfig", "budgetPriority"), number(0), default=0),
            Field("constant", ("forceActivation",), FLAG, default=False),
            Field("enabled", ("enabled",), FLAG, default=False),
        ),
    ),
}

_BASE = {**TEMPLATE, "selective": False, "delayUntilRecursion": False}


def foreign_to_file(spelling: BookSpelling, raw: JsonObject, index: int) -> JsonObject:
    """Convert the `index`-th entry; absent values stay absent where SillyTavern leaves them so."""
    given = {key: value for key, value in _CONVERT[spelling](raw).items() if value is not _NOTHING}
    dropped = {key for key, value in _CONVERT[spelling](raw).items() if value is _NOTHING}
    base = {key: copy(value) for key, value in _BASE.items() if key not in dropped}
    return {**base, **given, "uid": index, "displayIndex": index}


_NOTHING = object()


def _agnai(raw: JsonObject) -> JsonObject:
    return {
        "key": raw.get("keywords", _NOTHING),
        "comment": raw.get("name", _NOTHING),
        "content": raw.get("entry", _NOTHING),
        "addMemo": js_truthy(raw.get("name")),
        "order": raw.get("weight", _NOTHING),
        "disable": not js_truthy(raw.get("enabled")),
    }


def _risu(raw: JsonObject) -> JsonObject:
    secondary = raw.get("secondkey")
    percent = raw.get("activationPercent")
    return {
        "key": list(csv_keys(raw["key"])) if isinstance(raw.get("key"), str) else [],
        "keysecondary": list(csv_keys(secondary)) if isinstance(secondary, str) else [],
        "comment": raw.get("comment", _NOTHING),
        "content": raw.get("content", _NOTHING),
        "constant": raw.get("alwaysActive", _NOTHING),
        "selective": raw.get("selective", _NOTHING),
        "addMemo": True,
        "order": raw.get("insertorder", _NOTHING),
        "probability": 100 if percent is None else percent,
        "useProbability": True if percent is None else percent,
    }


def _novel(raw: JsonObject) -> JsonObject:
    config = raw.get("contextConfig")
    priority = config.get("budgetPriority") if isinstance(config, dict) else None
    name = raw.get("displayName")
    return {
        "key": raw.get("keys", _NOTHING),
        "comment": raw.get("displayName", _NOTHING),
        "content": raw.get("text", _NOTHING),
        "constant": js_truthy(raw.get("forceActivation")),
        "addMemo": isinstance(name, str) and bool(name.strip()),
        "order": 0 if priority is None else priority,
        "disable": not js_truthy(raw.get("enabled")),
    }


_CONVERT: dict[BookSpelling, Callable[[JsonObject], JsonObject]] = {
    BookSpelling.AGNAI: _agnai,
    BookSpelling.RISU: _risu,
    BookSpelling.NOVEL: _novel,
}


_CONVERTED: dict[BookSpelling, frozenset[str]] = {
    BookSpelling.AGNAI: frozenset({"keywords", "name", "entry", "weight", "enabled"}),
    BookSpelling.RISU: frozenset(
        {
            "key",
            "secondkey",
            "comment",
            "content",
            "alwaysActive",
            "selective",
            "insertorder",
            "activationPercent",
        }
    ),
    BookSpelling.NOVEL: frozenset(
        {"keys", "displayName", "text", "forceActivation", "enabled", "contextConfig"}
    ),
}
"""What SillyTavern converts, and `forceActivation`."""
_NOT_CONVERTED: dict[BookSpelling, frozenset[str]] = {
    BookSpelling.AGNAI: frozenset({"priority"}),
    BookSpelling.RISU: frozenset({"useRegex", "mode", "bookVersion", "extentions", "folder"}),
    BookSpelling.NOVEL: frozenset(
        {
            "searchRange",
            "keyRelative",
            "nonStoryActivatable",
            "category",
            "loreBiasGroups",
            "lastUpdatedAt",
            "hidden",
        }
    ),
}
"""What else these applications write: names that a message may say, as any other is the file's."""


def remark_conversion(spelling: BookSpelling, raw: JsonObject, path: str, report: Report) -> None:
    """Report what of a foreign entry no converted entry can say."""
    left = raw.keys() - _CONVERTED[spelling]
    if left:
        named = sorted(left & _NOT_CONVERTED[spelling])
        others = len(left) - len(named)
        told = [*named, f"{others} unknown {'key' if others == 1 else 'keys'}"] if others else named
        message = f"not converted: {', '.join(told)}; the original is kept"
        info(report, "CONVERSION_LOSSY", path, message)
    if spelling is BookSpelling.NOVEL and js_truthy(raw.get("forceActivation")):
        message = "became `constant`; SillyTavern drops it"
        info(report, "FORCE_ACTIVATION", pointer(path, "forceActivation"), message)


def detect_foreign(document: JsonObject) -> BookSpelling | None:
    """Recognise a foreign book by the mark SillyTavern looks for; NovelAI's first."""
    if document.get("lorebookVersion") is not None:
        return BookSpelling.NOVEL
    if document.get("kind") == "memory":
        return BookSpelling.AGNAI
    return BookSpelling.RISU if document.get("type") == "risu" else None


def container_key(spelling: BookSpelling) -> str:
    """Name the key that holds the entries."""
    return "data" if spelling is BookSpelling.RISU else "entries"
