"""One key: what kind it is, what is searched for it, and the search in one text.

Owns the rules of plain keys and of what counts as a regular expression. Must not know entries.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, WorldInfoBuffer.matchKeys; the plugin
contract, sections B3 and B4.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from string import ascii_letters, digits

from attrs import define, field, frozen

from tavern_format import JsRegexSource, NotRegex, classify_key, construct_regex, to_subject
from tavern_matcher._text import has_space, trim
from tavern_matcher.bounded_regex import (
    BoundedPattern,
    RegexFault,
    RegexLimits,
    compile_bounded,
)
from tavern_matcher.regex_literal import required_literal
from tavern_matcher.rules import Rules

WORD_CHARS = frozenset(ascii_letters + digits + "_")
"""JavaScript's `\\w`: every other letter, Chinese ones too, bounds a word."""
MARK = "\x01"
"""What SillyTavern puts before each text when it joins them."""
STAND_IN = "\uffff"
"""Takes the place of half a surrogate pair where a text must be valid Unicode."""

_JOINED_ONLY = re.compile(f"[{MARK}{STAND_IN}\ud800-\udfff]")
_ODD = re.compile(r"\A/|\{\{|[<\n" + _JOINED_ONLY.pattern[1:])
_PLUGIN_FORM = re.compile(r"/((?:\\.|[^/\\])+)/([A-Za-z]*)", re.DOTALL)
_PLUGIN_FLAGS = frozenset("imsuv")
_PLUGIN_CHARS = 256
_LOOKS_LIKE_REGEX = re.compile(r"/.+/[gimsuy]*", re.DOTALL)
_SWITCHED_OFF = RegexFault(code="REGEX_DISABLED", reason="such keys are switched off")


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
    """`/body/flags`."""


_PLAIN_KINDS = frozenset({KeyKind.SUBSTRING, KeyKind.WHOLE_WORD, KeyKind.PHRASE_SUBSTRING})


@define(eq=False)
class Key:
    """A key made ready for searching; never changed."""

    written: str
    """As it stands in the entry."""
    kind: KeyKind
    needle: str = ""
    """Trimmed, and in lower case unless the case counts; a regular expression's literal."""
    case_sensitive: bool = False
    joined: bool = False
    """Plain, but can reach over two texts or into a surrogate pair: needs all texts joined."""
    dynamic: bool = False
    """May hold macros."""
    pattern: BoundedPattern | None = field(default=None, repr=False)
    fault: RegexFault | None = None
    """Why a regular expression is not run, or why what looks like one is plain text."""
    disabled: bool = False
    """A regular expression, and such keys are switched off."""

    special: bool = field(init=False, repr=False)
    """Not simply a text to look for."""

    def __attrs_post_init__(self) -> None:
        """Find out what is asked of every key of every entry."""
        plain = self.kind in _PLAIN_KINDS and self.fault is None
        self.special = self.joined or self.dynamic or not plain

    @property
    def whole_word(self) -> bool:
        """Whether both ends must be ends of a word."""
        return self.kind is KeyKind.WHOLE_WORD

    def find(self, text: str) -> int:
        """Give the place of the first hit in a text (lower-cased unless the case counts), or -1."""
        if self.whole_word:
            return next(_whole_words(text, self.needle), -1)
        return text.find(self.needle)

    def find_in_utf16(self, text: str) -> int:
        """Do the same in a text whose characters are UTF-16 units."""
        needle = to_subject(self.needle, "utf16")
        if self.whole_word:
            return next(_whole_words(text, needle), -1)
        return text.find(needle)


_Spelling = tuple[str, bool, bool, bool]
_MOST_EXPANDED = 1024


