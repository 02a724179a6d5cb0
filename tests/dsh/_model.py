"""A language model on this machine, as DSH's provider sees one: it answers what the test wants.

Owns a small HTTP server that takes chat completions and streams an answer. What a request says
decides the answer: the latest line of a user's message that begins with a word of `_Answer.choose`.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

REPLY = "The winch answers."
SESSION_HEADER = "x-deepseek-harness-session-id"


@dataclass(frozen=True)
class Asked:
    """One request."""

    session: str
    body: Mapping[str, Any] = field(repr=False)

    @property
    def is_step(self) -> bool:
        """Whether it is a step of an agent, and not the title of a session or a summary."""
        return bool(self.body.get("tools"))

    @property
    def system(self) -> str:
        """The system prompt."""
        first = self.body["messages"][0]
        return text_of(first["content"]) if first["role"] == "system" else ""

    @property
    def said(self) -> list[str]:
        """What the user's messages say, in order."""
        return [text_of(one["content"]) for one in self.body["messages"] if one["role"] == "user"]


def text_of(content: object) -> str:
    """Give the text of a message, written as one or in blocks."""
    if isinstance(content, str):
        return content
    blocks: Sequence[Any] = content if isinstance(content, list) else []
    return "".join(block.get("text", "") for block in blocks if isinstance(block, dict))


class Model:
    """The server; use it in a `with` statement."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: list[Asked] = []
        self._failed: set[str] = set()
        handler = type("Handler", (_Handler,), {"model": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The base address that DSH is given."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def steps(self) -> list[Asked]:
        """All steps so far."""
        with self._lock:
            return [one for one in self._asked if one.is_step]

    def steps_of(self, session: str) -> list[Asked]:
        """All steps of a session so far."""
        return [one for one in self.steps if one.session == session]

    def take(self, asked: Asked) -> tuple[int, list[Mapping[str, Any]]]:
        """Note a request; gives the status and the chunks of the answer."""
        with self._lock:
            self._asked.append(asked)
            command, _, rest = _command(asked).partition(" ")
            if command == "FAIL500" and asked.session not in self._failed:
                self._failed.add(asked.session)
                return 500, []
        if command == "SLOW":
            time.sleep(float(rest))
        if command == "TOOL" and not _is_done(asked):
            name, _, arguments = rest.partition(" ")
            return 200, [_tool_call(name, arguments or "{}"), {"finish": "tool_calls"}]
        return 200, [{"content": REPLY}, {"finish": "stop"}]


def _command(asked: Asked) -> str:
    """Find the line that tells what to do: the last one, in what was said last by a user."""
    if not asked.is_step:
        return ""
    lines = [line for text in asked.said for line in text.splitlines()]
    words = ("TOOL ", "FAIL500", "SLOW ")
    return next((line for line in reversed(lines) if line.startswith(words)), "")


def _is_done(asked: Asked) -> bool:
    """Whether the tool that was asked for has been called: its result is there."""
    messages = asked.body["messages"]
    wanted = [at for at, one in enumerate(messages) if "TOOL " in text_of(one["content"])]
    return any(one["role"] == "tool" for one in messages[wanted[-1] :])


def _tool_call(name: str, arguments: str) -> Mapping[str, Any]:
    function = {"name": name, "arguments": arguments}
    call = {"index": 0, "id": f"call_{time.monotonic_ns()}", "type": "function"}
    return {"tool_calls": [{**call, "function": function}]}


class _Handler(BaseHTTPRequestHandler):
    model: Model

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        """List the models, of which there is one."""
        model = {"id": "deepseek-v4-flash", "object": "model"}
        self._send(200, {"object": "list", "data": [model]})

    def do_POST(self) -> None:
        """Answer a chat completion."""
        size = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(size))
        asked = Asked(self.headers.get(SESSION_HEADER) or "", body)
        status, chunks = self.model.take(asked)
        if status != 200:
            self._send(status, {"error": {"message": "a failure that was asked for"}})
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in _events(chunks, body.get("model")):
            self.wfile.write(f"data: {event}\n\n".encode())
        self.close_connection = True

    def _send(self, status: int, document: object) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _events(chunks: Sequence[Mapping[str, Any]], model: object) -> Iterator[str]:
    head = {"id": "m", "object": "chat.completion.chunk", "created": 1, "model": model}
    yield json.dumps({**head, "choices": [_choice({"role": "assistant", "content": ""})]})
    for chunk in chunks:
        finish = chunk.get("finish")
        yield json.dumps({**head, "choices": [_choice({} if finish else chunk, finish)]})
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    yield json.dumps({**head, "choices": [], "usage": usage})
    yield "[DONE]"


def _choice(delta: Mapping[str, Any], finish: object = None) -> Mapping[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish}
