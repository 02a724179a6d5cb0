"""The time, and names nobody else has."""

from datetime import datetime
from time import time_ns
from uuid import uuid4

_NS_IN_MS = 1_000_000


class SystemClock:
    """The machine's clock; implements the port `Clock`."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, UTC."""
        return time_ns() // _NS_IN_MS

    def local_time(self) -> datetime:
        """Give the time as the user's own clock shows it."""
        return datetime.now().astimezone()


class RandomIdentities:
    """Random UUIDs; implements the port `Identities`."""

    def new(self) -> str:
        """Give a random UUID in its 36-character form."""
        return str(uuid4())
