"""The values the JavaScript regular expression functions take and give.

Owns: what a pattern is (`JsRegexSource`), what became of it (`Translation`,
`Untranslatable`, `InvalidPattern`, `NotRegex`). Knows no syntax. Nothing here compiles or
matches; a verdict about a pattern is always a value, never an exception.
"""

from typing import Literal

from attrs import field, frozen

SubjectForm = Literal["utf16", "code_points"]


@frozen(kw_only=True)
class JsRegexSource:
    """A regular expression as JavaScript's `RegExp` object would hold it."""

    pattern: str
    """The text given to the constructor, unchanged."""

    source: str
    """What the object's `source` property shows: slashes and line ends escaped, never empty."""

    flags: str = ""
    """What the object's `flags` property shows: distinct letters in alphabetical order."""


@frozen(kw_only=True)
class NotRegex:
    """A text that is no regular expression by the rule asked about, and why."""

    code: str
    """Stable, upper snake case: one of this rule's own codes or that of an `InvalidPattern`."""

    reason: str


@frozen(kw_only=True)
class InvalidPattern:
    """A pattern JavaScript's own compiler refuses."""

    code: str
    reason: str
    offset: int
    """Where in `pattern` the fault was seen, in code points."""


@frozen(kw_only=True)
class Untranslatable:
    """A pattern JavaScript accepts but that has no equivalent here, or passes a limit."""

    code: str
    reason: str
    offset: int
    """Where in `pattern` the obstacle begins, in code points; 0 when it is the whole pattern."""


@frozen(kw_only=True)
class Deviation:
    """A known way in which a translated pattern can judge some text differently."""

    code: str
    reason: str


@frozen(kw_only=True)
class Translation:
    """A pattern for the `regex` module that behaves as the JavaScript one."""

    pattern: str
    """In the VERSION0 dialect, free of lone surrogates, so that it can be logged and encoded."""

    flags: tuple[str, ...]
    """Names of the `regex` module's flags, in alphabetical order, to be joined with `|`."""

    subject: SubjectForm
    """The form the searched text must have: see `to_subject`."""

    sticky: bool
    """JavaScript's `y`: use `Pattern.match` at the start position in place of `Pattern.search`."""

    global_: bool
    """JavaScript's `g`: a replacement concerns every match, not the first alone."""

    group_count: int
    """Number of JavaScript groups; group n is number n here too. Higher ones are internal."""

    group_names: tuple[tuple[str, int], ...] = ()
    """Each name with its group number, by number. The module itself knows no such names."""

    deviations: tuple[Deviation, ...] = field(default=())
