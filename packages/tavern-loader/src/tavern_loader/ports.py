"""What the use cases need of the world, as protocols; adapters implement them.

Must not name a file, a socket or a library.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

JsonObject = Mapping[str, Any]


class Clock(Protocol):
    """The time."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, UTC."""
        ...


class Identities(Protocol):
    """Names nobody else has."""

    def new(self) -> str:
        """Give a random UUID in its 36-character form."""
        ...


class TokenCounter(Protocol):
    """Sizes in tokens."""

    def __call__(self, text: str) -> int:
        """Count the tokens of a text."""
        ...


class HostSession(Protocol):
    """What may be asked of the host about its sessions."""

    def set_sandbox_mode(self, session_id: str, mode: str) -> None:
        """Append the official event that changes the sandbox of a session."""
        ...

    def cancel(self, session_id: str, reason: str) -> None:
        """Cancel the running step of a session; its inbox stays."""
        ...

    def lock_tools(self, locked: Sequence[str], free: Sequence[str], reason: str) -> None:
        """Name sessions whose tools are refused while nobody can be asked, and such as are not."""
        ...

    def session_header(self, session_id: str) -> JsonObject | None:
        """Read the head of a session's log; None if there is no such session. Raises HostError."""
        ...

    def inspect(self, session_id: str) -> JsonObject | None:
        """Read a session's log from the disk: meta and events; None if there is no such session."""
        ...

    def is_running(self, session_id: str) -> bool:
        """Whether a turn of this session is going on."""
        ...


class Cancellation(Protocol):
    """Whether the one who asked still wants the answer."""

    @property
    def requested(self) -> bool:
        """True from the moment nobody waits any more."""
        ...

    def raise_if_requested(self) -> None:
        """Raise CancelledError if nobody waits any more; long work calls this between its steps."""
        ...


class SessionMemories(Protocol):
    """What is kept of each session beside its selection."""

    def get(self, session_id: str) -> JsonObject | None:
        """Give what is kept of a session; None if nothing is. Raises StoreError."""
        ...

    def put(self, session_id: str, document: JsonObject) -> None:
        """Keep a document in place of the other. Raises StoreError."""
        ...


class BytesFile(Protocol):
    """One file that has a form of its own and is replaced as a whole."""

    def revision(self) -> object:
        """Give a value that differs whenever the file has changed; None without a file."""
        ...

    def read(self) -> bytes | None:
        """Give what is kept; None if nothing is. Raises StoreError."""
        ...

    def write(self, data: bytes) -> None:
        """Put bytes in the place of the others, at once. Raises StoreError."""
        ...

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep other writers out, those of other processes included. Raises StoreError."""
        ...


class Background(Protocol):
    """Somebody who does work that nobody waits for, in the order in which it was handed in."""

    def submit(self, work: Callable[[], object]) -> None:
        """Add a piece of work. Returns at once, as long as not far too much is waiting."""
        ...

    def drain(self, timeout_s: float = ...) -> object:
        """Wait until all that was added is done, or time has run out."""
        ...
