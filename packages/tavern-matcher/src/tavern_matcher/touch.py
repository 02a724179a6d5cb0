"""Which entries a scan has to look at: the others have no key in any text and cost nothing.

Owns the set of entries that may become candidates, and which of them have to be judged anew when
the scan goes on. Must not know what judging is. Works on whole sets of numbers, since a large book
can have a thousand entries that fire at once.
"""

from collections.abc import Callable, Iterable

from attrs import define, field

from tavern_matcher.decision import Reason
from tavern_matcher.haystack import Haystack
from tavern_matcher.index import Index
from tavern_matcher.key_table import Postings
from tavern_matcher.scan_cache import TextHits
from tavern_matcher.scan_entry import ScanEntry


@define(eq=False)
class Watch:
    """The entries of one scan that are worth a look."""

    index: Index
    haystack: Haystack
    closes: Callable[[ScanEntry], Reason | None]
    gated: set[int]
    """Entries that something besides their keys may shut out."""
    open: set[int] = field(factory=set)
    """Touched, and neither decided for good nor shut out."""
    closed: dict[int, Reason] = field(factory=dict)
    """Touched, and shut out of the whole scan."""
    fresh: set[int] = field(factory=set)
    """Open ones that have not been judged since something about them changed."""
    hit: set[int] = field(factory=set)
    """Those of which a primary key is known to be found, in a message or injected text."""

    def start(self, called: Iterable[int] = ()) -> None:
        """Look at all texts there are; entries that were `called` are looked at in any case."""
        index, haystack = self.index, self.haystack
        haystack.reach(max(haystack.depth, index.max_own_depth))
        self._add({*index.survey.always, *called})
        for words, postings in ((False, index.table.primary), (True, index.table.primary_words)):
            self.hit |= self._in_messages(postings, words=words)
            injected = set(postings.touched(haystack.injected_hits(words=words)))
            self.hit |= {one for one in injected if self._sees(one)}
            self._add(injected)
            for name, numbers in haystack.source_hits(words=words).items():
                self._add({one for one in postings.touched(numbers) if self._opens(one, name)})
        self._add(self.hit)
        self._add(self._in_messages(index.table.literals, words=False))
        others = (haystack.injected_hits(words=False), *haystack.source_hits(words=False).values())
        self._add({one for hits in others for one in index.table.literals.touched(hits)})

    def _sees(self, number: int) -> bool:
        own = self.index.survey.own_depths.get(number)
        return (self.haystack.depth if own is None else own) > 0

    def _opens(self, number: int, source: str) -> bool:
        return source in self.index.entries[number].sources

    def _in_messages(self, postings: Postings, *, words: bool) -> set[int]:
        """Give who has a needle no further back than it sees."""
        own_depths = self.index.survey.own_depths
        depth = self.haystack.depth
        places = self.haystack.places(words=words)
        near = set(postings.touched(one for one, place in places.items() if place < depth))
        if not own_depths:
            return near
        near.difference_update(own_depths)
        for number, place in places.items():
            for entry in postings.of(number):
                own = own_depths.get(entry)
                if own is not None and place + 1 <= own:
                    near.add(entry)
        return near

    def widen(self) -> None:
        """Look at one more message."""
        self.haystack.skew += 1
        self.haystack.reach(self.haystack.depth)
        place = self.haystack.depth - 1
        if place < len(self.haystack.message_hits):
            hits = self.haystack.first_hits(place)
            self._add_hits(hits)
            self._renew_by(hits)

    def add_block(self, parts: list[tuple[str, str]]) -> None:
        """Look at the contents of entries that fired."""
        hits = self.haystack.add_block(parts)
        self._add_hits(hits)
        self._renew_by(hits)

    def _renew_by(self, hits: TextHits) -> None:
        """Judge anew whose keys are in a text that is searched from now on."""
        if not self.open:
            return
        table = self.index.table
        roles = (table.primary, table.primary_words, table.literals, table.secondary)
        # A needle that was found before may stand here as a word for the first time.
        needles = {*hits.found, *hits.words}
        for postings in roles:
            self.renew(postings.touched(needles))
        self.renew(self.index.survey.volatile)

    def renew(self, numbers: Iterable[int]) -> None:
        """Judge open entries anew."""
        self.fresh |= self.open.intersection(numbers)

    def _add_hits(self, hits: TextHits) -> None:
        table = self.index.table
        new = set(table.primary.touched(hits.found))
        new.update(table.primary_words.touched(hits.words))
        new.update(table.literals.touched(hits.found))
        self._add(new)

    def _add(self, numbers: set[int]) -> None:
        new = numbers - self.open
        new.difference_update(self.closed)
        gated = new & self.gated
        for number in gated:
            reason = self.closes(self.index.entries[number])
            if reason is not None:
                self.closed[number] = reason
                new.discard(number)
        self.open |= new
        self.fresh |= new

    def settle(self, numbers: Iterable[int]) -> None:
        """Leave entries alone from now on: what became of them is known."""
        numbers = set(numbers) & self.open
        self.open -= numbers
        self.fresh -= numbers
        self.closed.update(dict.fromkeys(numbers, Reason.REPLACED))

    def all_fresh(self) -> None:
        """Judge every open entry anew: what the loop is for has changed."""
        self.fresh |= self.open

    def take_fresh(self) -> set[int]:
        """Give who has to be judged."""
        fresh = self.fresh & self.open
        self.fresh.clear()
        return fresh
