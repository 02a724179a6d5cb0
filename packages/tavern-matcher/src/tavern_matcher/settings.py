"""The settings of one scan: SillyTavern's thirteen, and the profile that says whose rules hold.

Owns names, defaults and the table of the settings that this version does not execute. Must not
know books or messages.

Source: SillyTavern 1.19.0, public/scripts/world-info.js (world_info_* variables); the shipped
values are those of its default settings file.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum, StrEnum

from attrs import frozen

from tavern_format import Diagnostic, Severity


class CharacterStrategy(IntEnum):
    """In which order global and character books are visited; SillyTavern's numbers."""

    EVENLY = 0
    """Joined, then sorted by order."""
    CHARACTER_FIRST = 1
    GLOBAL_FIRST = 2


class MatchProfile(StrEnum):
    """Whose rules hold where SillyTavern has a fault that hurts users."""

    ST_1_19 = "st-1.19"
    """SillyTavern 1.19.0 as it is."""
    SAFE = "safe"
    """The same with the faults repaired that COMPATIBILITY.md lists."""


@frozen(kw_only=True)
class Rules:
    """What a profile decides; one row a profile."""

    blank_key_matches: bool
    """A key of white space only matches every text, an empty one too."""


RULES: Mapping[MatchProfile, Rules] = {
    MatchProfile.ST_1_19: Rules(blank_key_matches=True),
    MatchProfile.SAFE: Rules(blank_key_matches=False),
}


@frozen(kw_only=True)
class MatchSettings:
    """How books are scanned. The defaults are those of SillyTavern's code."""

    scan_depth_messages: int = 2
    """Newest messages that are searched; 0: none, and nothing else either."""
    min_activations: int = 0
    """0: off."""
    min_activations_depth_max_messages: int = 0
    """0: no limit."""
    budget_percent: float = 25
    """Share of the context size that lore may take."""
    budget_cap_tokens: int = 0
    """0: no cap."""
    include_names: bool = True
    """Search `speaker: text` instead of the text alone."""
    recursive: bool = False
    """Search the texts of entries that fired, too."""
    case_sensitive: bool = False
    match_whole_words: bool = False
    use_group_scoring: bool = False
    max_recursion_steps: int = 0
    """0: no limit; the first scan counts."""
    character_strategy: CharacterStrategy = CharacterStrategy.CHARACTER_FIRST
    overflow_alert: bool = False
    """Shows a message in SillyTavern; decides nothing."""
    profile: MatchProfile = MatchProfile.ST_1_19

    @property
    def rules(self) -> Rules:
        """The row of the rule table that holds."""
        return RULES[self.profile]


SHIPPED_SETTINGS = MatchSettings(recursive=True, match_whole_words=True)
"""What a fresh installation of SillyTavern 1.19.0 scans with."""

_NOT_EXECUTED: Mapping[str, str] = {
    "min_activations": "the scan is not widened until enough entries fire",
    "min_activations_depth_max_messages": "the scan is not widened until enough entries fire",
    "budget_percent": "no token budget is applied",
    "budget_cap_tokens": "no token budget is applied",
    "recursive": "texts of entries that fired are not searched for keys of further entries",
    "use_group_scoring": "inclusion groups are not thinned by score",
    "max_recursion_steps": "there is no recursion to limit",
    "overflow_alert": "there is nobody here to alert",
}
"""Settings without effect in this version, and what that means."""


def setting_diagnostics(settings: MatchSettings) -> Iterator[Diagnostic]:
    """Name each setting that is not executed and is set to something else than the default."""
    neutral = MatchSettings()
    for name, meaning in _NOT_EXECUTED.items():
        if getattr(settings, name) != getattr(neutral, name):
            message = f"The setting {name} is not executed yet: {meaning}."
            yield Diagnostic("SETTING_NOT_EXECUTED", Severity.WARNING, f"/settings/{name}", message)
