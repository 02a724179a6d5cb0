"""SillyTavern's messages as one JSON document for programs.

Owns the shape, which the README describes; SCHEMA is raised when it changes.
"""

from typing import Any

import attrs

from tavern_compiler import Dropped, PromptMessage, ScriptUse, Variables
from tavern_loader.document import groundwork_document
from tavern_loader.service.project_files import MessageList

SCHEMA = 1


def message_document(done: MessageList, *, counted_with: str) -> dict[str, Any]:
    """Give everything of a message list as values that JSON can hold."""
    projection = done.projection
    state = projection.macro_state
    variables = state if isinstance(state, Variables) else Variables()
    common = groundwork_document(done)
    return {
        "schema": SCHEMA,
        "files": common.pop("files"),
        "messages": [_message(one) for one in projection.messages],
        "dropped": [_dropped(one) for one in projection.dropped],
        "over_budget": projection.over_budget,
        "tokens": {
            "counted_with": counted_with,
            "budget": done.budget_tokens,
            "messages": sum(one.tokens for one in projection.messages),
        },
        "scripts": [_use(one) for one in projection.scripts],
        "variables": {"local": dict(variables.local), "shared": dict(variables.shared)},
        **common,
    }


def _message(message: PromptMessage) -> dict[str, Any]:
    return {
        "role": message.role,
        "content": message.content,
        "name": message.name,
        "identifier": message.identifier,
        "tokens": message.tokens,
        "size_chars": len(message.content),
        "sources": [{**attrs.asdict(source), "path": source.path} for source in message.sources],
    }


def _dropped(dropped: Dropped) -> dict[str, Any]:
    return {
        "identifier": dropped.identifier,
        "tokens": dropped.tokens,
        "code": dropped.diagnostic.code,
        "paths": [source.path for source in dropped.sources],
    }


def _use(use: ScriptUse) -> dict[str, Any]:
    return {"text": use.text_path, "script": use.run.path, **attrs.asdict(use.run)}
