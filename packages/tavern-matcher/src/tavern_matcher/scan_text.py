"""The texts that are searched, one by one, and where in them a key was found.

Owns `Passage`, one searched text, and the translation of a hit into a range of the text a person
knows. Must not know books, depths or loops.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, WorldInfoBuffer.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar, overload

from attrs import define, field, frozen

from tavern_matcher._text import JS_WHITE_SPACE, growths, trim, unfold, utf16_length
from tavern_matcher.context import ScanContext, ScanMessage
from tavern_matcher.decision import KeyMatch, PlaceKind
from tavern_matcher.keys import Key
from tavern_matcher.rules import Rules

T = TypeVar("T")


@define(eq=False)
class Passage:
    """One text as it is searched: a key never reaches from one into the next."""

    place: str
    kind: PlaceKind
    own: str = field(repr=False)
    """The text as it was given."""
    searched: str = field(repr=False)
    """The same with the speaker's name in front, trimmed."""
    lead_chars: int = 0
    """Place of the own text's start in the searched one; negative where the start was cut."""
    _folded: str | None = None

    @property
    def folded(self) -> str:
        """The searched text in lower case."""
        if self._folded is None:
            self._folded = self.searched.lower()
        return self._folded

    def holds(self, key: Key) -> bool:
        """Whether a plain key is found."""
        return key.find(self.searched if key.case_sensitive else self.folded) >= 0

    def find(self, key: Key, *, secondary: bool) -> KeyMatch | None:
        """Look for a plain key; None if it is not there."""
        text = self.searched if key.case_sensitive else self.folded
        start = key.find(text)
        if start < 0:
            return None
        end = start + len(key.needle)
        if not key.case_sensitive:
            grown = growths(self.searched)
            start, end = unfold(grown, start), unfold(grown, end)
        return self.match(key, start, end, secondary=secondary)

    def match(self, key: Key, start: int, end: int, *, secondary: bool) -> KeyMatch:
        """Describe a hit, given as a range of the searched text."""
        in_speaker = start < self.lead_chars
        text = self.searched if in_speaker else self.own
        shift = 0 if in_speaker else self.lead_chars
        return KeyMatch(
            key=key.written,
            kind=key.kind,
            secondary=secondary,
            place=self.place,
            place_kind=self.kind,
            in_speaker=in_speaker,
            start_chars=start - shift,
            end_chars=end - shift,
            start_utf16=utf16_length(text[: start - shift]),
            end_utf16=utf16_length(text[: end - shift]),
        )


NO_TEXT = Passage("", PlaceKind.MESSAGE, "", "")
"""What a blank key is found in where there is no text at all."""


@define(eq=False)
class MessagePassages(Sequence[Passage]):
    """The passages of messages; each is made when it is looked at, for few scans look far back."""

    _given: Sequence[ScanMessage]
    _make: Callable[[ScanMessage], Passage]
    _made: list[Passage] = field(factory=list)

    def __len__(self) -> int:
        return len(self._given)

    @overload
    def __getitem__(self, index: int) -> Passage: ...
    @overload
    def __getitem__(self, index: slice) -> list[Passage]: ...
    def __getitem__(self, index: int | slice) -> Passage | list[Passage]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            self._look(max(start, stop) if step > 0 else start + 1)
            return self._made[start:stop:step]
        number = range(len(self))[index]
        self._look(number + 1)
        return self._made[number]

    def _look(self, count: int) -> None:
        """Make the first passages, up to a number of them."""
        for message in self._given[len(self._made) : count]:
            self._made.append(self._make(message))


@frozen(kw_only=True)
class ContextTexts:
    """All passages that a context brings along."""

    messages: Sequence[Passage]
    """Newest first; without text where a message has none."""
    sources: dict[str, Passage]
    injected: tuple[Passage, ...]


def context_texts(context: ScanContext, *, include_names: bool, rules: Rules) -> ContextTexts:
    """Prepare the texts of a scan once for all entries."""
    newest = context.messages[: -rules.max_messages - 1 : -1]
    named = include_names and rules.include_names
    make = partial(_message, named=named, trimmed=rules.trims_keys)
    messages: Sequence[Passage]
    if rules.max_text_chars is None:
        messages = MessagePassages(newest[: _filled(newest, make)], make)
    else:
        cut = _cut([make(message) for message in newest], rules.max_text_chars)
        messages = cut[: _filled(cut, lambda passage: passage)]
    if not rules.further_texts:
        return ContextTexts(messages=messages, sources={}, injected=())
    texts = {name: getattr(context.sources, name) for name in _SOURCE_NAMES}
    return ContextTexts(
        messages=messages,
        sources={
            name: Passage(name, PlaceKind.SOURCE, text, text)
            for name, text in texts.items()
            if text
        },
        injected=tuple(
            Passage(str(number), PlaceKind.INJECTED, text, text)
            for number, text in enumerate(context.injected)
            if text
        ),
    )


_SOURCE_NAMES = (
    "persona_description",
    "character_description",
    "character_personality",
    "character_depth_prompt",
    "scenario",
    "creator_notes",
)


def _filled(items: Sequence[T], make: Callable[[T], Passage]) -> int:
    """Count up to the last message that has a text: others leave no empty place behind."""
    count = len(items)
    while count:
        last = make(items[count - 1])
        if last.searched or last.own:
            break
        count -= 1
    return count


def _message(message: ScanMessage, *, named: bool, trimmed: bool) -> Passage:
    name = f"{message.speaker}: " if named else ""
    whole = name + message.text
    # Nearly no message has anything to trim, and stripping looks at all kinds of white space.
    if not trimmed or (whole[:1] not in JS_WHITE_SPACE and whole[-1] not in JS_WHITE_SPACE):
        return Passage(message.identity, PlaceKind.MESSAGE, message.text, whole, len(name))
    searched = trim(whole)
    # The first character that is left is no white space: all before it is.
    cut = whole.index(searched[0]) if searched else len(whole)
    return Passage(message.identity, PlaceKind.MESSAGE, message.text, searched, len(name) - cut)


def _cut(messages: Sequence[Passage], most_chars: int) -> list[Passage]:
    """Keep the newest code points, line ends between the messages included."""
    kept: list[Passage] = []
    left = most_chars
    for passage in messages:
        if left <= 0:
            break
        text = passage.searched[-left:]
        cut = len(passage.searched) - len(text)
        kept.append(
            Passage(passage.place, passage.kind, passage.own, text, passage.lead_chars - cut)
        )
        left -= len(text) + 1
    return kept


def block_passages(parts: Sequence[tuple[str, str]]) -> tuple[str, tuple[tuple[int, Passage], ...]]:
    """Join the contents of entries that fired in one loop, as recursion searches them.

    Each part is the entry's name and its content. Gives the joined text, and where in it each
    content begins.
    """
    placed: list[tuple[int, Passage]] = []
    start = 0
    for name, content in parts:
        placed.append((start, Passage(name, PlaceKind.ENTRY, content, content)))
        start += len(content) + 1
    return "\n".join(content for _, content in parts), tuple(placed)
