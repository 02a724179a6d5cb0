"""The link to the host's bridge: JSON-RPC 2.0 both ways over two byte streams.

Owns order, cancellation, answers and errors, as DESIGN.md says under "The link". Must not know
what a method means: `app.py` says which function handles which.
"""

import itertools
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from pathlib import PurePath
from traceback import extract_tb
from typing import Any, BinaryIO

from attrs import field, frozen

from tavern_loader.adapters.keyed_threads import KeyedThreads
from tavern_loader.adapters.link_errors import (
    UnknownMethodError,
    error_object,
    host_error,
    unreadable,
)
from tavern_loader.adapters.link_lines import BadLine, decode_line, encode_line, read_line
from tavern_loader.errors import CancelledError, HostError, LoaderError, ParametersError
from tavern_loader.ports import Cancellation, JsonObject

Handler = Callable[[JsonObject, Cancellation], JsonObject | None]
Inline = Callable[[JsonObject], None]
Complain = Callable[[str], None]

CALL_TIMEOUT_S = 10.0
"""How long the bridge may take to answer."""
DRAIN_TIMEOUT_S = 2.0
"""How long work may go on after the end of input."""
SHUTDOWN_TIMEOUT_S = 0.5
"""How long it may go on after `shutdown`: the bridge kills what has not ended after two seconds
(dsh/link.js), and what is left of them is for writing."""

_NO_SESSION = ""


@frozen
class _Token:
    """The cancellation of one call."""

    _event: threading.Event = field(factory=threading.Event)

    @property
    def requested(self) -> bool:
        return self._event.is_set()

    def raise_if_requested(self) -> None:
        if self._event.is_set():
            raise CancelledError

    def request(self) -> None:
        self._event.set()


