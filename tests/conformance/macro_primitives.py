"""Area `primitives`: what macros are made of, value by value.

Compared: hashes, seeded numbers and the whole chain of `{{pick}}`, dice, durations, dates, what
reads as yes or no, trimming, numbers as text. What belongs to other parts is not compared here:
formats around lore and file names.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from tavern_compiler import MacroContext, expand_macros
from tavern_compiler._js_date_format import humanize
from tavern_compiler._js_date_parse import parse_timestamp
from tavern_compiler._js_json import result_text
from tavern_compiler._js_number import number_text, to_number
from tavern_compiler._js_random import SeededRandom, string_hash
from tavern_compiler._macro_call import dedent
from tavern_compiler._macro_rows_time import shifted
from tavern_compiler._macro_shorthand import reads_false
from tavern_compiler._text import trim
from tavern_compiler.macro_table import Parameter, ValueType
from tavern_format import parse_script_regex
from tests.conformance._cases import Case
from tests.conformance._findings import Findings, NotComparable

_NOW = datetime(2024, 3, 15, 14, 5, 9, tzinfo=UTC)
_SPANS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400, "years": 31_557_600}
"""In seconds."""


def load(area: str, document: Any) -> Iterator[Case]:
    """Read the lists of the file: a case for each entry."""
    for kind, entries in document.items():
        if isinstance(entries, list):
            for at, fields in enumerate(entries):
                yield Case(area, f"{kind}/{at}", {**fields, "kind": kind})


def check(case: Case, findings: Findings) -> None:
    """Compare one entry with what we compute."""
    compute = _KINDS.get(case.fields["kind"])
    if compute is None:
        reason = "belongs to no macro"
        raise NotComparable(reason)
    for key, ours in compute(case.fields).items():
        findings.same(key, ours, case.fields[key])


Fields = Mapping[str, Any]


def _hash(fields: Fields) -> Fields:
    text = fields["input"]
    if text is None:
        reason = "only texts have a hash"
        raise NotComparable(reason)
    return {"hash": string_hash(text)}


def _seeded(random: SeededRandom, fields: Fields) -> Fields:
    return {"doubles": [random.random() for _ in fields["doubles"]]}


def _pick_chain(fields: Fields) -> Fields:
    chat, content = string_hash(fields["chat_id"]), string_hash(fields["raw_content"])
    parts = (chat, content, fields["offset"], fields["reroll_seed"])
    combined = "-".join(str(part) for part in parts if part is not None)
    seed = str(string_hash(combined))
    first = SeededRandom(seed).random()
    return {
        "chat_hash": chat,
        "content_hash": content,
        "combined": combined,
        "final_seed": seed,
        "first_double": first,
        "index_of_5": math.floor(first * 5),
    }


def _dice(fields: Fields) -> Fields:
    text = fields["formula"]
    if text.isdigit():
        reason = "the macro puts a d in front of digits"
        raise NotComparable(reason)
    shown = expand_macros(f"{{{{roll::{text}}}}}", MacroContext(dice=lambda _: 0.5)).text
    return {"valid": shown != ""}


def _duration(fields: Fields) -> Fields:
    milliseconds = round(fields["amount"] * _SPANS[fields["unit"]] * 1000)
    return {
        "humanize": humanize(milliseconds),
        "with_suffix": humanize(milliseconds, with_suffix=True),
    }


def _is_true(fields: Fields) -> Fields:
    text = fields["input"]
    boolean = Parameter("", types=(ValueType.BOOLEAN,))
    return {"result": boolean.takes(text) and not reads_false(text)}


def _regex(fields: Fields) -> Fields:
    found = parse_script_regex(fields["input"])
    return {
        "source": None if found is None else found.source,
        "flags": None if found is None else found.flags,
    }


def _shifted(fields: Fields) -> Fields:
    at = shifted(_NOW, f"{fields['offset']:+d}") or _NOW
    return {"result": at.strftime("%Y-%m-%d %H:%M")}


def _timestamp(fields: Fields) -> Fields:
    at = parse_timestamp(fields["input"], UTC)
    if at is None:
        return {"iso": None}
    milliseconds = at.astimezone(UTC).isoformat(timespec="milliseconds")
    return {"iso": milliseconds.replace("+00:00", "Z")}


_KINDS: Mapping[str, Callable[[Fields], Fields]] = {
    "string_hash": _hash,
    "seedrandom_string_seed": lambda fields: _seeded(SeededRandom(fields["seed"]), fields),
    "seedrandom_number_seed": lambda fields: _seeded(
        SeededRandom.of_number(fields["seed"]), fields
    ),
    "pick_chain": _pick_chain,
    "droll_validate": _dice,
    "humanize": _duration,
    "is_true_boolean": _is_true,
    "is_false_boolean": lambda fields: {"result": reads_false(fields["input"])},
    "trim_scoped": lambda fields: {
        "dedent": dedent(fields["input"]),
        "no_dedent": trim(fields["input"]),
    },
    "normalize_result": lambda fields: {"result": result_text(fields["value"])},
    "regex_from_string": _regex,
    "utc_offset": _shifted,
    "js_number": lambda fields: {"number": number_text(to_number(fields["input"]))},
    "js_number_to_string": lambda fields: {"string": number_text(float(fields["json"]))},
    "timestamp": _timestamp,
}
