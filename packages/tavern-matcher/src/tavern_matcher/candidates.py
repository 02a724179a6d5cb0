"""Whether one entry is a candidate: SillyTavern's tests in SillyTavern's order.

Owns the gates, the keys and the four logics. Must not know other entries: groups, chance and
budget come after this.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, the candidate tests of checkWorldInfo.
"""

from collections.abc import Callable, Iterable, Mapping

from attrs import define, field, frozen

from tavern_format import SelectiveLogic
from tavern_matcher._js import greater, to_text, truthy
from tavern_matcher.context import ScanContext
from tavern_matcher.decision import Reason, ScanState
from tavern_matcher.errors import ScanAbortedError
from tavern_matcher.haystack import Haystack
from tavern_matcher.keys import Key
from tavern_matcher.reach import View
from tavern_matcher.rules import Rules
from tavern_matcher.scan_entry import (
    ACTIVATE,
    DONT_ACTIVATE,
    EntryReader,
    ScanEntry,
    score_keys,
)
from tavern_matcher.settings import MatchSettings
from tavern_matcher.timed import TimedEffects

Expand = Callable[[str], str]
"""Expands the macros of a text."""

LOGICS: Mapping[SelectiveLogic, Callable[[Iterable[bool]], bool]] = {
    SelectiveLogic.AND_ANY: any,
    SelectiveLogic.NOT_ALL: lambda hits: not all(hits),
    SelectiveLogic.NOT_ANY: lambda hits: not any(hits),
    SelectiveLogic.AND_ALL: all,
}
"""Whether the secondary keys let an entry pass, from which of them were found."""


@frozen
class Stage:
    """What all entries share in one loop."""

    state: ScanState
    level: float | str
    """Recursion delay level that is open."""


