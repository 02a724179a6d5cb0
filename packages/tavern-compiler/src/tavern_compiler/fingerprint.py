"""One hash of everything that a model is shown and called with.

Owns what goes in and its form: canonical JSON, so that neither machine nor order of keys matters.
Names, sources, ids, dates and counters stay out: two compiles that a model cannot tell apart have
one fingerprint. Must not know where a text comes from.

Source: the plugin contract, sections A10 and K8, repaired.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256

from tavern_compiler.call_config import CallConfig

FINGERPRINT_SCHEMA = 1
"""Part of the hash; rises when what goes in changes."""


def fingerprint_of(
    parts: Iterable[str], late_parts: Iterable[str], mode: str, config: CallConfig
) -> str:
    """Hash the texts of the parts, the late ones, the mode and the call settings: SHA-256, hex.

    Where one part ends and the next begins counts; half a surrogate pair is kept apart from others.
    """
    document = {
        "schema": FINGERPRINT_SCHEMA,
        "parts": list(parts),
        "late_parts": list(late_parts),
        "mode": str(mode),
        "call": _call(config),
    }
    # ASCII only: the same bytes everywhere, and a lone surrogate is an escape and no error.
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return sha256(text.encode("ascii")).hexdigest()


def _call(config: CallConfig) -> Mapping[str, object]:
    heat = config.temperature
    return {
        # 1 and 1.0 are one number in JSON, and one temperature.
        "temperature": int(heat) if heat is not None and heat == int(heat) else heat,
        "max_tokens": config.max_tokens,
        "reasoning_effort": config.reasoning_effort,
        "stop": list(config.stop),
    }
