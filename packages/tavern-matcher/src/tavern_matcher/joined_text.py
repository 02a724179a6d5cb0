"""All texts of a scan as one: what patterns see, and keys that reach over two texts.

Owns the joining, the form a pattern wants, and the way back from a place in the joined text to a
place in the text a person knows. Must not know which texts an entry sees.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, WorldInfoBuffer.get.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from attrs import define, field

from tavern_format import SubjectForm, to_subject
from tavern_matcher._text import utf16_length
from tavern_matcher.bounded_regex import plain_offset
from tavern_matcher.decision import KeyMatch, PlaceKind
from tavern_matcher.keys import MARK, Key
from tavern_matcher.scan_text import Passage

Piece = tuple[str, Sequence[tuple[int, Passage]]]
"""A text, and where in it each passage begins."""


@define(eq=False)
class JoinedText:
    """One text made of many."""

    text: str = field(repr=False)
    _pieces: Sequence[Piece] = field(default=(), repr=False)
    _mark_chars: int = 0
    _parts: Sequence[tuple[int, Passage]] | None = field(default=None, init=False, repr=False)
    _subjects: dict[str, str] = field(factory=dict, repr=False)

    @property
    def parts(self) -> Sequence[tuple[int, Passage]]:
        """Where each passage begins; few texts are asked, and recursion joins very many."""
        if self._parts is None:
            self._parts = list(_places(self._pieces, self._mark_chars))
        return self._parts

    def subject(self, form: SubjectForm) -> str:
        """Give the text in the form a pattern wants."""
        if form not in self._subjects:
            self._subjects[form] = to_subject(self.text, form)
        return self._subjects[form]

    def holds(self, key: Key) -> bool:
        """Whether a plain key is found, by UTF-16 units."""
        return self._place(key) >= 0

    def _place(self, key: Key) -> int:
        name = "exact" if key.case_sensitive else "folded"
        if name not in self._subjects:
            text = self.text if key.case_sensitive else self.text.lower()
            self._subjects[name] = to_subject(text, "utf16")
        return key.find_in_utf16(self._subjects[name])

    def describe(self, key: Key, span: tuple[int, int], *, secondary: bool) -> KeyMatch:
        """Describe the match of a pattern, given as a range of its subject."""
        form = "utf16" if key.pattern is None else key.pattern.form
        subject = self.subject(form)
        start, end = (plain_offset(subject, place) for place in span)
        return self._describe(key, start, end, secondary=secondary)

    def find(self, key: Key, *, secondary: bool) -> KeyMatch | None:
        """Describe the first hit of a plain key; None if it is not there."""
        start = self._place(key)
        if start < 0:
            return None
        length = len(to_subject(key.needle, "utf16"))
        name = "exact" if key.case_sensitive else "folded"
        first, last = (
            min(plain_offset(self._subjects[name], place), len(self.text))
            for place in (start, start + length)
        )
        return self._describe(key, first, last, secondary=secondary)

    def _describe(self, key: Key, start: int, end: int, *, secondary: bool) -> KeyMatch:
        """Name the one text that holds the range; else count in all of it."""
        at = bisect_right(self.parts, start, key=lambda part: part[0]) - 1
        if at >= 0:
            begin, passage = self.parts[at]
            if end - begin <= len(passage.searched):
                return passage.match(key, start - begin, end - begin, secondary=secondary)
        return KeyMatch(
            key=key.written,
            kind=key.kind,
            secondary=secondary,
            place="",
            place_kind=PlaceKind.BETWEEN,
            start_chars=start,
            end_chars=end,
            start_utf16=utf16_length(self.text[:start]),
            end_utf16=utf16_length(self.text[:end]),
        )


def join_texts(first: Sequence[Piece], further: Sequence[Piece], *, marked: bool) -> JoinedText:
    """Join messages and further texts, each on a line of its own and, if so, behind a mark.

    Without any message there still is the empty first line.
    """
    mark = MARK if marked else ""
    pieces = [*(first or [("", ())]), *further]
    return JoinedText("\n".join(mark + text for text, _ in pieces), pieces, len(mark))


def _places(pieces: Sequence[Piece], mark_chars: int) -> Iterator[tuple[int, Passage]]:
    length = 0
    for text, placed in pieces:
        length += mark_chars
        yield from ((length + begin, passage) for begin, passage in placed)
        length += len(text) + 1
