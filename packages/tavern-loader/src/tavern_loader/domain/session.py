"""A session as the host describes it: its header and where its log stands.

Owns the fields that the steps need. Must not know events or what is kept about a session.

Source: the host contract, section 5 ("Session").
"""

from collections.abc import Mapping
from typing import Any

from attrs import frozen


@frozen(kw_only=True)
class SessionFacts:
    """What a message of the host says about its session."""

    id: str
    seq: int = 0
    """Number of the next event of its log."""
    parent_id: str | None = None
    """The session it was forked from, or that delegated it."""
    seed_length: int = 0
    """Events at the head of its log that are its parent's; 0 for one that began by itself."""
    format_version: int | None = None
    """Of its log; None: the host does not say."""
    created_at: int | str | None = None
    """As the host writes it."""
    is_running: bool = False
    """Whether a turn is going on."""


def session_facts(session: Mapping[str, Any]) -> SessionFacts:
    """Read a session of a message. Raises ValueError if it has no id."""
    identity = session.get("id")
    if not isinstance(identity, str) or not identity:
        message = "a session needs an id"
        raise ValueError(message)
    found = session.get("header")
    header = found if isinstance(found, Mapping) else {}
    parent, created = header.get("parentSession"), header.get("createdAt")
    return SessionFacts(
        id=identity,
        seq=_whole(session.get("seq")) or 0,
        parent_id=parent if isinstance(parent, str) and parent else None,
        seed_length=_whole(header.get("seedLength")) or 0,
        format_version=_whole(header.get("version")),
        created_at=created if isinstance(created, int | str) else None,
        is_running=session.get("running") is True,
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
