"""What can be said about each entry before a scan: which ones need which of its steps.

Owns sets of entry numbers, gathered in one pass when an index is built, so that a scan can deal
with most entries as sets. Must not know texts.
"""

from attrs import define, field

from tavern_matcher._js import truthy
from tavern_matcher.keys import Key, KeyKind
from tavern_matcher.scan_entry import ACTIVATE, ScanEntry
from tavern_matcher.settings import MatchSettings


@define(eq=False)
class Survey:
    """The entries of an index, sorted into sets."""

    settings: MatchSettings
    always: set[int] = field(factory=set)
    """Looked at in every scan, whatever its texts hold."""
    volatile: set[int] = field(factory=set)
    """A key may be found, or a pattern may match anew, without a new needle being found."""
    gated: set[int] = field(factory=set)
    """Something besides its keys may shut it out of a scan."""
    simple: set[int] = field(factory=set)
    """Fires on any primary key, whatever the loop is for."""
    delayed: dict[float | str, set[int]] = field(factory=dict)
    """Who waits for recursion, by level."""
    own_depths: dict[int, float] = field(factory=dict)
    """Scan depths of their own."""
    remarkable: list[ScanEntry] = field(factory=list)
    """A scan may have something to say about it."""

    def look_at(self, entry: ScanEntry) -> None:
        """Sort one entry into the sets."""
        number, get = entry.number, entry.fields.get
        if entry.own_depth is not None:
            self.own_depths[number] = entry.own_depth
        filtered = get("characterFilter")
        if not entry.enabled:
            self.gated.add(number)
            return
        if filtered or get("triggers") or get("delay") or entry.entry is None:
            self.gated.add(number)
        dynamic = entry.special and self._look_at_keys(entry)
        if filtered or dynamic:
            self.remarkable.append(entry)
        if truthy(get("delayUntilRecursion")):
            self.delayed.setdefault(entry.conduct.delay_level, set()).add(number)
        vectorized = get("vectorized")
        constant = truthy(get("constant"))
        if constant or ACTIVATE in entry.decorators or (self.settings.rules.vectors and vectorized):
            self.always.add(number)
        elif not (
            entry.decorators
            or entry.secondary_texts
            or vectorized
            or truthy(get("delayUntilRecursion"))
            or truthy(get("excludeRecursion"))
        ):
            self.simple.add(number)

    def _look_at_keys(self, entry: ScanEntry) -> bool:
        """Tell whether a primary key may hold macros."""
        dynamic = False
        for key in entry.keys:
            if key.special:
                dynamic = dynamic or key.dynamic
                self._look_at_special(entry.number, key, primary=True)
        for key in entry.secondary_keys:
            if key.special:
                self._look_at_special(entry.number, key, primary=False)
        return dynamic

    def _look_at_special(self, number: int, key: Key, *, primary: bool) -> None:
        pattern = key.kind is KeyKind.REGEX
        loose = key.joined or key.dynamic or (pattern and not key.needle)
        if loose or pattern:
            self.volatile.add(number)
        blank = key.kind is KeyKind.BLANK and self.settings.rules.blank_key_matches
        if primary and (loose or blank):
            self.always.add(number)
