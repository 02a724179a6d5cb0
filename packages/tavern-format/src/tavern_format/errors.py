"""The one error tree of the package.

An exception means that the bytes cannot be used at all. Content that is odd but usable becomes a
`Diagnostic` instead, and a caller's own mistake is a plain `TypeError` or `ValueError`. No message
ever holds text from the resource, so errors may be logged and shared.
"""

from typing import Any, ClassVar


class FormatError(ValueError):
    """The input cannot be read as the resource that was asked for."""

    code: str
    """Stable upper-snake name of the fault; listed in CODES.md."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the stable code beside the message."""
        super().__init__(message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        """Give code, message and place on one line."""
        return f"{self.code}: {self.message}{self._place()}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by the facts: the classes are called with facts, not with `args`."""
        return _restored, (type(self), self.args, dict(self.__dict__))

    def _place(self) -> str:
        return ""


def _restored(kind: type[FormatError], args: tuple[Any, ...], facts: dict[str, Any]) -> FormatError:
    fault = kind.__new__(kind, *args)
    fault.__dict__.update(facts)
    return fault


class MalformedResourceError(FormatError):
    """The text is not JSON, not YAML, not UTF-8, or has not the shape of the resource."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        path: str | None = None,
        offset_bytes: int | None = None,
    ) -> None:
        """Keep the JSON pointer of the wrong value, or the byte offset of the wrong byte."""
        super().__init__(code, message)
        self.path = path
        self.offset_bytes = offset_bytes

    def _place(self) -> str:
        if self.offset_bytes is not None:
            return f" (byte {self.offset_bytes})"
        return f" (at {self.path or '/'})" if self.path is not None else ""


class UnsupportedVersionError(FormatError):
    """The resource names a specification that cannot be written or read."""

    def __init__(self, code: str, message: str, *, spec: str) -> None:
        """Keep the name of the specification."""
        super().__init__(code, message)
        self.spec = spec


class LimitExceededError(FormatError):
    """A limit of `Limits` was passed; the input was refused before more was read."""

    CODE: ClassVar[str] = "LIMIT_EXCEEDED"

    def __init__(self, *, limit: str, actual: int, maximum: int, unit: str) -> None:
        """Name the field of `Limits`, the value found (at least), the maximum and the unit."""
        super().__init__(self.CODE, f"{limit}: {actual} {unit} found, {maximum} allowed")
        self.limit = limit
        self.actual = actual
        self.maximum = maximum
        self.unit = unit


class CarrierError(FormatError):
    """A container (PNG, CHARX, BYAF) is damaged or holds no resource."""

    def __init__(
        self, code: str, message: str, *, carrier: str, offset_bytes: int | None = None
    ) -> None:
        """Keep the carrier's name (`png`, `charx`, `byaf`, `zip`) and the place of the fault."""
        super().__init__(code, message)
        self.carrier = carrier
        self.offset_bytes = offset_bytes

    def _place(self) -> str:
        return "" if self.offset_bytes is None else f" (byte {self.offset_bytes})"
