"""The rows about what of a kind of resource a session has.

Owns that a running session keeps what it has, and that RP mode follows. Must not know what an
answer says of a resource.

Source: the plugin contract, sections E3 and F.
"""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from tavern_loader.adapters.http.resources import Resource
from tavern_loader.adapters.http.route import SESSION, Body, Error, Route, Success
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.wire import Answer, Call
from tavern_loader.service.binding import Wish

SELECTION_LIMITS: tuple[Error, ...] = (
    (409, "SESSION_SELECTION_LIMIT_REACHED"),
    (413, "SESSION_SELECTION_STORAGE_LIMIT_REACHED"),
)


@frozen(kw_only=True)
class Choice:
    """What of a kind a session has."""

    resource: Resource
    path: str
    reading: str
    """What the route that reads it does, in words."""
    writing: str
    body: Body
    wish: Callable[[Mapping[str, Any]], Wish]
    """Reads what is wanted from a body."""
    answer: Callable[[HttpServices, str], Answer]
    """Says what a session has."""
    success: Success
    read_errors: tuple[Error, ...] = ()

    def routes(self) -> tuple[Route, ...]:
        """Read it, replace it."""
        return (
            Route(
                method="GET",
                path=self.path,
                summary=self.reading,
                family=self.resource.family,
                handle=self._read,
                success=self.success,
                query=(SESSION,),
                errors=self.read_errors,
            ),
            Route(
                method="POST",
                path=self.path,
                summary=self.writing,
                family=self.resource.family,
                handle=self._write,
                success=self.success,
                body=self.body,
                errors=choice_errors(self.resource),
                asks_host=True,
            ),
        )

    def _read(self, services: HttpServices, call: Call) -> Answer:
        return self.answer(services, call.query["sessionId"])

    def _write(self, services: HttpServices, call: Call) -> Answer:
        session_id = call.object["sessionId"]
        choose(services, session_id, self.wish(call.object), self.resource)
        return self.answer(services, session_id)


def choose(services: HttpServices, session_id: str, wish: Wish, resource: Resource) -> None:
    """Change what a session has bound, unless it runs; RP mode follows."""
    services.running.require_idle(session_id, resource.running[1])
    before = services.library.selection(session_id)
    after = services.binding.bind_session(session_id, wish)
    services.roleplay.on_selection_change(session_id, before, after)


def choice_errors(resource: Resource) -> tuple[Error, ...]:
    """List what can go wrong when a session is given a resource."""
    return (resource.not_found, resource.running, *SELECTION_LIMITS)
