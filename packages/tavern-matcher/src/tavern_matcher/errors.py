"""The one error tree of the package.

A book or a message never raises: what is odd in them is a `Diagnostic` or the reason of a decision.
What is left is work that was refused as a whole, and a caller's own mistake, which is a plain
`TypeError` or `ValueError`.
"""


class MatcherError(Exception):
    """The matcher could not do its work; `code` says which rule stopped it."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the stable upper-snake code beside the message."""
        super().__init__(message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        """Give code and message on one line."""
        return f"{self.code}: {self.message}"


class DiceMissingError(MatcherError):
    """A random number was needed and nothing to draw one was given."""

    def __init__(self, purpose: str) -> None:
        """Keep what the number was for."""
        super().__init__("DICE_MISSING", f"a random number is needed for {purpose}")
        self.purpose = purpose


class ScanAbortedError(MatcherError):
    """SillyTavern's scan ends here with an error; `match` reports it in its result."""

    def __init__(self, code: str, message: str, path: str) -> None:
        """Keep the path of what ends it, as diagnostics have it."""
        super().__init__(code, message)
        self.path = path
