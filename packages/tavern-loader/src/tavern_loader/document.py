"""A compilation as one JSON document for programs.

Owns the shape of the document, which the README describes; SCHEMA is raised when it changes.
"""

import math
from typing import Any

import attrs

from tavern_compiler import Part, PartSource
from tavern_format import Position
from tavern_loader.service.compile_files import Compilation
from tavern_loader.service.groundwork import Groundwork
from tavern_loader.service.resources import Remark
from tavern_matcher import Decision, explain

SCHEMA = 1


def json_document(done: Compilation) -> dict[str, Any]:
    """Give everything of a compilation as values that JSON can hold."""
    profile = done.profile
    common = groundwork_document(done)
    return {
        "schema": SCHEMA,
        "files": common.pop("files"),
        "parts": [_part(part) for part in profile.parts],
        **common,
        "active_lore": list(profile.active_lore),
        "call_config": attrs.asdict(profile.call_config) | {"stop": list(profile.call_config.stop)},
        "system_prompt_mode": profile.system_prompt_mode,
        "user_injection": attrs.asdict(profile.user_injection),
    }


def groundwork_document(done: Groundwork) -> dict[str, Any]:
    """Give what every result says of files, entries, draws and diagnostics."""
    return {
        "files": [attrs.asdict(used) for used in done.used],
        "entries": [_decision(decision) for decision in done.match.decisions],
        "draws": [attrs.asdict(draw) for draw in done.match.draws],
        "diagnostics": [_remark(remark) for remark in done.remarks],
    }


def _sizes(of: Part | PartSource) -> dict[str, Any]:
    return {
        "size_chars": of.size_chars,
        "size_utf16": of.size_utf16,
        "size_utf8_bytes": of.size_utf8_bytes,
        "hash": of.hash,
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "name": part.name,
        "text": part.text,
        **_sizes(part),
        "sources": [attrs.asdict(source) | _sizes(source) for source in part.sources],
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "book": decision.entry.book,
        "index": decision.entry.index,
        "uid": decision.entry.uid,
        "title": decision.title,
        "fired": decision.fired,
        "reason": decision.reason,
        "explanation": explain(decision),
        "cause": decision.cause,
        "loop": decision.loop,
        "state": decision.state.name,
        "keys": list(decision.keys),
        "secondary_keys": list(decision.secondary_keys),
        "logic": None if decision.logic is None else decision.logic.name,
        "scan_depth_messages": decision.scan_depth_messages,
        "scanned_messages": decision.scanned_messages,
        "matches": [attrs.asdict(match) for match in decision.matches],
        "group": decision.group or None,
        "group_share": None if decision.group_share is None else list(decision.group_share),
        "draw": None if decision.draw is None else attrs.asdict(decision.draw),
        "threshold_percent": _number(decision.threshold),
        "tokens": decision.tokens,
        "budget_before_tokens": decision.budget_before_tokens,
        "budget_after_tokens": decision.budget_after_tokens,
        "budget_tokens": decision.budget_tokens,
        "requested_position": _name(decision.position),
        "applied_position": _name(decision.applied_position),
    }


def _name(position: Position | None) -> str | None:
    return None if position is None else position.name


def _number(value: float | None) -> float | None:
    """JSON has no number for a chance that is none."""
    return None if value is None or math.isnan(value) else value


def _remark(remark: Remark) -> dict[str, Any]:
    found = remark.diagnostic
    return {
        "source": remark.source,
        "severity": found.severity,
        "code": found.code,
        "path": found.path,
        "message": found.message,
    }
