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


class SchemaError(TraceError, ValueError):
    """Bytes or a document are not what they should be.

    Codes: `NOT_UTF8`, `INVALID_JSON`, `NESTED_TOO_DEEP`, `WRONG_SCHEMA`, `FIELD_INVALID`,
    `HISTORY_UNREADABLE`.
    """

    def __init__(self, code: str, message: str, *, path: str = "") -> None:
        """Keep the place of the fault beside it: `/records/3/turn`, or empty for the whole."""
        super().__init__(code, f"{path}: {message}" if path else message)
        self.path = path
        self.reason = message

    def inside(self, *keys: str) -> "SchemaError":
        """Give the same fault as the one that holds the faulty value under these keys says it."""
        path = "".join(f"/{key}" for key in keys) + self.path
        return SchemaError(self.code, self.reason, path=path)


class StoreTooLargeError(TraceError, ValueError):
    """A file has more bytes than are read. Code: `STORE_TOO_LARGE`."""

    def __init__(self, *, actual_bytes: int, limit_bytes: int) -> None:
        """Keep both sizes."""
        super().__init__("STORE_TOO_LARGE", f"{actual_bytes} bytes, the limit is {limit_bytes}")
        self.actual_bytes = actual_bytes
        self.limit_bytes = limit_bytes
