"""The texts that are searched for one entry, and where in them a key was found.

Owns which messages and sources an entry sees, and the translation of a hit into a range of the
text a person knows. Must not know books beyond the one entry.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, WorldInfoBuffer.
"""

from collections.abc import Iterator

from attrs import field, frozen

from tavern_format import Entry
from tavern_matcher._text import leading_space_chars, trim, unfold, utf16_length
from tavern_matcher.context import ScanContext, ScanMessage
from tavern_matcher.decision import KeyMatch, PlaceKind
from tavern_matcher.keys import Key
from tavern_matcher.settings import MatchSettings

MAX_DEPTH_MESSAGES = 1000
"""SillyTavern keeps no more messages for the scan, whatever an entry asks for."""

SOURCES = (
    ("match_persona_description", "persona_description"),
    ("match_character_description", "character_description"),
    ("match_character_personality", "character_personality"),
    ("match_character_depth_prompt", "character_depth_prompt"),
    ("match_scenario", "scenario"),
    ("match_creator_notes", "creator_notes"),
)
"""Flag of the entry and the source it opens, in the order of the scanned text."""


@frozen
class Passage:
    """One text as it is searched: a key never reaches from one into the next."""

    place: str
    kind: PlaceKind
    own: str
    """The text as it was given."""
    searched: str
    """The same with the speaker's name in front, trimmed."""
    lead_chars: int = 0
    """Place of the own text's start in the searched one; negative where the start was cut."""
    folded: str = field(init=False)

    @folded.default
    def _fold(self) -> str:
        return self.searched.lower()

    def find(self, key: Key, *, secondary: bool) -> KeyMatch | None:
        """Look for a key; None if it is not there."""
        text = self.searched if key.case_sensitive else self.folded
        start = key.find(text)
        if start < 0:
            return None
        end = start + len(key.needle)
        if not key.case_sensitive:
            start, end = (unfold(self.searched, self.folded, place) for place in (start, end))
        return self._match(key, start, end, secondary=secondary)

    def _match(self, key: Key, start: int, end: int, *, secondary: bool) -> KeyMatch:
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


@frozen
class ScanText:
    """All passages of one scan; each entry sees some of them."""

    settings: MatchSettings
    messages: tuple[Passage, ...]
    """Newest first."""
    sources: dict[str, Passage]
    injected: tuple[Passage, ...]

    def depth_of(self, entry: Entry) -> int:
        """How many messages an entry wants searched; 0 closes everything else to it, too."""
        own = entry.scan_depth
        depth = self.settings.scan_depth_messages if own is None else own
        # A depth that is no number at all (NaN) is not greater than anything.
        return int(min(depth, MAX_DEPTH_MESSAGES)) if depth > 0 else 0

    def passages(self, entry: Entry) -> tuple[Passage, ...]:
        """List what is searched for an entry, newest message first."""
        depth = self.depth_of(entry)
        if not depth:
            return ()
        return (*self.messages[:depth], *self._sources(entry), *self.injected)

    def _sources(self, entry: Entry) -> Iterator[Passage]:
        return (
            self.sources[name]
            for flag, name in SOURCES
            if name in self.sources and getattr(entry, flag)
        )


def scan_text(context: ScanContext, settings: MatchSettings) -> ScanText:
    """Prepare the texts of a scan once for all entries."""
    names = (name for _, name in SOURCES)
    texts = {name: getattr(context.sources, name) for name in names}
    return ScanText(
        settings,
        tuple(_passage(message, settings) for message in reversed(context.messages)),
        {name: Passage(name, PlaceKind.SOURCE, text, text) for name, text in texts.items() if text},
        tuple(
            Passage(str(number), PlaceKind.INJECTED, text, text)
            for number, text in enumerate(context.injected)
            if text
        ),
    )


def _passage(message: ScanMessage, settings: MatchSettings) -> Passage:
    name = f"{message.speaker}: " if settings.include_names else ""
    whole = name + message.text
    lead = len(name) - leading_space_chars(whole)
    return Passage(message.identity, PlaceKind.MESSAGE, message.text, trim(whole), lead)
