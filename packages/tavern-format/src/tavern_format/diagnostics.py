"""What the package says about odd but usable content.

A diagnostic never changes the outcome of a parse: the value beside it is complete, and writing it
back gives the same JSON. Messages never hold text from the resource.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Generic, TypeVar

from attrs import frozen

T = TypeVar("T")


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
    """Stable upper-snake name; the package README lists them all."""
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

    >>> pointer("/data", "a/b", 0)
    '/data/a~1b/0'
    """
    escaped = (str(token).replace("~", "~0").replace("/", "~1") for token in tokens)
    return "/".join((path, *escaped))


Report = Callable[[Diagnostic], None]
"""Where parsing steps put their diagnostics: usually `list.append`."""


def warn(report: Report, code: str, path: str, message: str) -> None:
    """Report a warning."""
    report(Diagnostic(code, Severity.WARNING, path, message))


def info(report: Report, code: str, path: str, message: str) -> None:
    """Report an information."""
    report(Diagnostic(code, Severity.INFO, path, message))


def error(report: Report, code: str, path: str, message: str) -> None:
    """Report content that was kept but not understood."""
    report(Diagnostic(code, Severity.ERROR, path, message))
