"""What regex scripts are given and what they give: plain values.

Must not know how a script is run.

Source: SillyTavern 1.19.0, public/scripts/extensions/regex/engine.js.
"""

from collections.abc import Iterator
from enum import StrEnum

from attrs import field, frozen

from tavern_compiler._regex_patterns import Patterns
from tavern_compiler.macro_context import KIB, Variables
from tavern_compiler.macros import MacroSettings
from tavern_format import Diagnostic, RegexScript
from tavern_matcher import RegexLimits


class ScriptOrigin(StrEnum):
    """Whose list a script is in; the lists run in this order."""

    SHARED = "shared"
    """The user's own scripts for all chats: what SillyTavern calls global."""
    PRESET = "preset"
    CHARACTER = "character"


class ScriptOutcome(StrEnum):
    """What became of one script on one text. The set is closed."""

    REPLACED = "replaced"
    NO_MATCH = "no-match"
    NOT_ALLOWED = "not-allowed"
    """Its list is switched off."""
    OTHER_CALL = "other-call"
    """It is for the display only, for the prompt only, or for neither, and the call is not."""
    NOT_ON_EDIT = "not-on-edit"
    OUTSIDE_DEPTH = "outside-depth"
    OTHER_PLACEMENT = "other-placement"
    DISABLED = "disabled"
    NO_PATTERN = "no-pattern"
    INVALID = "invalid"
    """JavaScript refuses the pattern, too."""
    UNTRANSLATABLE = "untranslatable"
    """JavaScript takes the pattern, and it cannot be run here."""
    TIMED_OUT = "timed-out"
    TOO_LARGE = "too-large"
    REFUSED = "refused"
    """SillyTavern stops with an error here."""

    @property
    def failed(self) -> bool:
        """Whether the script should have run and did not: a diagnostic tells why."""
        return self in _FAILURES


_FAILURES = frozenset(
    {
        ScriptOutcome.INVALID,
        ScriptOutcome.UNTRANSLATABLE,
        ScriptOutcome.TIMED_OUT,
        ScriptOutcome.TOO_LARGE,
        ScriptOutcome.REFUSED,
    }
)


@frozen(kw_only=True)
class ScriptLists:
    """All scripts there are. Those of preset and card run in SillyTavern once the user agrees."""

    shared: tuple[RegexScript, ...] = ()
    preset: tuple[RegexScript, ...] = ()
    character: tuple[RegexScript, ...] = ()
    preset_allowed: bool = True
    character_allowed: bool = True

    def each(self) -> Iterator[tuple[ScriptOrigin, int, RegexScript]]:
        """Give the scripts in the order in which they run, each with its place in its list."""
        lists = (self.shared, self.preset, self.character)
        for origin, scripts in zip(ScriptOrigin, lists, strict=True):
            for at, script in enumerate(scripts):
                yield origin, at, script

    def allows(self, origin: ScriptOrigin) -> bool:
        """Tell whether the scripts of a list may run."""
        allowed = {
            ScriptOrigin.PRESET: self.preset_allowed,
            ScriptOrigin.CHARACTER: self.character_allowed,
        }
        return allowed.get(origin, True)


@frozen(kw_only=True)
class ScriptCall:
    """What a text is, and what it is wanted for.

    Neither for the display nor for the prompt: the text is about to be stored, as a message is
    when it is sent or received.
    """

    placement: int
    """A number of `Placement`."""
    for_display: bool = False
    for_prompt: bool = False
    is_edit: bool = False
    depth: float | None = None
    """Messages from the end, the newest one is 0; None: scripts do not look at their bounds."""
    char_override: str | None = None
    """Stands for `{{char}}` in what is trimmed."""


@frozen(kw_only=True)
class ScriptLimits:
    """How much scripts may cost; where one reaches a limit, the text stays as it was before it."""

    script_s: float = 0.25
    """Seconds of searching for one script in one text, beyond what any pattern takes for it."""
    total_s: float = 1.0
    """The same for all scripts together: in one call, or in one projection."""
    text_chars: int = 65_536
    """Longest text that is searched in one piece; longer ones are cut at line ends."""
    output_chars: int = 4096 * KIB
    """Code points of a text after a script."""


@frozen(kw_only=True)
class ScriptSettings:
    """How scripts are run; made once for many texts."""

    macros: MacroSettings = field(factory=MacroSettings)
    """Its limits hold for all replacements of one call together."""
    limits: ScriptLimits = field(factory=ScriptLimits)
    patterns: Patterns = field(init=False, repr=False, eq=False)
    """Those that were compiled already."""

    @patterns.default
    def _no_patterns(self) -> Patterns:
        limits = self.limits
        return Patterns(RegexLimits(match_s=limits.script_s, text_chars=limits.text_chars))


@frozen(kw_only=True)
class ScriptRun:
    """What one script did with one text."""

    origin: ScriptOrigin
    index: int
    """In its list."""
    name: str
    outcome: ScriptOutcome
    matches: int = 0
    """How many places were replaced."""
    drew: bool = False
    """Whether dice were thrown for its macros."""

    @property
    def path(self) -> str:
        """JSON pointer for diagnostics: whose script."""
        return f"/{self.origin}/regex_scripts/{self.index}"


@frozen(kw_only=True)
class ScriptUse:
    """What a script did with one text of the prompt."""

    text_path: str
    """JSON pointer of the text: `/chat/3/text`."""
    run: ScriptRun


@frozen(kw_only=True)
class ScriptedText:
    """A text after all scripts."""

    text: str
    runs: tuple[ScriptRun, ...] = ()
    """One for every script, in the order in which they ran; empty where the text was empty."""
    variables: Variables = field(factory=Variables)
    """Both stores afterwards."""
    diagnostics: tuple[Diagnostic, ...] = ()