@frozen
class KeyReader:
    """Makes keys ready, each spelling once: books repeat many."""

    rules: Rules
    runs_regex: bool
    limits: RegexLimits
    _known: dict[_Spelling, Key] = field(factory=dict, init=False, repr=False, eq=False)
    _expanded: dict[_Spelling, Key] = field(factory=dict, init=False, repr=False, eq=False)

    def read(
        self, written: str, *, case_sensitive: bool, whole_words: bool, raw: bool = False
    ) -> Key:
        """Make a key of a book ready; `raw` takes it untrimmed, as group scores do."""
        spelling = (written, case_sensitive, whole_words, raw)
        key = self._known.get(spelling)
        if key is None:
            key = self._known[spelling] = self._read(*spelling)
        return key

    def read_expanded(self, text: str, *, case_sensitive: bool, whole_words: bool) -> Key:
        """Make ready what macros made of a key. It may be another text in every scan."""
        spelling = (text, case_sensitive, whole_words, False)
        key = self._known.get(spelling) or self._expanded.get(spelling)
        if key is None:
            if len(self._expanded) >= _MOST_EXPANDED:
                self._expanded.clear()
            key = self._expanded[spelling] = self._read(*spelling)
        return key

    def plain_needle(self, written: str, *, case_sensitive: bool) -> str | None:
        """Give what is looked for in the plainest way; None for every other sort of key."""
        text = written
        if not written.isalnum():
            text = trim(written) if self.rules.trims_keys else written
            if not text or _ODD.search(text) or not trim(text):
                return None
        return text if case_sensitive else text.lower()

    def _read(self, written: str, case_sensitive: bool, whole_words: bool, raw: bool) -> Key:  # noqa: FBT001
        if raw and written and trim(written) == written:
            # Nothing to trim: it is the very key that is searched.
            return self.read(written, case_sensitive=case_sensitive, whole_words=whole_words)
        text = trim(written) if self.rules.trims_keys and not raw else written
        if not text or not (raw or trim(text)):
            return Key(written, KeyKind.BLANK if written or raw else KeyKind.NEVER)
        dynamic = self.rules.expands_keys and not raw and ("{{" in text or "<" in text)
        verdict = self._classify(text) if text.startswith("/") else None
        fault = None
        if isinstance(verdict, JsRegexSource):
            return self._read_regex(written, verdict, dynamic=dynamic)
        if isinstance(verdict, NotRegex):
            fault = RegexFault(code=verdict.code, reason=verdict.reason, invalid=True)
            if self.rules.plugin_regex_syntax:
                return self._dead_regex(written, fault, dynamic=dynamic)
        return Key(
            written,
            _plain_kind(text, whole_words=whole_words),
            text if case_sensitive else text.lower(),
            case_sensitive,
            joined=self._reaches_over(text, trimmed=self.rules.trims_keys and not raw),
            dynamic=dynamic,
            fault=fault,
        )

    def _reaches_over(self, text: str, *, trimmed: bool) -> bool:
        """Whether a plain key could be found in two texts at once, or inside a character."""
        if not trimmed and "\n" in text:
            return True
        return not text.isalnum() and _JOINED_ONLY.search(text) is not None

    def _classify(self, text: str) -> JsRegexSource | NotRegex | None:
        """Read a regular expression; NotRegex for what was meant as one, None for plain text."""
        if self.rules.plugin_regex_syntax:
            return _classify_for_plugin(text)
        verdict = classify_key(text)
        if isinstance(verdict, NotRegex) and not _LOOKS_LIKE_REGEX.fullmatch(text):
            return None
        return verdict

    def _read_regex(self, written: str, source: JsRegexSource, *, dynamic: bool) -> Key:
        if not self.runs_regex:
            return self._dead_regex(written, _SWITCHED_OFF, dynamic=dynamic)
        done = compile_bounded(source, self.limits)
        if isinstance(done, RegexFault):
            return self._dead_regex(written, done, dynamic=dynamic)
        return Key(written, KeyKind.REGEX, required_literal(source), pattern=done, dynamic=dynamic)

    def _dead_regex(self, written: str, fault: RegexFault, *, dynamic: bool) -> Key:
        disabled = not self.runs_regex
        fault = _SWITCHED_OFF if disabled else fault
        return Key(written, KeyKind.REGEX, fault=fault, disabled=disabled, dynamic=dynamic)


def _classify_for_plugin(text: str) -> JsRegexSource | NotRegex | None:
    form = _PLUGIN_FORM.fullmatch(text)
    if form is None:
        return None
    pattern, flags = form.groups()
    if len(pattern) > _PLUGIN_CHARS:
        return NotRegex(code="REGEX_TOO_LONG", reason="it is longer than 256 characters")
    if not _PLUGIN_FLAGS.issuperset(flags) or len(set(flags)) < len(flags):
        return NotRegex(code="UNKNOWN_FLAGS", reason="flags can only be i, m, s, u and v, once")
    verdict = construct_regex(pattern, flags)
    if isinstance(verdict, JsRegexSource):
        return verdict
    return NotRegex(code=verdict.code, reason=verdict.reason)


def _plain_kind(text: str, *, whole_words: bool) -> KeyKind:
    if not whole_words:
        return KeyKind.SUBSTRING
    return KeyKind.PHRASE_SUBSTRING if has_space(text) else KeyKind.WHOLE_WORD


def _whole_words(text: str, word: str) -> Iterator[int]:
    start = text.find(word)
    while start >= 0:
        if is_whole_word(text, start, start + len(word)):
            yield start
        start = text.find(word, start + 1)


def is_whole_word(text: str, start: int, end: int) -> bool:
    """Whether a range of a text has no letter, digit or underline of ASCII on either side."""
    return (start == 0 or text[start - 1] not in WORD_CHARS) and (
        end == len(text) or text[end] not in WORD_CHARS
    )
