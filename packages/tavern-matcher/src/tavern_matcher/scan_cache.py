"""What texts were found to hold, kept so that a text is searched once, however many scans see it.

Owns the two values and the bound of the cache. Must not know how texts are searched.
"""

from typing import NamedTuple

from attrs import define, field


class TextHits(NamedTuple):
    """What a text holds: numbers of needles, in ascending order."""

    found: tuple[int, ...] = ()
    """Anywhere in the text."""
    words: tuple[int, ...] = ()
    """Those of them that stand there as whole words; only of needles that some key wants so."""


NO_HITS = TextHits()


@define(eq=False)
class ScanCache:
    """Keeps what texts were found to hold. With or without it the results are the same.

    Bounded by the number of texts and by their length in all; the oldest ones leave first. Several
    indexes and several threads may share one.
    """

    max_texts: int = 8192
    max_chars: int = 16 * 1024 * 1024
    """Code points."""
    _hits: dict[tuple[object, str], TextHits] = field(factory=dict, init=False, repr=False)
    _chars: int = field(default=0, init=False)

    def __len__(self) -> int:
        return len(self._hits)

    @property
    def size_chars(self) -> int:
        """Code points of all texts that are kept."""
        return self._chars

    def clear(self) -> None:
        """Forget everything."""
        self._hits.clear()
        self._chars = 0

    def get(self, search: object, text: str) -> TextHits | None:
        """Give what a text holds, if it is known; `search` is what looked for it."""
        return self._hits.get((search, text))

    def put(self, search: object, text: str, hits: TextHits) -> None:
        """Keep what a text holds."""
        if len(text) > self.max_chars:
            return
        self._hits[search, text] = hits
        self._chars += len(text)
        if len(self._hits) > self.max_texts or self._chars > self.max_chars:
            self._make_room()

    def _make_room(self) -> None:
        """Drop the oldest texts, a quarter at once: dropping one by one would cost at each text."""
        texts, chars = self.max_texts * 3 // 4, self.max_chars * 3 // 4
        for oldest in list(self._hits):
            if len(self._hits) <= texts and self._chars <= chars:
                return
            # Two threads may drop the same text.
            if self._hits.pop(oldest, None) is not None:
                self._chars -= len(oldest[1])
