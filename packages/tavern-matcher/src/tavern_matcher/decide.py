"""The decision about one entry: SillyTavern's tests in SillyTavern's order.

Owns the gates, the keys and the four logics. Must not know other entries: groups and budget come
after this.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, the candidate tests of checkWorldInfo.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs
from attrs import frozen

from tavern_format import CharacterFilter, Entry, SelectiveLogic
from tavern_matcher.context import ScanCharacter, ScanContext
from tavern_matcher.decision import Decision, KeyMatch, Reason
from tavern_matcher.index import IndexedEntry
from tavern_matcher.keys import Key, KeyKind
from tavern_matcher.scan_text import NO_TEXT, Passage, ScanText

Expand = Callable[[str], str]
"""Expands the macros of a text."""


@frozen
class Scan:
    """What all entries of one scan share."""

    context: ScanContext
    text: ScanText
    expand: Expand | None = None


@frozen
class _Side:
    """The primary or the secondary keys of an entry after the search."""

    found: tuple[KeyMatch, ...]
    hits: tuple[bool | None, ...]
    """One per key; None: a regular expression, whose hit nobody knows."""


def decide(indexed: IndexedEntry, scan: Scan) -> Decision:
    """Decide about one entry."""
    entry = indexed.entry
    depth = scan.text.depth_of(entry)
    decision = Decision(
        entry=indexed.identity,
        title=indexed.title,
        reason=Reason.PRIMARY_KEY_MISS,
        keys=entry.keys,
        secondary_keys=entry.secondary_keys if indexed.secondary_keys else (),
        logic=entry.selective_logic if indexed.secondary_keys else None,
        scan_depth_messages=depth,
        scanned_messages=min(depth, len(scan.context.messages)),
        facts=_facts(entry, scan.context),
    )
    early = _without_keys(indexed, scan.context)
    if early is not None:
        return _settle(decision, entry, early)
    passages = scan.text.passages(entry)
    return _settle(decision, entry, *_by_keys(indexed, passages, scan))


def _settle(
    decision: Decision, entry: Entry, reason: Reason, matches: Sequence[KeyMatch] = ()
) -> Decision:
    """Write the reason down; who would fire with a chance of nothing does not fire."""
    if reason.fires and entry.use_probability and not (entry.probability or 0) > 0:
        reason = Reason.PROBABILITY_ZERO
    return attrs.evolve(decision, reason=reason, matches=tuple(matches))


def _without_keys(indexed: IndexedEntry, context: ScanContext) -> Reason | None:
    """Give the reason that needs no search, if there is one."""
    entry = indexed.entry
    for reason, closes in _GATES:
        if closes(entry, context):
            return reason
    for decorator, reason in _DECORATORS:
        if decorator in indexed.decorators:
            return reason
    if entry.constant:
        return Reason.CONSTANT
    return None if indexed.keys else Reason.NO_KEYS


def _by_keys(
    indexed: IndexedEntry, passages: Sequence[Passage], scan: Scan
) -> tuple[Reason, tuple[KeyMatch, ...]]:
    primary = _search(indexed, indexed.keys, passages, scan, secondary=False)
    if not primary.found:
        if None in primary.hits:
            return Reason.REGEX_KEYS_NOT_EXECUTED, ()
        return (Reason.PRIMARY_KEY_MISS if passages else Reason.NOTHING_SCANNED), ()
    if not indexed.secondary_keys:
        return Reason.PRIMARY_KEY_MATCH, primary.found
    secondary = _search(indexed, indexed.secondary_keys, passages, scan, secondary=True)
    reason = _by_logic(indexed.entry.selective_logic, secondary.hits)
    return reason, primary.found + secondary.found


def _by_logic(logic: SelectiveLogic, hits: Sequence[bool | None]) -> Reason:
    """Join the secondary keys; a regular expression leaves it open only where it would decide."""
    holds = LOGICS[logic]
    low, high = (
        holds([unknown if hit is None else hit for hit in hits]) for unknown in (False, True)
    )
    if low != high:
        return Reason.REGEX_KEYS_NOT_EXECUTED
    return Reason.SECONDARY_KEYS_MATCH if low else Reason.SECONDARY_KEYS_MISS


LOGICS: Mapping[SelectiveLogic, Callable[[Iterable[bool]], bool]] = {
    SelectiveLogic.AND_ANY: any,
    SelectiveLogic.NOT_ALL: lambda hits: not all(hits),
    SelectiveLogic.NOT_ANY: lambda hits: not any(hits),
    SelectiveLogic.AND_ALL: all,
}
"""Whether the secondary keys let an entry pass, from which of them were found."""


def _search(
    indexed: IndexedEntry,
    keys: Sequence[Key],
    passages: Sequence[Passage],
    scan: Scan,
    *,
    secondary: bool,
) -> _Side:
    ready = [_expanded(indexed, key, scan.expand) for key in keys]
    matches = [
        None if _is_dead(key, scan.text) else _first(key, passages, secondary=secondary)
        for key in ready
    ]
    hits = (
        None if key.kind is KeyKind.REGEX and passages else match is not None
        for key, match in zip(ready, matches, strict=True)
    )
    return _Side(tuple(match for match in matches if match is not None), tuple(hits))


def _expanded(indexed: IndexedEntry, key: Key, expand: Expand | None) -> Key:
    if expand is None or "{{" not in key.written:
        return key
    return indexed.read_key(key.written, expand(key.written))


def _is_dead(key: Key, text: ScanText) -> bool:
    """Whether a key matches nothing, whatever the text."""
    if key.kind is KeyKind.BLANK:
        return not text.settings.rules.blank_key_matches
    return key.kind in (KeyKind.NEVER, KeyKind.REGEX)


def _first(key: Key, passages: Sequence[Passage], *, secondary: bool) -> KeyMatch | None:
    if key.kind is KeyKind.BLANK:
        passages = passages or (NO_TEXT,)
    found = (passage.find(key, secondary=secondary) for passage in passages)
    return next((match for match in found if match is not None), None)


def _filtered(entry: Entry, context: ScanContext) -> bool:
    found = entry.character_filter
    return found is not None and not _admits(found, context.character)


def _admits(found: CharacterFilter, character: ScanCharacter | None) -> bool:
    """Names and tags must both let the character in; unknown tags do not count."""
    who = character or ScanCharacter()
    named = not found.names or (who.avatar_name in found.names) is not found.is_exclude
    if not found.tags or who.tags is None:
        return named
    tagged = any(tag in found.tags for tag in who.tags)
    return named and tagged is not found.is_exclude


def _facts(entry: Entry, context: ScanContext) -> tuple[str, ...]:
    """Keep what `explain` says about the gates."""
    if entry.triggers and context.trigger not in entry.triggers:
        return (context.trigger, *entry.triggers)
    if _is_delayed(entry, context):
        return (_shown(entry.delay or 0), str(len(context.messages)))
    return ()


def _shown(number: float) -> str:
    """Write a number for people; one of a file may be too large for any format."""
    return f"{number:g}" if abs(number) < _LARGE else "very many"


def _is_delayed(entry: Entry, context: ScanContext) -> bool:
    return len(context.messages) < (entry.delay or 0)


_GATES: tuple[tuple[Reason, Callable[[Entry, ScanContext], bool]], ...] = (
    (Reason.DISABLED, lambda entry, _: not entry.enabled),
    (
        Reason.TRIGGER_MISMATCH,
        lambda entry, context: bool(entry.triggers) and context.trigger not in entry.triggers,
    ),
    (Reason.CHARACTER_FILTERED, _filtered),
    (Reason.DELAYED, _is_delayed),
    (Reason.WAITS_FOR_RECURSION, lambda entry, _: bool(entry.delay_until_recursion)),
)
"""Reasons that shut an entry out before its keys are looked at; the first one counts."""

_LARGE = 10**15
_DECORATORS = (
    ("@@activate", Reason.DECORATOR_ACTIVATE),
    ("@@dont_activate", Reason.DECORATOR_DONT_ACTIVATE),
)
"""Lines that act, if they are exactly this; of both, the first acts."""
