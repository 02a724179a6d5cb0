"""The settings of one scan: SillyTavern's thirteen, the profile, and the limits of searches.

Owns names and defaults. Must not know books or messages. What a profile decides is in `rules`.

Source: SillyTavern 1.19.0, public/scripts/world-info.js (world_info_* variables); the shipped
values are those of its default settings file.
"""

from enum import IntEnum

from attrs import field, frozen

from tavern_matcher.bounded_regex import RegexLimits
from tavern_matcher.rules import RULES, MatchProfile, Rules


class CharacterStrategy(IntEnum):
    """In which order global and character books are visited; SillyTavern's numbers."""

    EVENLY = 0
    """Joined, then sorted by order."""
    CHARACTER_FIRST = 1
    GLOBAL_FIRST = 2


@frozen(kw_only=True)
class MatchSettings:
    """How books are scanned. The defaults are those of SillyTavern's code."""

    scan_depth_messages: int = 2
    """Newest messages that are searched; 0: none, and nothing else either."""
    min_activations: int = 0
    """Search further back until this many entries fired; 0: off."""
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
    """In a group, keep only the members with the most keys found."""
    max_recursion_steps: int = 0
    """0: no limit; the first scan counts."""
    character_strategy: CharacterStrategy = CharacterStrategy.CHARACTER_FIRST
    overflow_alert: bool = False
    """Shows a message in SillyTavern; decides nothing."""
    profile: MatchProfile = MatchProfile.ST_1_19
    regex_keys: bool | None = None
    """Whether regular expression keys are run; None: as the profile has it."""
    regex_limits: RegexLimits = field(factory=RegexLimits)

    @property
    def rules(self) -> Rules:
        """The column of the rule table that holds."""
        return RULES[self.profile]

    @property
    def runs_regex(self) -> bool:
        """Whether regular expression keys are run."""
        return self.rules.regex_keys if self.regex_keys is None else self.regex_keys


SHIPPED_SETTINGS = MatchSettings(recursive=True, match_whole_words=True)
"""What a fresh installation of SillyTavern 1.19.0 scans with."""
