"""What is said about a scan besides its decisions: one table of features, one function a subject.

Owns codes and wording of the diagnostics. Messages name an entry by its uid and hold no text of it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tavern_format import Diagnostic, Severity
from tavern_matcher.context import ScanContext
from tavern_matcher.keys import Key, KeyKind
from tavern_matcher.scan_entry import ScanEntry
from tavern_matcher.settings import MatchSettings


class Feature(NamedTuple):
    """One row: what SillyTavern does with an entry and this package leaves to others."""

    code: str
    attribute: str
    field: str
    remark: str


_IN_INDEX = (
    Feature(
        "VECTORS_NOT_EXECUTED",
        "vectorized",
        "vectorized",
        "asks for a search by meaning, which is not executed; its keys still count",
    ),
)
_WHEN_FIRED = (
    Feature(
        "AUTOMATION_NOT_EXECUTED",
        "automation_id",
        "automationId",
        "starts an automation in SillyTavern; there is none here",
    ),
)


def index_diagnostics(
    entries: Sequence[ScanEntry], settings: MatchSettings, *, names_repeat: bool
) -> Iterator[Diagnostic]:
    """Name what is odd about settings and entries before any message is seen."""
    if settings.overflow_alert:
        message = "There is nobody here to alert; the budget's decisions say what did not fit."
        yield Diagnostic(
            "SETTING_NOT_EXECUTED", Severity.WARNING, "/settings/overflow_alert", message
        )
    for entry in entries:
        if entry.entry is None:
            yield _unreadable(entry, settings)
        elif entry.enabled:
            if entry.fields.get("vectorized") and not settings.rules.vectors:
                yield from _features(_IN_INDEX, entry)
            if entry.special:
                yield from _key_diagnostics(entry, settings)
    if names_repeat:
        yield from _duplicates(entries, settings)


def _features(features: Sequence[Feature], entry: ScanEntry) -> Iterator[Diagnostic]:
    for feature in features:
        if entry.fields.get(feature.field):
            where = f"{entry.path}/{feature.attribute}"
            message = f"{entry.label} {feature.remark}."
            yield Diagnostic(feature.code, Severity.INFO, where, message)


def _unreadable(entry: ScanEntry, settings: MatchSettings) -> Diagnostic:
    ends = settings.rules.broken_entry_ends_scan and "content" in entry.fields
    remark = "makes SillyTavern use no entry of any book" if ends else "is no entry and never fires"
    return Diagnostic("ENTRY_UNREADABLE", Severity.ERROR, entry.path, f"{entry.label} {remark}.")


_Remark = tuple[str, Severity, str]


def _of_blank(_: Key, settings: MatchSettings) -> _Remark:
    if settings.rules.blank_key_matches:
        remark = "has a key of white space only, which SillyTavern finds in every text"
        return "BLANK_KEY_MATCHES_EVERYTHING", Severity.WARNING, remark
    remark = "has a key of white space only, which is never found; in SillyTavern it always is"
    return "BLANK_KEY_IGNORED", Severity.WARNING, remark


def _of_fault(key: Key, _: MatchSettings) -> _Remark:
    fault = key.fault
    assert fault is not None  # noqa: S101 - the caller looked
    if key.disabled:
        return "REGEX_KEY_DISABLED", Severity.WARNING, "has a regular expression key, which is off"
    if not fault.invalid:
        remark = f"has a regular expression key that cannot be run here: {fault.reason}"
        return "REGEX_KEY_UNTRANSLATABLE", Severity.WARNING, remark
    plain = "" if key.kind is KeyKind.REGEX else ", and is searched as plain text"
    remark = f"has a key that looks like a regular expression and is none: {fault.reason}{plain}"
    return _FAULT_CODES.get(fault.code, "REGEX_KEY_INVALID"), Severity.WARNING, remark


_FAULT_CODES = {
    "REGEX_TOO_LONG": "REGEX_KEY_TOO_LONG",
    "UNKNOWN_FLAGS": "REGEX_KEY_UNKNOWN_FLAGS",
}
"""Where the fault has a code of its own."""


def _key_diagnostics(entry: ScanEntry, settings: MatchSettings) -> Iterator[Diagnostic]:
    groups = (("keys", entry.keys), ("secondary_keys", entry.secondary_keys))
    for attribute, keys in groups:
        for place, key in enumerate(keys):
            tell: Callable[[Key, MatchSettings], _Remark] | None = None
            if key.fault is not None:
                tell = _of_fault
            elif key.kind is KeyKind.BLANK:
                tell = _of_blank
            if tell is not None and (attribute == "keys" or entry.secondary_count):
                code, severity, remark = tell(key, settings)
                path = f"{entry.path}/{attribute}/{place}"
                yield Diagnostic(code, severity, path, f"{entry.label} {remark}.")


def _duplicates(entries: Sequence[ScanEntry], settings: MatchSettings) -> Iterator[Diagnostic]:
    uses = Counter((one.book, str(one.fields.get("uid"))) for one in entries)
    remark = "shares its uid; SillyTavern would keep one, here each is decided"
    if settings.rules.uid_is_identity:
        remark = "shares its uid: of those that are found, SillyTavern keeps one"
    for entry in entries:
        if entry.uid is not None and uses[entry.book, str(entry.uid)] > 1:
            message = f"{entry.label} {remark}."
            yield Diagnostic("ENTRY_UID_REPEATED", Severity.WARNING, f"{entry.path}/uid", message)


def scan_diagnostics(
    entries: Sequence[ScanEntry], context: ScanContext, *, expands: bool, settings: MatchSettings
) -> Iterator[Diagnostic]:
    """Name what a scan could not take into account since it was not told."""
    tags_known = context.character is not None and context.character.tags is not None
    for entry in entries:
        if not expands and settings.rules.expands_keys and _has_macros(entry):
            remark = "has macros in its keys, and nothing to expand them was given"
            message = f"{entry.label} {remark}."
            path = f"{entry.path}/keys"
            yield Diagnostic("KEY_MACRO_NOT_EXPANDED", Severity.WARNING, path, message)
        if not tags_known and settings.rules.character_filters and _wants_tags(entry):
            remark = "is filtered by tags of the character, which are not known: it is let in"
            path = f"{entry.path}/character_filter/tags"
            message = f"{entry.label} {remark}."
            yield Diagnostic("CHARACTER_TAGS_UNKNOWN", Severity.INFO, path, message)


def _has_macros(entry: ScanEntry) -> bool:
    return any(key.dynamic and "{{" in key.written for key in entry.keys)


def _wants_tags(entry: ScanEntry) -> bool:
    return bool(entry.conduct.filter_tags)


def remarks_when_fired(entries: Sequence[ScanEntry]) -> Mapping[int, tuple[Diagnostic, ...]]:
    """Gather, by number, what belongs to an entry once it fires and is not done here."""
    remarked = (
        entry for feature in _WHEN_FIRED for entry in entries if entry.fields.get(feature.field)
    )
    return {entry.number: tuple(_features(_WHEN_FIRED, entry)) for entry in remarked}


def fired_diagnostics(
    fired: Sequence[ScanEntry], remarks: Mapping[int, tuple[Diagnostic, ...]], *, budget: bool
) -> Iterator[Diagnostic]:
    """Name what belongs to entries that fired and is not done here."""
    if remarks:
        for entry in fired:
            yield from remarks.get(entry.number, ())
    if fired and not budget:
        message = (
            "No token budget is applied: the size of the context, or what counts tokens, was not"
            " given. Every entry that fired is in the result."
        )
        yield Diagnostic("BUDGET_NOT_EXECUTED", Severity.INFO, "/settings/budget_percent", message)


def timeout_diagnostics(keys: Sequence[tuple[ScanEntry, str, int]]) -> Iterator[Diagnostic]:
    """Name the keys whose search took too long; each as entry, attribute and place."""
    for entry, attribute, place in keys:
        message = f"{entry.label} has a regular expression key whose search took too long."
        path = f"{entry.path}/{attribute}/{place}"
        yield Diagnostic("REGEX_KEY_TIMEOUT", Severity.WARNING, path, message)


def abort_diagnostic(code: str, reason: str, path: str) -> Diagnostic:
    """Say that SillyTavern's scan ends without a result, and what ends it."""
    message = f"SillyTavern's scan ends here and nothing fires: {reason}."
    return Diagnostic(f"SCAN_ABORTED_{code}", Severity.ERROR, path, message)
