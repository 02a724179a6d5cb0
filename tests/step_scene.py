"""A host in miniature: sessions that take the steps of a real one and ask a `HostApp` at each hook.

It follows the host contract, section 4: what is inserted, claimed, assembled, logged and sent, in
that order, and which texts are where in the logs of two generations. What it hands on is what the
bridge hands on. Templates are read by the host's own rule, so a text that would make the host throw
makes a test fail.
"""

import json
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from attrs import define, field

from tavern_loader.app import HostApp, host_methods
from tavern_loader.errors import CancelledError
from tavern_loader.installation import Installation, open_installation
from tavern_loader.service.binding import Wish
from tavern_loader.service.reading import SourceFile
from tavern_trace import HistorySnapshot, TraceRecord, TraceStore, history_from_json, load_store

PROFILE = "pmp-dsh-tavern:profile"
PART = "pmp-dsh-tavern:part:"
STORAGE = "pmp-dsh-tavern"
_GROUP = re.compile(r"\{\{([^{}]*)\}\}")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class TemplateError(ValueError):
    """The host would end the turn."""


def interpolate(text: str, variables: Mapping[str, str]) -> str:
    """Put variables into a text as the host does; raises TemplateError where it throws."""
    result, last = "", 0
    while (opening := text.find("{{", last)) >= 0:
        group = _GROUP.match(text, opening)
        if group is None:
            if text.find("}}", opening + 2) >= 0:
                raise TemplateError("malformed")
            result += text[last : opening + 2]
            last = opening + 2
            continue
        if not _NAME.fullmatch(group[1]) or group[1] not in variables:
            raise TemplateError("unknown")
        result += text[last:opening] + variables[group[1]]
        last = group.end()
    return result + text[last:]


class Generation(Enum):
    """Where a host logs the system text."""

    HEADER = 0
    """In the request header: 0.1.0 and 0.1.2."""
    MESSAGE = 3
    """In a message of its own: 0.1.5."""


class Wanted:
    """A call that somebody waits for."""

    requested = False

    def raise_if_requested(self) -> None:
        """Go on."""


class Unwanted:
    """A call that nobody waits for any more."""

    requested = True

    def raise_if_requested(self) -> None:
        """Stop."""
        raise CancelledError


@define
class HostStub:
    """What the services ask of the host, noted."""

    asked: list[tuple[Any, ...]] = field(factory=list)
    logs: dict[str, Any] = field(factory=dict)
    running: frozenset[str] = frozenset()

    def set_sandbox_mode(self, session_id: str, mode: str) -> None:
        self.asked.append(("sandbox", session_id, mode))

    def cancel(self, session_id: str, reason: str) -> None:
        self.asked.append(("cancel", session_id, reason))

    def lock_tools(self, locked: Sequence[str], free: Sequence[str], reason: str) -> None:
        self.asked.append(("locks", tuple(locked), tuple(free), reason))

    def session_header(self, session_id: str) -> Mapping[str, Any] | None:
        header: Mapping[str, Any] | None = self.logs.get(session_id, {}).get("meta")
        return header

    def inspect(self, session_id: str) -> Mapping[str, Any] | None:
        return self.logs.get(session_id)

    def is_running(self, session_id: str) -> bool:
        return session_id in self.running

    def sessions(self) -> Sequence[Mapping[str, Any]]:
        return ()

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        self.asked.append(("tell", method, params))


