"""The one error tree of the package.

A preset, card or book never raises for what it says: that is a `Diagnostic`. Raised is only what
makes the result unusable as a whole. No message holds text from a resource.
"""


class CompilerError(Exception):
    """The profile could not be made; `code` says which rule stopped it."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the stable upper-snake code beside the message."""
        super().__init__(message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        """Give code and message on one line."""
        return f"{self.code}: {self.message}"


class ProfileTooLargeError(CompilerError):
    """The parts without any lore are larger than the limit; nothing was cut."""

    def __init__(self, *, actual_bytes: int, limit_bytes: int) -> None:
        """Name both sizes, in UTF-8 bytes."""
        message = f"the profile without lore has {actual_bytes} bytes, {limit_bytes} are allowed"
        super().__init__("TAVERN_PROFILE_TOO_LARGE", message)
        self.actual_bytes = actual_bytes
        self.limit_bytes = limit_bytes


class MacroError(CompilerError):
    """A macro needs a source that the caller did not give; `start_chars`, `end_chars`: where."""

    def __init__(
        self, code: str, message: str, *, start_chars: int = 0, end_chars: int = 0
    ) -> None:
        """Keep the span of the macro, in code points of the text."""
        super().__init__(code, message)
        self.start_chars = start_chars
        self.end_chars = end_chars
