"""One key: what kind it is, what is searched for it, and the search in one text.

Owns the rules of plain keys. Regular expression keys are recognised and not run. Must not know
entries.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, WorldInfoBuffer.matchKeys.
"""

from collections.abc import Iterator
from enum import StrEnum
from string import ascii_letters, digits

from attrs import frozen

from tavern_format import parse_key_regex
from tavern_matcher._text import has_space, trim

_WORD_CHARS = frozenset(ascii_letters + digits + "_")
"""JavaScript's `\\w`: every other letter, Chinese ones too, bounds a word."""


class KeyKind(StrEnum):
    """How a key is looked for."""

    SUBSTRING = "substring"
    WHOLE_WORD = "whole-word"
    PHRASE_SUBSTRING = "phrase-substring"
    """Whole words were asked for, but a key with white space is searched as a substring."""
    BLANK = "blank"
    """White space only: matches everything, or nothing, as the profile says."""
    NEVER = "never"
    """Empty: matches nothing."""
    REGEX = "regex"
    """`/body/flags`: not executed yet."""


@frozen
class Key:
    """A key made ready for searching."""

    written: str
    """As it stands in the entry."""
    kind: KeyKind
    needle: str = ""
    """Trimmed, and in lower case unless the case counts."""
    case_sensitive: bool = False

    def find(self, text: str) -> int:
        """Give the place of the first hit in a text (lower-cased unless the case counts), or -1."""
        if self.kind is KeyKind.WHOLE_WORD:
            return next(_whole_words(text, self.needle), -1)
        return text.find(self.needle)


def read_key(written: str, text: str, *, case_sensitive: bool, whole_words: bool) -> Key:
    """Make a key ready; `text` is the key with its macros expanded.

    >>> read_key("Red Moon", "Red Moon", case_sensitive=False, whole_words=True).kind.value
    'phrase-substring'
    """
    trimmed = trim(text)
    kind = _kind(text, trimmed, whole_words=whole_words)
    # The needle of a blank key is empty, and so found at the start of every text.
    return Key(written, kind, trimmed if case_sensitive else trimmed.lower(), case_sensitive)


def _kind(text: str, trimmed: str, *, whole_words: bool) -> KeyKind:
    if not trimmed:
        return KeyKind.BLANK if text else KeyKind.NEVER
    if parse_key_regex(trimmed) is not None:
        return KeyKind.REGEX
    if not whole_words:
        return KeyKind.SUBSTRING
    return KeyKind.PHRASE_SUBSTRING if has_space(trimmed) else KeyKind.WHOLE_WORD


def _whole_words(text: str, word: str) -> Iterator[int]:
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        before, behind = text[start - 1 : start], text[end : end + 1]
        if before not in _WORD_CHARS and behind not in _WORD_CHARS:
            yield start
        start = text.find(word, start + 1)