@define
class StepScene:
    """One home of a host, with an app that serves it."""

    home: Path
    config: dict[str, Any] = field(factory=dict)
    host: HostStub = field(factory=HostStub)
    app: HostApp = field(init=False)
    hello: Mapping[str, Any] = field(init=False)
    _installation: Installation | None = None

    def __attrs_post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin a new process: nothing in memory is left."""
        self.app = host_methods(self.home, self.host)
        self.hello = self.call("initialize", protocol=1, config=self.config) or {}

    def call(self, method: str, **params: Any) -> Any:
        """Send a message."""
        return self.app.methods[method](params, Wanted())

    @property
    def installation(self) -> Installation:
        """The stores, as the command line sees them."""
        if self._installation is None:
            self._installation = open_installation(self.home / STORAGE)
        return self._installation

    def add(self, document: object, name: str = "one.json") -> str:
        """Import a resource and give its id."""
        file = SourceFile(name=name, data=json.dumps(document).encode())
        return self.installation.importing.take(file, name="").resources[0].id

    def bind(self, **wish: Any) -> None:
        """Bind resources as the default of new sessions."""
        self.installation.binding.bind_default(Wish(**wish))

    def rebind(self, session_id: str, **wish: Any) -> None:
        """Bind resources to a session."""
        self.installation.binding.bind_session(session_id, Wish(**wish))

    def session(self, session_id: str = "session-1", **facts: Any) -> "ModelSession":
        """Open a session."""
        session = ModelSession(self, session_id, **facts)
        session.open()
        return session

    def records(self, session_id: str = "session-1") -> tuple[TraceRecord, ...]:
        """Read the records of a session from the disk."""
        return self.trace().records(session_id)

    def settle(self) -> None:
        """Let everything be done and written that waits."""
        service = self.app.service
        assert service is not None
        assert service.background is not None
        service.background.drain()
        service.tracing.shelf.flush()

    def trace(self) -> TraceStore:
        """Read all records from the disk, once what waits is written."""
        self.settle()
        return load_store((self.home / STORAGE / "tavern-trace-records.json").read_bytes())

    def kept_texts(self) -> str:
        """Read everything that lies in the stores, once what waits is written."""
        self.settle()
        files = [path for path in self.home.rglob("*") if path.is_file()]
        return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


@define
class ModelSession:
    """One session of the miniature host."""

    scene: StepScene
    id: str
    generation: Generation = Generation.HEADER
    parent: "ModelSession | None" = None
    seed_length: int = 0
    subagent: bool = False
    events: list[dict[str, Any]] = field(factory=list)
    turn: int = 0
    step: int = 0
    host_sections: list[dict[str, str]] = field(
        factory=lambda: [
            {"name": "harness:identity", "text": "You are {{model}}."},
            {"name": PROFILE, "text": ""},
            {"name": "rp:policy", "text": ""},
            {"name": "tool:read", "text": "Read files."},
        ]
    )
    host_config: dict[str, Any] = field(factory=lambda: {"provider": "p", "model": "m"})
    refuses: tuple[str, ...] = ()
    """Settings that the model does not take."""
    sections: list[dict[str, str]] = field(factory=list)
    contexts: list[dict[str, str]] = field(factory=list)
    system: str = ""
    config: dict[str, Any] = field(factory=dict)
    answer: dict[str, Any] = field(factory=dict)
    _shown_system: str | None = None
    _claimed: list[dict[str, Any]] = field(factory=list)
    _queue: list[dict[str, Any]] = field(factory=list)

    # --- the log -------------------------------------------------------------------------

    @property
    def facts(self) -> dict[str, Any]:
        """The session as messages name it."""
        header: dict[str, Any] = {
            "version": self.generation.value,
            "id": self.id,
            "createdAt": 1_700_000_000_000,
            "cwd": "/work",
        }
        if self.parent is not None:
            header["parentSession"] = self.parent.id
        if self.seed_length:
            header["seedLength"] = self.seed_length
        if self.subagent:
            header |= {"origin": "subagent", "delegationDepth": 1}
        is_running = any(event["type"] == "turn/start" for event in self.events[-1:]) or (
            self.turn > 0 and self.events[-1]["type"] != "turn/end"
        )
        return {"id": self.id, "header": header, "seq": self.seq, "running": is_running}

    @property
    def seq(self) -> int:
        """Number of the next event."""
        return len(self.events)

    def log(self, event_type: str, **data: Any) -> dict[str, Any]:
        """Log an event; those that were asked for are told at once."""
        event = {"type": event_type, "seq": self.seq, "time": 0, "data": data}
        self.events.append(event)
        if event_type in self.scene.hello["events"]:
            self.scene.call("session/event", sessionId=self.id, event=event)
        return event

    def open(self, source: str = "startup") -> None:
        """Introduce the session."""
        self.sync()
        self.scene.call("session/start", session=self.facts, source=source)

    def sync(self) -> None:
        """Tell the past, in two parts."""
        own = [
            event
            for event in self.events[self.seed_length :]
            if event["type"] in self.scene.hello["replay"]
        ]
        headers = [event for event in self.events if event["type"] == "request/header"]
        contexts = [event for event in self.events if event["type"] == "request/context"]
        half = len(own) // 2
        call = self.scene.call
        call("session/sync", session=self.facts, events=own[:half], first=True, last=False)
        call(
            "session/sync",
            session=self.facts,
            events=own[half:],
            first=False,
            last=True,
            requestHeader=headers[-1] if headers else None,
            requestContext=contexts[-1] if contexts else None,
        )

    def fork(self, session_id: str, seed_length: int) -> "ModelSession":
        """Open a fork that has the first events of this one."""
        fork = ModelSession(
            self.scene, session_id, self.generation, parent=self, seed_length=seed_length
        )
        fork.events = [dict(event) for event in self.events[:seed_length]]
        turns = [event["data"]["turn"] for event in fork.events if event["type"] == "turn/start"]
        fork.turn = max(turns, default=0)
        fork.open()
        return fork

    def messages(self) -> list[dict[str, Any]]:
        """Derive the messages."""
        derived = []
        for event in self.events:
            if event["type"] == "user/message":
                derived.append(event["data"])
            elif event["type"] in ("assistant/message", "tool/result"):
                derived.append(event["data"]["message"])
        return derived

    def history(self) -> HistorySnapshot:
        """Read the log cold, as a verification does."""
        return history_from_json(
            {"meta": self.facts["header"], "events": self.events, "surface": self.surface()}
        )

    def surface(self) -> list[int]:
        """List the events on the message surface."""
        kinds = ("system/message", "user/message", "assistant/message", "tool/result")
        return [event["seq"] for event in self.events if event["type"] in kinds]

    # --- a turn --------------------------------------------------------------------------

    def say(self, text: str) -> "ModelSession":
        """Take a whole turn of one step."""
        self.insert(text)
        self.begin_turn()
        self.take_step()
        self.end_turn()
        return self

    def insert(self, text: str, **changes: Any) -> dict[str, Any]:
        """Put a message into the inbox."""
        message = {
            "id": f"{self.id}-m{self.seq}",
            "role": "user",
            "source": {"kind": "user"},
            "content": [{"type": "text", "text": text}],
            **changes,
        }
        start = len(self._queue)
        self._queue.append(message)
        self.log("agent/inbox/spliced", target="next-turn", start=start, inserted=[message])
        return message

    def begin_turn(self) -> None:
        """Begin a turn and claim what waits."""
        self.turn += 1
        self.step = 0
        self.log("turn/start", turn=self.turn)
        self.claim()

    def claim(self) -> None:
        """Claim what waits."""
        if self._queue:
            count = len(self._queue)
            self._claimed, self._queue = self._queue, []
            self.log(
                "agent/inbox/spliced",
                target="next-turn",
                start=0,
                removedCount=count,
                inserted=[],
            )

    def take_step(self, reply: str = "Fine.") -> None:
        """Take a step from assembly to answer."""
        self.assemble()
        self.enter()
        self.request()
        self.stream()
        self.reply(reply)

    def assemble(self, cancellation: Any = None, **changes: Any) -> dict[str, Any]:
        """Ask for parts and put them in place, as the bridge does."""
        self.step += 1
        params = self.assembling(**changes)
        handler = self.scene.app.methods["assemble"]
        answer = handler(params, cancellation or Wanted())
        assert answer is not None
        self.answer = json.loads(json.dumps(answer))
        self._apply(self.answer)
        self.scene.call(
            "assembled",
            session=self.facts,
            turn=None,
            step=None,
            sections=self.sections,
            contexts=self.contexts,
            variables=self.variables,
        )
        return self.answer

    def assembling(self, **changes: Any) -> dict[str, Any]:
        """Give what the bridge sends to have a step assembled."""
        kept = self.scene.hello["historyMessages"]
        spoken = [message for message in self.messages() if _texts(message)]
        earlier: dict[str, int] = {}
        for message in spoken[:-kept]:
            kind = f"{message['role']}/{message['source']['kind']}"
            earlier[kind] = earlier.get(kind, 0) + 1
        return {
            "session": self.facts,
            "turn": None,
            "step": None,
            "sections": self.host_sections,
            "variables": {"model": "m"},
            "history": spoken[-kept:],
            "earlier": earlier,
            "tools": [],
            **changes,
        }

    @property
    def variables(self) -> dict[str, str]:
        """Give what stands for the names in templates."""
        return {"model": "m", **self.answer.get("variables", {})}

    def _apply(self, answer: Mapping[str, Any]) -> None:
        self.sections, self.contexts = list(self.host_sections), []
        if "failed" in answer:
            return
        texts = {one["name"]: one["text"] for one in answer["set"]}
        placed: list[dict[str, str]] = []
        for section in self.sections:
            if section["name"] == answer["replace"]["name"] and not section["text"]:
                placed += answer["replace"]["parts"]
            else:
                placed.append({**section, "text": texts.get(section["name"], section["text"])})
        if answer["keep"] is not None:
            placed = [one for one in placed if _is_kept(one["name"], answer["keep"])]
        self.sections, self.contexts = placed, list(answer["contexts"])

    def enter(self) -> None:
        """Enter the step: the claimed input becomes history."""
        place = {"turn": self.turn, "step": self.step}
        self.scene.call("pre-step", session=self.facts, rejected=False, **place)
        self.log("step/start", **place)
        for message in self._claimed:
            self.log("user/message", **message)
        self._claimed = []
        self.system = "\n\n".join(
            text for one in self.sections if (text := interpolate(one["text"], self.variables))
        )
        if self.contexts:
            self._log_contexts()

    def _log_contexts(self) -> None:
        shown = [
            {"name": one["name"], "text": interpolate(one["text"], self.variables)}
            for one in self.contexts
        ]
        body = "Current runtime context.\n\n" + "\n\n".join(one["text"] for one in shown)
        self.log(
            "user/message",
            role="user",
            id=f"{self.id}-c{self.seq}",
            content=[{"type": "text", "text": body}],
            source={
                "kind": "plugin",
                "plugin": "@deepseek-ai/dsh-system-prompt",
                "form": "snapshot",
                "sections": shown,
            },
        )

    def request(self) -> dict[str, Any]:
        """Prepare a call; the last configuration is what the host offers for the next one."""
        offered = {**self.host_config, **self.config}
        self.config = self._configured(offered, None)
        for name in self.refuses:
            if name in self.config:
                refused = {"code": "UNSUPPORTED_PARAMETER", "message": f"{name} is not supported"}
                self.config = self._configured(offered, refused)
        header: dict[str, Any] = {"config": self.config, "tools": []}
        if self.generation is Generation.HEADER:
            header["system"] = self.system
        elif self._shown_system != self.system:
            content = [{"type": "text", "text": self.system}]
            message = {"id": f"{self.id}-s{self.seq}", "role": "system", "content": content}
            self.log("system/message", message=message)
        known = [one for one in self.events if one["type"] == "request/header"]
        if not known or known[-1]["data"]["header"] != header:
            self.log("request/header", header=header, reason="change" if known else "initial")
        self._shown_system = self.system
        return self.config

    def _configured(self, offered: dict[str, Any], refused: object) -> dict[str, Any]:
        place = {"turn": self.turn, "step": self.step}
        answer = self.scene.call(
            "request", session=self.facts, config=offered, refused=refused, **place
        )
        return dict(answer["config"])

    def stream(self, **changes: Any) -> None:
        """Send the request to the model."""
        systems = [one for one in self.events if one["type"] == "system/message"]
        snapshots = [one for one in self.events if _is_snapshot(one)]
        surface = [*systems[-1:], *snapshots[-1:]]
        is_header = self.generation is Generation.HEADER
        params: dict[str, Any] = {
            "session": self.facts,
            "purpose": None,
            "system": self.system if is_header else None,
            "messages": [_message(event) for event in surface],
            "surface": surface,
            "provider": "p",
            "model": "m",
            "toolNames": ["read"],
            "logCutSeq": self.seq - 1,
            "config": self.config,
            **changes,
        }
        self.scene.call("stream", **params)

    def reply(self, text: str) -> None:
        """Log an answer and end the step."""
        place = {"turn": self.turn, "step": self.step}
        message = {
            "id": f"{self.id}-a{self.seq}",
            "role": "assistant",
            "source": {"kind": "model"},
            "content": [{"type": "text", "text": text}] if text else [],
        }
        self.log("assistant/message", message=message, **place)
        self.log("step/end", **place)

    def end_turn(self, **reason: Any) -> None:
        """End the turn."""
        self.log("turn/end", turn=self.turn, reason=reason or {"kind": "completed"})

    # --- what came of it -----------------------------------------------------------------

    @property
    def parts(self) -> list[str]:
        """The texts of the latest parts, as the model reads them."""
        return [
            interpolate(one["text"], self.variables)
            for one in self.sections
            if one["name"].startswith(PART)
        ]


def _texts(message: Mapping[str, Any]) -> list[str]:
    blocks = message["content"]
    return [block["text"] for block in blocks if block["type"] == "text" and block["text"]]


def _is_kept(name: str, kept: Sequence[str]) -> bool:
    return any(name == one or (one.endswith(":") and name.startswith(one)) for one in kept)


def _is_snapshot(event: Mapping[str, Any]) -> bool:
    source = event["data"].get("source", {}) if event["type"] == "user/message" else {}
    return bool(source.get("form") == "snapshot")


def _message(event: Mapping[str, Any]) -> Any:
    return event["data"]["message"] if event["type"] == "system/message" else event["data"]


def world(*entries: Mapping[str, Any]) -> dict[str, Any]:
    """Write a world book in SillyTavern's form."""
    return {"entries": {str(at): {"uid": at, **entry} for at, entry in enumerate(entries)}}


def card(**fields: Any) -> dict[str, Any]:
    """Write a character card."""
    data = {"name": "Maren", "description": "{{char}} runs the night ferry.", **fields}
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}


def preset(*prompts: Mapping[str, Any], **settings: Any) -> dict[str, Any]:
    """Write a preset whose prompts are all on, in their order."""
    order = [{"identifier": one["identifier"], "enabled": True} for one in prompts]
    return {
        "prompts": list(prompts),
        "prompt_order": [{"character_id": 100001, "order": order}],
        **settings,
    }
