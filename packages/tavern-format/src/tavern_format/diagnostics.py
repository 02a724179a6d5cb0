"""What the package says about odd but usable content.

A diagnostic never changes the outcome of a parse: the value beside it is complete, and writing it
back gives the same JSON. Messages never hold text from the resource.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Generic, TypeVar

from attrs import frozen

T = TypeVar("T")

_TOKEN_CHARS = 256
"""Of one key in a pointer: a key may be as long as the file, and stands in many pointers."""


class Severity(StrEnum):
    """How much a diagnostic matters to the person who owns the file."""

    ERROR = "error"
    """Something was not understood and takes no part in the value."""
    WARNING = "warning"
    """Something was read differently from what the text says."""
    INFO = "info"
    """Nothing is wrong; a tool or a person may want to know."""


@frozen
class Diagnostic:
    """One remark about one place of the input."""

    code: str
    """Stable upper-snake name; CODES.md lists them all."""
    severity: Severity
    path: str
    """JSON pointer (RFC 6901) into the document; empty for the whole document."""
    message: str


@frozen
class Parsed(Generic[T]):
    """A parsed resource with all that was remarked on the way, in document order per pass."""

    value: T
    diagnostics: tuple[Diagnostic, ...] = ()


def pointer(path: str, *tokens: str | int) -> str:
    """Extend a JSON pointer by object keys and array indices, escaped as RFC 6901 asks.

    A key of over 256 characters is cut and ends in an ellipsis: such a pointer only hints.

    >>> pointer("/data", "a/b", 0)
    '/data/a~1b/0'
    """
    return "/".join((path, *map(_escaped, tokens)))


def _escaped(token: str | int) -> str:
    text = str(token)
    if len(text) > _TOKEN_CHARS:
        text = text[:_TOKEN_CHARS] + "\N{HORIZONTAL ELLIPSIS}"
    return text.replace("~", "~0").replace("/", "~1")


Report = Callable[[Diagnostic], None]
"""Where parsing steps put their diagnostics: a `Remarks`, or `list.append`."""


class Remarks:
    """A bounded `Report`: the first diagnostics of one parse, and what was left out.

    A small file can be odd in millions of places. Call it as a report, then ask for `all`.
    """

    __slots__ = ("_dropped", "_kept", "_maximum")

    def __init__(self, maximum: int) -> None:
        """Keep at most `maximum` diagnostics (see `Limits.diagnostics`)."""
        self._maximum = maximum
        self._kept: list[Diagnostic] = []
        self._dropped: set[Severity] = set()

    def __call__(self, remark: Diagnostic) -> None:
        """Keep a diagnostic, or only its severity when there are too many."""
        if len(self._kept) < self._maximum:
            self._kept.append(remark)
        else:
            self._dropped.add(remark.severity)

    def all(self) -> tuple[Diagnostic, ...]:
        """Give the diagnostics in their order.

        One DIAGNOSTICS_DROPPED at the end stands for those left out. It is as severe as the worst
        of them, an information at least, so that a long list never makes a file look better.
        """
        worst = next((severity for severity in Severity if severity in self._dropped), None)
        if worst is None:
            return tuple(self._kept)
        message = f"only the first {self._maximum} remarks are listed; there are more"
        return (*self._kept, Diagnostic("DIAGNOSTICS_DROPPED", worst, "", message))


def warn(report: Report, code: str, path: str, message: str) -> None:
    """Report a warning."""
    report(Diagnostic(code, Severity.WARNING, path, message))


def info(report: Report, code: str, path: str, message: str) -> None:
    """Report an information."""
    report(Diagnostic(code, Severity.INFO, path, message))


def error(report: Report, code: str, path: str, message: str) -> None:
    """Report content that was kept but not understood."""
    report(Diagnostic(code, Severity.ERROR, path, message))
