"""What a running scan can see, and whether a key is found in the part of it that an entry sees.

Owns the tables that answer for every plain key at once (how far back a needle first occurs), and
the joined text that patterns see. Must not know groups, chance or budget.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, WorldInfoBuffer.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs
from attrs import define, field

from tavern_matcher.bounded_regex import BoundedPattern
from tavern_matcher.decision import PlaceKind, ScanState
from tavern_matcher.joined_text import JoinedText, Piece, join_texts
from tavern_matcher.key_table import KeyTable
from tavern_matcher.keys import Key, KeyKind
from tavern_matcher.pattern_runs import PatternRuns
from tavern_matcher.reach import Reach, View
from tavern_matcher.rules import MarkRule, Rules
from tavern_matcher.scan_cache import ScanCache, TextHits
from tavern_matcher.scan_entry import ScanEntry
from tavern_matcher.scan_text import ContextTexts, Passage, block_passages
from tavern_matcher.settings import MatchSettings


@define(eq=False)
class Haystack:
    """All texts of one scan; blocks of recursion are added as it goes on."""

    settings: MatchSettings
    table: KeyTable
    texts: ContextTexts
    cache: ScanCache | None
    rules: Rules = field(init=False)
    skew: int = 0
    """Messages by which minimum activations widened the search."""
    blocks: list[Piece] = field(factory=list)
    _block_texts: list[Passage] = field(factory=list)
    _anywhere: Reach = field(factory=Reach)
    _as_words: Reach = field(factory=Reach)
    message_hits: list[TextHits] = field(factory=list)
    """What the messages hold that were searched so far, newest first."""
    _joined: dict[tuple[View, bool], JoinedText] = field(factory=dict)
    _loose: dict[tuple[Key, View], bool] = field(factory=dict)
    patterns: PatternRuns = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Look at everything but the messages."""
        self.rules = self.settings.rules
        self.patterns = PatternRuns(self.settings.regex_limits.match_s)
        sources = self.texts.sources
        for name, hits in zip(sources, self.hits(tuple(sources.values())), strict=True):
            self._anywhere.sources[name] = frozenset(hits.found)
            self._as_words.sources[name] = frozenset(hits.words)
        injected = self.hits(self.texts.injected)
        self._anywhere.injected = frozenset(_all(hits.found for hits in injected))
        self._as_words.injected = frozenset(_all(hits.words for hits in injected))

    @property
    def depth(self) -> int:
        """Messages that an entry without a depth of its own sees."""
        return self.settings.scan_depth_messages + self.skew

    def hits(self, passages: Sequence[Passage]) -> list[TextHits]:
        """Give what each text holds."""
        return self.table.search.hits([one.searched for one in passages], self.cache)

    def reach(self, depth: float) -> None:
        """Search the messages up to a depth, as far as that was not done yet."""
        wanted = math.ceil(min(depth, len(self.texts.messages)))
        reached = len(self.message_hits)
        if reached < wanted:
            fresh = self.hits(self.texts.messages[reached:wanted])
            self.message_hits += fresh
            self._anywhere.add(reached, [hits.found for hits in fresh])
            self._as_words.add(reached, [hits.words for hits in fresh])

    def places(self, *, words: bool) -> Mapping[int, int]:
        """Give each needle that was found in the messages, and how far back."""
        return (self._as_words if words else self._anywhere).depth

    def first_hits(self, place: int) -> TextHits:
        """Give what a message holds that no newer one does."""
        hits, anywhere, as_words = self.message_hits[place], self._anywhere, self._as_words
        return TextHits(
            tuple(one for one in hits.found if anywhere.depth[one] == place),
            tuple(one for one in hits.words if as_words.depth[one] == place),
        )

    def source_hits(self, *, words: bool) -> Mapping[str, frozenset[int]]:
        """Give the needles that each source holds."""
        return (self._as_words if words else self._anywhere).sources

    def injected_hits(self, *, words: bool) -> frozenset[int]:
        """Give the needles that the injected texts hold."""
        return (self._as_words if words else self._anywhere).injected

    def add_block(self, parts: Sequence[tuple[str, str]]) -> TextHits:
        """Add the contents of one loop, each with its entry's name; gives what they hold."""
        text, placed = block_passages(parts)
        self.blocks.append((text, placed))
        self._block_texts.append(Passage("", PlaceKind.ENTRY, text, text))
        (hits,) = self.hits(self._block_texts[-1:])
        self._anywhere.blocks.update(hits.found)
        self._as_words.blocks.update(hits.words)
        return hits

    def view(self, entry: ScanEntry, state: ScanState) -> View:
        """Say what an entry sees now."""
        return self.view_at(entry, state, self.skew, len(self.blocks))

    def view_at(self, entry: ScanEntry, state: ScanState, skew: int, blocks: int) -> View:
        """Say what an entry saw in some loop of the scan."""
        own = entry.own_depth
        depth = self.settings.scan_depth_messages + skew if own is None else own
        with_blocks = blocks > 0 and state is not ScanState.MIN_ACTIVATIONS
        return View(
            min(depth, self.rules.max_messages) if depth > 0 else max(depth, 0),
            entry.sources if self.rules.further_texts else (),
            with_blocks,
            blocks if with_blocks else 0,
        )

    def is_blind(self, view: View) -> bool:
        """Whether nothing at all is searched: a depth of 0 closes everything else, too."""
        return view.depth <= 0

    def found(self, key: Key, view: View) -> bool | None:
        """Whether a key is found; None where a pattern could not be asked."""
        if key.kind is KeyKind.BLANK:
            return self.rules.blank_key_matches
        if key.kind is KeyKind.NEVER:
            return False
        if key.kind is KeyKind.REGEX:
            return self._found_regex(key, view)
        if self.is_blind(view):
            return False
        if not key.joined:
            number = self.table.number(key)
            if number is not None and not (key.whole_word and not self.table.knows_words(number)):
                return (self._as_words if key.whole_word else self._anywhere).sees(number, view)
        return self._found_loose(key, view)

    def _found_loose(self, key: Key, view: View) -> bool:
        """Look for a plain key that the table does not know: expanded, or reaching over texts."""
        asked = (key, view)
        known = self._loose.get(asked)
        if known is None:
            if key.joined:
                known = self.joined(view, marked=True).holds(key)
            else:
                known = any(passage.holds(key) for passage in self._texts(view))
            self._loose[asked] = known
        return known

    def _found_regex(self, key: Key, view: View) -> bool | None:
        if key.pattern is None:
            return None
        if key.needle and not self._may_match(key, view):
            return False
        joined = self.joined(view, marked=self._sees_marks(key.pattern))
        return self.patterns.matches(key.pattern, joined)

    def _may_match(self, key: Key, view: View) -> bool:
        number = self.table.folded.get(key.needle)
        if number is None:
            return True
        return not self.is_blind(view) and self._anywhere.sees(number, view)

    def _sees_marks(self, pattern: BoundedPattern) -> bool:
        if self.rules.marks is MarkRule.WHEN_NAMED:
            source = pattern.source.pattern.lower()
            return any(name in source for name in ("\x01", "\\x01", "\\u0001", "\\ca", "\\u{1}"))
        return self.rules.marks is MarkRule.ALWAYS

    def regex_span(self, key: Key, view: View) -> tuple[JoinedText, tuple[int, int]] | None:
        """Give where a pattern matched, if it was run on this text; it is not run again."""
        if key.pattern is None:
            return None
        joined = self.joined(view, marked=self._sees_marks(key.pattern))
        span = self.patterns.span(key.pattern, joined)
        return None if span is None else (joined, span)

    def passages(self, view: View) -> Iterator[Passage]:
        """List what is searched, newest message first."""
        if self.is_blind(view):
            return
        yield from self.texts.messages[: view.slots]
        for name in view.sources:
            if name in self.texts.sources:
                yield self.texts.sources[name]
        yield from self.texts.injected
        for _, placed in self.blocks[: view.blocks]:
            yield from (passage for _, passage in placed)

    def _texts(self, view: View) -> Iterator[Passage]:
        """The same, with each block of recursion as the one text that it is."""
        yield from self.passages(attrs.evolve(view, blocks=0))
        for number in range(view.blocks):
            yield self._block_texts[number]

    def joined(self, view: View, *, marked: bool) -> JoinedText:
        """Give all that is searched as one text."""
        asked = (view, marked)
        if asked not in self._joined:
            self._joined[asked] = self._join(view, marked=marked)
        return self._joined[asked]

    def _join(self, view: View, *, marked: bool) -> JoinedText:
        if self.is_blind(view):
            return JoinedText("")
        slots = self.texts.messages[: view.slots]
        if self.rules.oldest_first:
            slots = slots[::-1]
        further = [self.texts.sources[name] for name in view.sources if name in self.texts.sources]
        return join_texts(
            [_piece(passage) for passage in slots],
            [
                *(_piece(passage) for passage in (*further, *self.texts.injected)),
                *self.blocks[: view.blocks],
            ],
            marked=marked,
        )


def _piece(passage: Passage) -> Piece:
    return passage.searched, ((0, passage),)


def _all(groups: Iterable[Iterable[int]]) -> Iterator[int]:
    return (number for group in groups for number in group)
