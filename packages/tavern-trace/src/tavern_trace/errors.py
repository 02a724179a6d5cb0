"""The one error tree of the package. No message holds a text that was traced."""


class TraceError(Exception):
    """A value cannot become part of a trace; `code` says which rule it breaks."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the stable upper-snake code beside the message."""
        super().__init__(message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        """Give code and message on one line."""
        return f"{self.code}: {self.message}"