class Link:
    """One connection, from its first line to the end of input."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO, complain: Complain) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._complain = complain
        self._writing = threading.Lock()
        self._threads = KeyedThreads()
        self._methods: Mapping[str, Handler] = {}
        self._inline: Mapping[str, Inline] = {}
        self._tokens: dict[int | str, _Token] = {}
        """Calls of the other side that are not answered yet."""
        self._ids = itertools.count(1)
        self._calls: dict[int, Future[JsonObject]] = {}
        """Our own calls that are not answered yet."""
        self._reader: int | None = None
        self._ending = threading.Event()
        self._is_drained = False
        """Nothing that still runs is worth waiting for."""

    def serve(
        self, methods: Mapping[str, Handler], inline: Mapping[str, Inline] | None = None
    ) -> None:
        """Handle messages until the input ends or `shutdown` was answered."""
        self._methods = methods
        self._inline = inline or {}
        self._reader = threading.get_ident()
        while not self._ending.is_set():
            line = read_line(self._incoming)
            if line is None:
                break
            self._receive(line if isinstance(line, BadLine) else decode_line(line))
        self._end()

    def call(
        self, method: str, params: JsonObject, timeout_s: float = CALL_TIMEOUT_S
    ) -> JsonObject:
        """Ask the bridge; raises HostError with what it says, or HOST_TIMEOUT, HOST_GONE."""
        if threading.get_ident() == self._reader:
            raise RuntimeError("a call on the reading thread would wait for itself")
        number = next(self._ids)
        answer: Future[JsonObject] = Future()
        self._calls[number] = answer
        try:
            self._send({"id": number, "method": method, "params": params})
            return answer.result(timeout_s)
        except TimeoutError as error:
            message = f"the host did not answer {method} within {timeout_s:g} s"
            raise HostError("HOST_TIMEOUT", message) from error
        finally:
            del self._calls[number]

    def notify(self, method: str, params: JsonObject) -> None:
        """Tell the bridge; raises MessageTooLargeError, and HostError if it is gone."""
        self._send({"method": method, "params": params})

    def _send(self, message: Mapping[str, Any]) -> None:
        line = encode_line({"jsonrpc": "2.0", **message})
        try:
            with self._writing:
                self._outgoing.write(line)
                self._outgoing.flush()
        except (OSError, ValueError) as error:
            raise HostError("HOST_GONE", "the host has closed the link") from error

    def _receive(self, message: JsonObject | BadLine) -> None:
        if isinstance(message, BadLine):
            self._refuse(message)
        elif "method" not in message:
            self._settle(message)
        elif message["method"] == "$/cancel":
            self._cancel(message.get("params"))
        elif message["method"] == "ping":
            self._answer(message.get("id"), result={})
        elif message["method"] in self._inline:
            self._handle_inline(message)
        else:
            self._queue(message)

    def _refuse(self, line: BadLine) -> None:
        self._complain(f"a line of the link was dropped: {line.reason}")
        self._answer(line.call_id, error=unreadable(line.reason))

    def _settle(self, message: JsonObject) -> None:
        """Hand an answer to the thread that waits for it; a late one goes nowhere."""
        number = message.get("id")
        answer = self._calls.get(number) if isinstance(number, int) else None
        if answer is None:
            return
        try:
            if "error" in message:
                answer.set_exception(host_error(message["error"]))
            else:
                result = message.get("result")
                answer.set_result(result if isinstance(result, dict) else {})
        except InvalidStateError:
            self._complain("the host answered a call twice")

    def _cancel(self, params: object) -> None:
        number = params.get("id") if isinstance(params, dict) else None
        token = self._tokens.get(number) if isinstance(number, int | str) else None
        if token is not None:
            token.request()

    def _handle_inline(self, message: JsonObject) -> None:
        try:
            self._inline[message["method"]](_params(message))
        except Exception as error:  # noqa: BLE001 (a fault in one stream must not end the link)
            self._report(message["method"], error)

    def _queue(self, message: JsonObject) -> None:
        token = _Token()
        if "id" in message:
            self._tokens[message["id"]] = token
        self._threads.submit(_key(message), partial(self._handle, message, token))

    def _handle(self, message: JsonObject, token: _Token) -> None:
        number = message.get("id")
        try:
            self._answer(number, result=self._run(message, token))
        except Exception as error:  # noqa: BLE001 (every call gets an answer, every fault a line)
            if number is None or not isinstance(error, LoaderError):
                self._report(message["method"], error)
            self._answer(number, error=error_object(error))
        finally:
            if number is not None:
                self._tokens.pop(number, None)
        if message["method"] == "shutdown":
            self._ending.set()

    def _run(self, message: JsonObject, token: _Token) -> JsonObject:
        token.raise_if_requested()
        method = message["method"]
        if method == "shutdown":
            return self._shut_down(message, token)
        handler = self._methods.get(method)
        if handler is None:
            raise UnknownMethodError(method)
        return handler(_params(message), token) or {}

    def _shut_down(self, message: JsonObject, token: _Token) -> JsonObject:
        # What was sent before it is done before it is answered, unless it takes too long: one
        # session that is slow must not cost the others what is not written yet.
        self._give_up_calls(but=token)
        self._threads.wait_idle(SHUTDOWN_TIMEOUT_S, but=_key(message))
        handler = self._methods.get("shutdown")
        answer = None if handler is None else handler(_params(message), token)
        self._is_drained = True
        return answer or {}

    def _answer(
        self, number: object, *, result: JsonObject | None = None, error: JsonObject | None = None
    ) -> None:
        """Answer a call; a notification has no number and gets none."""
        if number is None:
            return
        body = {"result": result} if error is None else {"error": error}
        try:
            self._send({"id": number, **body})
        except HostError:
            self._ending.set()
        except (LoaderError, TypeError, ValueError) as fault:
            self._report("an answer", fault)
            if error is None:
                self._answer(number, error=error_object(fault))

    def _report(self, what: str, error: Exception) -> None:
        """Write one line: where it happened, and no text that may be a resource's."""
        said = error.code if isinstance(error, LoaderError) else type(error).__name__
        frames = extract_tb(error.__traceback__)
        place = f" ({PurePath(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
        self._complain(f"{what} failed: {said}{place}")

    def _end(self) -> None:
        self._ending.set()
        self._give_up_calls()
        for answer in tuple(self._calls.values()):
            with suppress(InvalidStateError):
                answer.set_exception(HostError("HOST_GONE", "the host has closed the link"))
        if not self._is_drained:
            self._threads.wait_idle(DRAIN_TIMEOUT_S)

    def _give_up_calls(self, *, but: _Token | None = None) -> None:
        """Let all calls know that nobody waits for them any more."""
        for token in tuple(self._tokens.values()):
            if token is not but:
                token.request()


def _key(message: JsonObject) -> str:
    """Find the session a message belongs to."""
    params = message.get("params")
    if not isinstance(params, dict):
        return _NO_SESSION
    session = params.get("session")
    named = session.get("id") if isinstance(session, dict) else params.get("sessionId")
    return named if isinstance(named, str) else _NO_SESSION


def _params(message: JsonObject) -> JsonObject:
    params = message.get("params", {})
    if not isinstance(params, dict):
        raise ParametersError("params must be an object")
    return params
