"""What is allowed in a world book but surprises people."""

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

import attrs

from tavern_format._foreign_books import FOREIGN_SPECS
from tavern_format._json_text import JsonObject
from tavern_format.diagnostics import Report, info, pointer, warn
from tavern_format.world_book import BookSpelling, Entry

_UNMAPPED = {
    "excludeRecursion",
    "preventRecursion",
    "delayUntilRecursion",
    "displayIndex",
    "groupOverride",
    "groupWeight",
    "scanDepth",
    "caseSensitive",
    "matchWholeWords",
    "useGroupScoring",
    "automationId",
    "outletName",
    "ignoreBudget",
}
"""Spellings that other tools write into `extensions` and SillyTavern does not read."""


def remark_entries(
    objects: Sequence[JsonObject],
    keys: Sequence[str | int],
    spelling: BookSpelling,
    path: str,
    report: Report,
) -> None:
    """Report entries without keys, repeated ids, and what SillyTavern reads otherwise.

    `path` is the pointer of the container, `keys` the key or index of each object in it. For the
    two spellings of SillyTavern only.
    """
    is_file = spelling is BookSpelling.WORLD_INFO
    key_name, uid_name = ("key", "uid") if is_file else ("keys", "id")
    for at, raw in enumerate(objects):
        if key_name not in raw:
            message = f"no `{key_name}`: only a constant entry can fire without keys"
            info(report, "KEYS_MISSING", pointer(path, keys[at]), message)
    _remark_repeated([raw.get(uid_name) for raw in objects], keys, path, report)
    if is_file:
        return
    for at, raw in enumerate(objects):
        if "enabled" not in raw:
            message = "no `enabled`: SillyTavern imports the entry switched off"
            warn(report, "ENABLED_MISSING", pointer(path, keys[at]), message)
        extensions = raw.get("extensions")
        if isinstance(extensions, dict) and not _UNMAPPED.isdisjoint(extensions):
            for name in sorted(_UNMAPPED.intersection(extensions)):
                message = "SillyTavern does not read this spelling"
                place = pointer(path, keys[at], "extensions", name)
                info(report, "EXTENSION_UNMAPPED", place, message)


def _remark_repeated(
    uids: Sequence[object], keys: Sequence[str | int], path: str, report: Report
) -> None:
    texts = [uid if isinstance(uid, str) else repr(uid) for uid in uids if uid is not None]
    if len(set(texts)) == len(texts):
        return
    counts = Counter(texts)
    seen: set[str] = set()
    for at, uid in enumerate(uids):
        text = uid if isinstance(uid, str) else repr(uid)
        if uid is not None and counts[text] > 1 and text in seen:
            message = "another entry has the same id; SillyTavern confuses the two"
            warn(report, "UID_REPEATED", pointer(path, keys[at]), message)
        seen.add(text)


_SILENT = {
    "uid",
    "comment",
    "add_memo",
    "display_index",
    "extensions",
    "name",
    "priority",
    "use_regex",
    "origin",
}
"""Attributes that change nothing of what the model gets to see."""
_IDLE = {
    "selective": ("secondary_keys", ()),
    "selective_logic": ("secondary_keys", ()),
    "use_probability": ("probability", 100),
    "group_override": ("group", ""),
    "group_weight": ("group", ""),
    "use_group_scoring": ("group", ""),
}
"""Attributes that say nothing as long as another one has this value."""
_TELLING = tuple(found.name for found in attrs.fields(Entry) if found.name not in _SILENT)


def remark_changes(
    before: Sequence[Entry],
    after: Sequence[Entry],
    spelling: BookSpelling,
    path: str,
    report: Report,
) -> None:
    """Report, once per entry, the attributes a conversion has changed: CONVERSION_CHANGED.

    `path` is the pointer of the container of `before`, which has the spelling. Of a foreign book
    only what its spelling can say, and whether the probability counts.
    """
    names = _telling(spelling)
    values = attrgetter(*names)
    for at, (old, new) in enumerate(zip(before, after, strict=True)):
        if values(old) == values(new):
            continue
        changed = [name for name in names if _has_changed(name, old, new)]
        if not changed:
            continue
        own = old.origin is not None and old.origin.spec.name == spelling
        place = pointer(path, old.origin.key if own and old.origin is not None else at)
        message = f"SillyTavern's conversion changes: {', '.join(changed)}"
        info(report, "CONVERSION_CHANGED", place, message)


def _has_changed(name: str, old: Entry, new: Entry) -> bool:
    if getattr(old, name) == getattr(new, name):
        return False
    if name not in _IDLE:
        return True
    ruler, idle = _IDLE[name]
    return any(getattr(entry, ruler) != idle for entry in (old, new))


def _telling(spelling: BookSpelling) -> tuple[str, ...]:
    if spelling not in FOREIGN_SPECS:
        return _TELLING
    known = {row.attribute for row in FOREIGN_SPECS[spelling].fields} | {"use_probability"}
    return tuple(name for name in _TELLING if name in known)
