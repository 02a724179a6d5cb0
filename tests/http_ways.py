"""The ways to each error that a route of the HTTP API can give, by the code of the error.

Each begins with a good request. Must not know how the API is reached.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tavern_loader.adapters.http.route import Route
from tests.http_contract import MIB, REQUESTS, Trial, name_of
from tests.http_scene import Reply

Way = Callable[[Trial], Reply]


def _with_headers(**headers: str) -> Way:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda trial: trial.send(headers=given)


def _long_target(trial: Trial) -> Reply:
    return trial.send(trial.target + ("&" if "?" in trial.target else "?") + "a=" + "b" * 9000)


def _many_headers(trial: Trial) -> Reply:
    return trial.send(more_headers=[(f"x-{number}", "b") for number in range(101)])


def _malformed(trial: Trial) -> Reply:
    """Send something of another form: the body, else a parameter."""
    route = trial.route
    if route.body is not None and route.body.schema is not None:
        return trial.send(data=b'{"half": ', content=None)
    if route.query:
        wrong = "f" * 1025 if route.query[0].name == "filename" else "a%2Fb"
        return trial.send(trial.target_with({}, f"{route.query[0].name}={wrong}"))
    return trial.send(trial.target_with({route.path_parameters[-1].name: "a%20b"}))


def _too_large(trial: Trial) -> Reply:
    assert trial.route.body is not None
    length = str(trial.route.body.limit_bytes + 1)
    return trial.send(pieces=[], headers={"content-length": length})


def _not_there(trial: Trial) -> Reply:
    """Ask for an id that is none; where a session says which, take away what it has."""
    last = trial.route.path_parameters[-1:]
    if last:
        return trial.send(trial.target_with({last[0].name: "gone"}))
    kind = trial.route.path.removeprefix("/v1/").removesuffix("-selection")
    (trial.place.folder / f"{kind}s" / f"{trial.ids[f'{kind}Id']}.json").unlink()
    return trial.send()


def _too_many_sessions(trial: Trial) -> Reply:
    sessions = {f"n-{number}": {"selection": {}, "updatedAt": "x"} for number in range(2048)}
    _write(trial, "session-selections.json", {"schemaVersion": 2, "sessions": sessions})
    return trial.send()


def _too_many_owners(trial: Trial) -> Reply:
    owners = {f"n-{number}": {"worldBookIds": ["a"], "updatedAt": "x"} for number in range(4096)}
    first = dict(list(owners.items())[:2048])
    _write(trial, "user-world-book-bindings.json", {"schemaVersion": 1, "bindings": first})
    bindings = {"preset": owners, "character": {}}
    _write(trial, "resource-world-book-bindings.json", {"schemaVersion": 1, "bindings": bindings})
    return trial.send()


def _too_many_templates(trial: Trial) -> Reply:
    kept = json.loads((trial.place.folder / "session-templates.json").read_bytes())
    more = [{**kept["templates"][0], "id": f"n-{number}"} for number in range(99)]
    _write(trial, "session-templates.json", {**kept, "templates": [*kept["templates"], *more]})
    return trial.send()


def _full(name: str, size_bytes: int) -> Way:
    """Fill a file up to its limit first."""

    def way(trial: Trial) -> Reply:
        path = trial.place.folder / name
        kept = json.loads(path.read_bytes()) if path.exists() else _EMPTY[name]
        # What is there already is changed, not added to.
        _write(trial, name, {**kept, **_EMPTY[name], "filling": "f" * (size_bytes - 150)})
        return trial.send()

    return way


_EMPTY: Mapping[str, Mapping[str, Any]] = {
    "session-selections.json": {"schemaVersion": 2, "sessions": {}},
    "user-world-book-bindings.json": {"schemaVersion": 1, "bindings": {}},
    "resource-world-book-bindings.json": {
        "schemaVersion": 1,
        "bindings": {"preset": {}, "character": {}},
    },
    "session-templates.json": {"schemaVersion": 1, "selectedId": None},
}


def _write(trial: Trial, name: str, document: object) -> None:
    (trial.place.folder / name).write_text(json.dumps(document), encoding="utf-8")


def _full_document(trial: Trial) -> Reply:
    """Let a card be as large as it may be first, where the request itself is not too large."""
    if trial.route.too_large == "CHARACTER_DOCUMENT_TOO_LARGE":
        return _too_large(trial)
    if trial.route.path_parameters:
        name = f"characters/{trial.ids['characterId']}.json"
        kept = json.loads((trial.place.folder / name).read_bytes())
        _write(trial, name, {**kept, "filling": ""})
        size = (trial.place.folder / name).stat().st_size
        _write(trial, name, {**kept, "filling": "f" * (16 * MIB - size)})
        book = {"entries": [{"keys": ["k"], "content": "c" * 10_000}]}
        return trial.send(content={"characterBook": book})
    return trial.send()


def _large_profile(trial: Trial) -> Reply:
    prompt = {"identifier": "main", "name": "Main", "role": "system", "content": "x" * 600_000}
    target = f"/v1/presets/{trial.ids['presetId']}"
    edited = trial.client.put(target, {"prompts": [{**prompt, "enabled": True}]})
    assert edited.status == 200
    return trial.send()


def _unavailable(trial: Trial) -> Reply:
    (trial.place.folder / "users" / f"{trial.ids['userId']}.json").unlink()
    return trial.send()


def _just_send(trial: Trial) -> Reply:
    return trial.send()


def _while_running(trial: Trial) -> Reply:
    return trial.running().send()


WAYS: Mapping[str, Way] = {
    "TAVERN_API_HOST_FORBIDDEN": _with_headers(host="evil.example"),
    "TAVERN_API_ORIGIN_FORBIDDEN": _with_headers(origin="http://evil.example"),
    "TAVERN_API_CONTENT_TYPE_REQUIRED": _with_headers(content_type="text/plain"),
    "TAVERN_API_REMOTE_FORBIDDEN": lambda trial: trial.send(peer="10.0.0.1"),
    "TAVERN_API_TARGET_TOO_LONG": _long_target,
    "TAVERN_API_HEADERS_TOO_LARGE": _many_headers,
    "REVISION_CONFLICT": _with_headers(if_match='"sha256-0"'),
    "PROMPT_SESSION_INVALID": lambda trial: trial.send(trial.target_with({"sessionId": "-x"})),
    "WRONG_KIND": _just_send,
    "USER_ID_EXISTS": _just_send,
    "SESSION_CONFIGURATION_UNAVAILABLE": _unavailable,
    "SESSION_SELECTION_LIMIT_REACHED": _too_many_sessions,
    "SESSION_SELECTION_STORAGE_LIMIT_REACHED": _full("session-selections.json", 4 * MIB),
    "USER_WORLD_BOOK_BINDING_LIMIT_REACHED": _too_many_owners,
    "USER_WORLD_BOOK_BINDING_STORAGE_LIMIT_REACHED": _full(
        "user-world-book-bindings.json", 2 * MIB
    ),
    "RESOURCE_WORLD_BOOK_BINDING_LIMIT_REACHED": _too_many_owners,
    "RESOURCE_WORLD_BOOK_BINDING_STORAGE_LIMIT_REACHED": _full(
        "resource-world-book-bindings.json", 4 * MIB
    ),
    "SESSION_TEMPLATE_LIMIT_REACHED": _too_many_templates,
    "SESSION_TEMPLATE_STORAGE_LIMIT_REACHED": _full("session-templates.json", MIB // 2),
    "CHARACTER_DOCUMENT_TOO_LARGE": _full_document,
    "TAVERN_PROFILE_TOO_LARGE": _large_profile,
}
"""By code; the other codes of a kind of fault have one way in common."""


def way_to(route: Route, status: int, code: str) -> Way:
    """Find the way to an error; there must be one."""
    if code in WAYS:
        return WAYS[code]
    if code.endswith("_AGENT_RUNNING"):
        return _while_running
    if status == 404:
        is_written_down = code in REQUESTS[name_of(route)].get("else", {})
        return _just_send if is_written_down else _not_there
    if (status, code) == (400, route.family.invalid):
        return _malformed
    assert (status, code) == (413, route.too_large), f"no way to {code} is known"
    return _too_large
