"""The ASGI application: from a request to the row of the route table, and back.

Owns the order of checks, the limits of time, and the threads of the handlers. Must not know what a
route does.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from attrs import define, evolve, field, frozen
from starlette.datastructures import QueryParams
from starlette.routing import Route as PathMatcher
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from tavern_loader.adapters.http.faults import (
    COMMON,
    ApiError,
    Family,
    as_api_error,
    defect,
    error_body,
)
from tavern_loader.adapters.http.route import (
    MIB,
    Route,
    checked_body,
    checked_path,
    checked_query,
)
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.walls import (
    ALWAYS,
    Head,
    Security,
    check_caller,
    check_media_type,
    check_origin,
    check_sizes,
)
from tavern_loader.adapters.http.wire import Answer, Call, json_answer, revision_of

API_ROOT = "/pmp-dsh-tavern/api"
READ_ONLY_METHODS = ("GET", "HEAD", "OPTIONS")
DRAINED_BYTES = 64 * MIB
"""A refused body up to here is read and dropped, so that the client gets to see the answer."""


@frozen(kw_only=True)
class TimeLimits:
    """How long a request may take."""

    body_s: float = 30.0
    """For the whole body to arrive."""
    work_s: float = 60.0
    """For the handler; what it began is not undone."""


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""


@define(eq=False)
class Api:
    """The API as an ASGI application; `close` ends its threads."""

    routes: Sequence[Route]
    services: HttpServices
    security: Security = field(factory=Security)
    limits: TimeLimits = field(factory=TimeLimits)
    complain: Callable[[str], None] = field(default=lambda _: None)
    """Gets a line about every defect: which route, which class of error."""
    readers: int = 4
    """Threads for requests that only read; more would only wait for the interpreter."""
    writers: int = 4
    """Threads for changes: they wait for each other, and no reader waits for them."""
    _router: Router = field(init=False)
    _reading: ThreadPoolExecutor = field(init=False)
    _writing: ThreadPoolExecutor = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Group the rows by path."""
        by_path: dict[str, dict[str, Route]] = {}
        for route in self.routes:
            by_path.setdefault(route.path, {})[route.method] = route
        matchers = [
            PathMatcher(API_ROOT + path, _Endpoint(self, rows)) for path, rows in by_path.items()
        ]
        self._router = Router(matchers, redirect_slashes=False, default=_Endpoint(self, {}))
        self._reading = ThreadPoolExecutor(self.readers, thread_name_prefix="http-read")
        self._writing = ThreadPoolExecutor(self.writers, thread_name_prefix="http-write")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._router.lifespan(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    def close(self) -> None:
        """End the threads once their work is done."""
        for threads in (self._reading, self._writing):
            threads.shutdown(wait=False, cancel_futures=True)

    async def run(self, route: Route, call: Call, data: bytes) -> Answer:
        """Let a handler work in a thread, which reads the body, too: a large one takes a while.

        Raises what the handler raises, and ApiError (400, 503) for a body of another form and for
        work that takes too long.
        """

        def work() -> Answer:
            return route.handle(self.services, evolve(call, body=checked_body(route, data)))

        threads = self._writing if route.keeps else self._reading
        running = asyncio.get_running_loop().run_in_executor(threads, work)
        try:
            return await asyncio.wait_for(running, self.limits.work_s)
        except TimeoutError as error:
            message = "the request takes too long; what it began may still be done"
            raise ApiError(503, "TAVERN_API_TIMEOUT", message) from error

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = _head(scope)
        try:
            check_sizes(head)
            check_caller(head, self.security)
        except ApiError as error:
            await _send(send, head, _error_answer(COMMON, error))
            return
        await self._router({**scope, "head": head}, receive, send)


@frozen
class _Endpoint:
    """All methods of one path."""

    api: Api = field(repr=False)
    rows: Mapping[str, Route]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head: Head = scope["head"]
        route = self.rows.get("GET" if head.method == "HEAD" else head.method)
        try:
            answer = await self._answer(route, scope, receive)
        except ClientGoneError:
            return
        except Exception as error:  # noqa: BLE001 - whatever happens, the client gets an answer
            answer = self._failed(route, error)
        await _send(send, head, answer)

    async def _answer(self, route: Route | None, scope: Scope, receive: Receive) -> Answer:
        head: Head = scope["head"]
        with _outside_of_route():
            if head.method not in READ_ONLY_METHODS:
                check_origin(head)
            if route is None:
                raise self._no_route()
            if route.changes:
                check_media_type(head, route.media_types)
        path = checked_path(route, scope.get("path_params", {}))
        query = checked_query(route, _query(scope))
        revision = revision_of(head.values("if-match")) if route.takes_revision else None
        data = await _body(route, head, receive, self.api.limits.body_s)
        return await self.api.run(route, Call(path=path, query=query, revision=revision), data)

    def _no_route(self) -> ApiError:
        if not self.rows:
            return ApiError(404, "NOT_FOUND", "not found")
        methods = [*self.rows, *(("HEAD",) if "GET" in self.rows else ())]
        allow = {"Allow": ", ".join(sorted(methods))}
        return ApiError(405, "METHOD_NOT_ALLOWED", "method not allowed", headers=allow)

    def _failed(self, route: Route | None, error: Exception) -> Answer:
        family = next(iter(self.rows.values())).family if self.rows else COMMON
        if isinstance(error, _OutsideError):
            is_wall = error.said.code.startswith("TAVERN_API_")
            return _error_answer(COMMON if is_wall else family, error.said)
        said = as_api_error(family, error)
        if said is None:
            name = f"{route.method} {route.path}" if route else "no route"
            self.api.complain(f"{name}: {type(error).__name__}")
            said = defect(family)
        return _error_answer(family, said)


class _OutsideError(Exception):
    """A request that never reached its route."""

    def __init__(self, said: ApiError) -> None:
        """Keep what the answer says."""
        super().__init__(str(said))
        self.said = said


@contextmanager
def _outside_of_route() -> Iterator[None]:
    try:
        yield
    except ApiError as error:
        raise _OutsideError(error) from error


def _head(scope: Scope) -> Head:
    client = scope.get("client")
    target = scope.get("raw_path", b"") or scope["path"].encode()
    return Head(
        method=scope["method"].upper(),
        target_bytes=len(target) + len(scope["query_string"]),
        headers=[
            (name.decode("latin-1").lower(), value.decode("latin-1"))
            for name, value in scope["headers"]
        ],
        peer=client[0] if client else None,
    )


def _query(scope: Scope) -> Mapping[str, str]:
    first: dict[str, str] = {}
    for name, value in QueryParams(scope["query_string"]).multi_items():
        first.setdefault(name, value)
    return first


async def _body(route: Route, head: Head, receive: Receive, limit_s: float) -> bytes:
    """Read a body that is no larger than its route takes, in the time it has."""
    if route.body is None:
        return b""
    limit = route.body.limit_bytes
    length = head.one("content-length") or "0"
    if length.isascii() and length.isdecimal() and int(length) > limit:
        raise _too_large(route, int(length))
    try:
        async with asyncio.timeout(limit_s):
            return await _received(route, receive, limit)
    except TimeoutError as error:
        message = "the body does not arrive in time"
        slow = ApiError(408, "TAVERN_API_TIMEOUT", message, headers={"Connection": "close"})
        raise _OutsideError(slow) from error


async def _received(route: Route, receive: Receive, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > limit:
            raise _too_large(route, size)
        if not message.get("more_body", False):
            return b"".join(pieces)


def _too_large(route: Route, size: int) -> ApiError:
    limit = 0 if route.body is None else route.body.limit_bytes
    headers = {"Connection": "close"} if size > DRAINED_BYTES else {}
    message = f"the body must not have more than {limit} bytes"
    return ApiError(413, route.too_large, message, headers=headers)


def _error_answer(family: Family, error: ApiError) -> Answer:
    return json_answer(error.status, error_body(family.shape, error), error.headers)


async def _send(send: Send, head: Head, answer: Answer) -> None:
    headers = [*ALWAYS, ("Content-Length", str(len(answer.body))), *answer.headers.items()]
    await send(
        {
            "type": "http.response.start",
            "status": answer.status,
            "headers": [
                (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers
            ],
        }
    )
    body = b"" if head.method == "HEAD" else answer.body
    await send({"type": "http.response.body", "body": body})
