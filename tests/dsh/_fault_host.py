"""Another half for the bridge, that fails on request: `python _fault_host.py FOLDER`.

It speaks over the real link, answers `assemble` with one part that shows what it was told, and does
what the user's pending text says: die, be slow, answer wrongly. Everything it is sent goes into
`FOLDER/messages.ndjson`; `FOLDER/pid` is the process that is running.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from tavern_loader.adapters.hosting import run_host
from tavern_loader.adapters.link import Handler
from tavern_loader.errors import LoaderError
from tavern_loader.ports import Cancellation, JsonObject

ANCHOR = "pmp-dsh-tavern:profile"
LARGE_CHARS = 2_000_000
EVENTS = ["agent/inbox/spliced", "turn/start", "turn/end", "step/start", "user/message"]
BRACES = '{{user}} {{ random::a,b }} {{{x}}} }} {{unclosed and {"json":{"a":{}}}'


@define
class Inbox:
    """What waits in a session, as far as the tests need it: no replacing, no cancelling."""

    waiting: dict[str, list[str]] = field(factory=lambda: {"next-turn": [], "next-step": []})
    claimed: list[str] = field(factory=list)

    def take(self, event: JsonObject) -> None:
        """Follow one event."""
        data = event["data"]
        if event["type"] == "agent/inbox/spliced":
            queue, start = self.waiting[data["target"]], data["start"]
            end = start + data.get("removedCount", 0)
            gone = queue[start:end]
            queue[start:end] = [_text(message) for message in data["inserted"]]
            if not data["inserted"] and data.get("outcome") != "canceled":
                self.claimed += gone
        elif event["type"] in {"turn/end", "step/start"}:
            self.claimed = []


@define
class Faults:
    """The handlers."""

    folder: Path
    inboxes: dict[str, Inbox] = field(factory=dict)
    host: Any = None
    inline: Mapping[str, Callable[[JsonObject], None]] = field(factory=dict)
    lock: threading.Lock = field(factory=threading.Lock)

    @property
    def methods(self) -> Mapping[str, Handler]:
        """The function for each method: everything is noted."""
        special = {
            "initialize": self.initialize,
            "session/sync": self.sync,
            "session/event": self.event,
            "assemble": self.assemble,
            "request": self.request,
            "tool": self.tool,
            "command": lambda params, _: {"text": f"heard {params['arguments']}"},
        }
        plain = ("session/start", "session/end", "assembled", "pre-step", "request-error")
        nothing: dict[str, Handler] = {
            name: lambda _, __: {} for name in (*plain, "agent-error", "stream", "shutdown")
        }
        return {name: self.noted(name, one) for name, one in {**nothing, **special}.items()}

    def close(self) -> None:
        """Note the end."""
        self.note("closed", {})

    def noted(self, name: str, handler: Handler) -> Handler:
        """Note a message before it is handled."""

        def run(params: JsonObject, cancellation: Cancellation) -> JsonObject | None:
            self.note(name, params)
            return handler(params, cancellation)

        return run

    def note(self, name: str, params: JsonObject) -> None:
        """Write one line."""
        line = json.dumps({"pid": os.getpid(), "method": name, "params": params})
        with self.lock, (self.folder / "messages.ndjson").open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")

    def initialize(self, _: JsonObject, __: Cancellation) -> JsonObject:
        """Greet, unless a file says that this must not work."""
        if (self.folder / "no-start").exists():
            os._exit(3)
        (self.folder / "pid").write_text(str(os.getpid()), encoding="utf-8")
        return {
            "protocol": 1,
            "version": "0",
            "events": EVENTS,
            "replay": EVENTS[:4],
            "historyMessages": 10,
            "sections": [{"name": ANCHOR, "order": 10}],
            "commands": [{"name": "fault", "description": "a command of the fault host"}],
        }

    def inbox(self, session_id: str) -> Inbox:
        """Give the inbox of a session."""
        return self.inboxes.setdefault(session_id, Inbox())

    def sync(self, params: JsonObject, _: Cancellation) -> None:
        """Begin anew with a session."""
        session_id = params["session"]["id"]
        if params["first"]:
            self.inboxes[session_id] = Inbox()
        for event in params["events"]:
            self.inbox(session_id).take(event)

    def event(self, params: JsonObject, _: Cancellation) -> None:
        """Follow a session."""
        self.inbox(params["sessionId"]).take(params["event"])

    def assemble(self, params: JsonObject, cancellation: Cancellation) -> JsonObject:
        """Do what the pending text says, and answer."""
        claimed = self.inbox(params["session"]["id"]).claimed
        for text in claimed:
            self.obey(text, cancellation)
        large = any("LARGE" in text for text in claimed)
        texts = ["x" * LARGE_CHARS if large else f"FAULT-HOST claimed={claimed}", BRACES]
        parts = [
            {"name": f"pmp-dsh-tavern:part:{at:04}:preset:x", "text": _protected(text)}
            for at, text in enumerate(texts)
        ]
        answer = {
            "replace": {"name": ANCHOR, "parts": parts},
            "keep": None,
            "set": [],
            "contexts": [{"name": "tavern:late", "text": "LATE " + _protected(BRACES)}],
            "variables": {"tavern_lb": "{{"},
        }
        failed = any("FAILED" in text for text in claimed)
        return {**answer, "failed": "TOO_BAD: asked for"} if failed else answer

    def obey(self, text: str, cancellation: Cancellation) -> None:
        """Fail as the text says."""
        first = self.folder / "died"
        if "ALWAYSDIE" in text or ("DIEONCE" in text and not first.exists()):
            first.touch()
            os._exit(3)
        if "REFUSE" in text:
            raise LoaderError("REFUSED", "asked for")
        if "FAULT" in text:
            raise KeyError(text)
        if "DEAFPY" in text:
            time.sleep(float(text.partition("DEAFPY ")[2].split()[0]))
        if "SLOWPY" in text:
            end = time.monotonic() + float(text.partition("SLOWPY ")[2].split()[0])
            while time.monotonic() < end:
                time.sleep(0.01)
                if cancellation.requested:
                    self.note("cancelled", {})
                    cancellation.raise_if_requested()

    def request(self, params: JsonObject, _: Cancellation) -> JsonObject:
        """Set what can be set, unless the session's name says to leave it."""
        if params["session"]["id"].endswith("plain"):
            return {"config": params["config"]}
        wanted = {"temperature": 0.37, "maxTokens": 321, "stop": ["<END>"]}
        return {"config": {**params["config"], **wanted}}

    def tool(self, params: JsonObject, _: Cancellation) -> JsonObject:
        """Deny one tool, end the step with another; lock a session, and give no verdict."""
        arguments = params["arguments"] or {}
        if params["name"] == "bash":
            return {"deny": "the fault host says no"}
        if params["name"] == "glob":
            return {"deny": "no, and stop", "cancel": "rp-high-risk-block"}
        if "lock" in arguments:
            self.host.lock_tools([arguments["lock"]], [], "locked by the fault host")
        if arguments.get("file_path") == "unanswered":
            raise LoaderError("NO_VERDICT", "asked for")
        return {}


@frozen
class _Build:
    folder: Path

    def __call__(self, _: Path, host: Any) -> Faults:
        return Faults(self.folder, host=host)


def _text(message: JsonObject) -> str:
    return "".join(block.get("text", "") for block in message["content"])


def _protected(text: str) -> str:
    return text.replace("{{", "{{tavern_lb}}")


if __name__ == "__main__":
    FOLDER = Path(sys.argv[1])
    code = run_host(_Build(FOLDER), FOLDER)
    os._exit(code)