@define(eq=False)
class Judge:
    """Judges entries in one scan."""

    settings: MatchSettings
    context: ScanContext
    haystack: Haystack
    timed: TimedEffects
    reader: EntryReader
    expand: Expand | None
    forced: Mapping[str, ScanEntry]
    assumed: frozenset[int] = frozenset()
    """Numbers of entries that pass every test of this module: for `what_if`."""
    rules: Rules = field(init=False)
    _vectors: frozenset[tuple[str, int]] = field(init=False)
    _expanded: dict[tuple[str, bool, bool], Key] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Look up what is looked up often."""
        self.rules = self.settings.rules
        self._vectors = frozenset((one.book, one.index) for one in self.context.vector_matches)

    def closes(self, entry: ScanEntry) -> Reason | None:
        """Give the reason that shuts an entry out of the whole scan, if there is one."""
        if entry.number in self.assumed:
            return None
        if entry.entry is None:
            return Reason.MALFORMED
        return next((reason for reason, closes in _GATES if closes(entry, self)), None)

    def gates_closed(self, entry: ScanEntry) -> list[Reason]:
        """Give every reason that shuts an entry out of the whole scan."""
        return [reason for reason, closes in _GATES if closes(entry, self)]

    def judge(self, entry: ScanEntry, stage: Stage) -> Reason:
        """Say what becomes of an entry that nothing shuts out of the whole scan."""
        if entry.number in self.assumed:
            return Reason.PRIMARY_KEY_MATCH
        early = self._by_recursion(entry, stage) or self.without_keys(entry)
        if early is not None:
            return early
        view = self.haystack.view(entry, stage.state)
        return self.by_keys(entry, view)

    def _by_recursion(self, entry: ScanEntry, stage: Stage) -> Reason | None:
        conduct = entry.conduct
        if not self.rules.loops or self.timed.is_sticky(entry):
            return None
        recursion = stage.state is ScanState.RECURSION
        level = conduct.delay_level
        if level and not (recursion and not greater(level, stage.level)):
            return Reason.WAITS_FOR_RECURSION
        if recursion and self.settings.recursive and conduct.exclude_recursion:
            return Reason.EXCLUDED_FROM_RECURSION
        return None

    def without_keys(self, entry: ScanEntry) -> Reason | None:
        """Give the reason that needs no search, if there is one."""
        for decorator, reason in _DECORATORS:
            if decorator in entry.decorators:
                return reason
        if self.rules.forced_entries and entry.key in self.forced:
            return Reason.FORCED
        if truthy(entry.fields.get("constant")):
            return Reason.CONSTANT
        if self.timed.is_sticky(entry):
            return Reason.STICKY
        if self.rules.vectors and truthy(entry.fields.get("vectorized")):
            given = (entry.book, entry.index) in self._vectors
            return Reason.VECTOR_MATCH if given else Reason.VECTOR_MATCH_REQUIRED
        return None if entry.key_texts else Reason.NO_KEYS

    def by_keys(self, entry: ScanEntry, view: View) -> Reason:
        """Decide by the keys alone."""
        open_fault: Key | None = None
        for written in entry.keys:
            key = self.ready(entry, written)
            found = self.haystack.found(key, view)
            if found:
                break
            if found is None and open_fault is None:
                open_fault = key
        else:
            return self._miss(entry, open_fault, view)
        count = entry.secondary_count
        return self._by_logic(entry, view) if count else Reason.PRIMARY_KEY_MATCH

    def _miss(self, entry: ScanEntry, unasked: Key | None, view: View) -> Reason:
        if unasked is not None:
            return fault_reason(unasked)
        if any(key.fault is not None for key in entry.keys):
            return Reason.REGEX_INVALID
        no_text = self.haystack.is_blind(view) or not any(
            passage.searched for passage in self.haystack.passages(view)
        )
        return Reason.NOTHING_SCANNED if no_text else Reason.PRIMARY_KEY_MISS

    def _by_logic(self, entry: ScanEntry, view: View) -> Reason:
        """Join the secondary keys; what could not be asked matters only where it would decide."""
        logic = entry.conduct.logic
        if logic < 0:
            return Reason.SECONDARY_KEYS_MISS
        holds = LOGICS[SelectiveLogic(logic)]
        keys = [self.ready(entry, written) for written in entry.secondary_keys]
        hits = [self.haystack.found(key, view) for key in keys]
        low, high = (
            holds([unknown if hit is None else hit for hit in hits]) for unknown in (False, True)
        )
        if low != high:
            return fault_reason(keys[hits.index(None)])
        return Reason.SECONDARY_KEYS_MATCH if low else Reason.SECONDARY_KEYS_MISS

    def ready(self, entry: ScanEntry, written: Key) -> Key:
        """Give a key with its macros expanded."""
        if self.expand is None or not written.dynamic:
            return written
        spelling = (written.written, entry.case_sensitive, entry.whole_words)
        key = self._expanded.get(spelling)
        if key is None:
            text = self.expand(written.written)
            key = written if text == written.written else self.reader.read_expanded(entry, text)
            self._expanded[spelling] = key
        return key

    def score(self, entry: ScanEntry, state: ScanState) -> int:
        """Count the keys that are found, as inclusion groups compare them."""
        view = self.haystack.view(entry, state)
        primary = self._found_keys(entry, "key", view)
        secondary = self._found_keys(entry, "keysecondary", view)
        if not primary:
            return 0
        logic = entry.conduct.score_logic
        counts = not self.rules.scores_raw_keys and not entry.conduct.selective
        if logic == SelectiveLogic.AND_ANY and not counts:
            return sum(primary) + sum(secondary)
        if logic == SelectiveLogic.AND_ALL and secondary and all(secondary) and not counts:
            return sum(primary) + sum(secondary)
        return sum(primary)

    def _found_keys(self, entry: ScanEntry, name: str, view: View) -> list[bool]:
        if not self.rules.scores_raw_keys:
            keys = entry.keys if name == "key" else entry.secondary_keys
            return [bool(self.haystack.found(self.ready(entry, key), view)) for key in keys]
        return [self._found_raw(entry, key, view) for key in score_keys(entry, name)]

    def _found_raw(self, entry: ScanEntry, written: object, view: View) -> bool:
        if not isinstance(written, str):
            message = f"{entry.label} is in a scored group and has a key that is no text"
            raise ScanAbortedError("SCORED_KEY_NOT_TEXT", message, f"{entry.path}/keys")
        key = self.reader.read_raw(entry, written)
        return bool(self.haystack.found(key, view))


def fault_reason(key: Key) -> Reason:
    """Say why a pattern gave no answer."""
    if key.fault is None:
        return Reason.REGEX_TIMEOUT
    if key.disabled:
        return Reason.REGEX_DISABLED
    return Reason.REGEX_INVALID if key.fault.invalid else Reason.REGEX_UNTRANSLATABLE


def _is_filtered(entry: ScanEntry, judge: Judge) -> bool:
    """Names and tags must both let the character in; unknown tags do not count."""
    conduct = entry.conduct
    if not judge.rules.character_filters:
        return False
    who = judge.context.character
    names = conduct.filter_names
    if len(names):
        # Without a character the name is `null`, which an odd filter can hold.
        name = None if who is None else who.avatar_name
        named = (to_text(name) if isinstance(names, str) else name) in names
        if named is conduct.filter_excludes:
            return True
    tags = None if who is None else who.tags
    if tags is None or not len(conduct.filter_tags):
        return False
    return any(tag in conduct.filter_tags for tag in tags) is conduct.filter_excludes


def _is_wrong_trigger(entry: ScanEntry, judge: Judge) -> bool:
    triggers = entry.conduct.triggers
    return judge.rules.triggers and bool(triggers) and judge.context.trigger not in triggers


def _is_pausing(entry: ScanEntry, judge: Judge) -> bool:
    return judge.timed.is_cooling(entry) and not judge.timed.is_sticky(entry)


_GATES: tuple[tuple[Reason, Callable[[ScanEntry, Judge], bool]], ...] = (
    (Reason.DISABLED, lambda entry, _: not entry.enabled),
    (Reason.TRIGGER_MISMATCH, _is_wrong_trigger),
    (Reason.CHARACTER_FILTERED, _is_filtered),
    (
        Reason.DELAYED,
        lambda entry, judge: judge.rules.timed_effects and judge.timed.is_delayed(entry),
    ),
    (Reason.COOLDOWN, _is_pausing),
)
"""Reasons that shut an entry out of the whole scan; the first one counts."""

_DECORATORS = (
    (ACTIVATE, Reason.DECORATOR_ACTIVATE),
    (DONT_ACTIVATE, Reason.DECORATOR_DONT_ACTIVATE),
)
"""Lines that act, if they are exactly this; of both, the first acts."""
