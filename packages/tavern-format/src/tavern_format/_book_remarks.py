"""What is allowed in a world book but surprises people."""

from collections import Counter
from collections.abc import Sequence

from tavern_format._json_text import JsonObject
from tavern_format.diagnostics import Report, info, pointer, warn
from tavern_format.world_book import BookSpelling

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
