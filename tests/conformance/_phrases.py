"""The phrases of `recommended`: one row each, pattern and demands.

What stays unsaid: whatever is accepted must round trip (every adapter checks it), so "keep",
"preserve" and their kind demand acceptance only; values of a wrong type are read by the rules in
`_typed`, which the adapters check attribute by attribute, so "coerce" demands acceptance and a
diagnostic that points at the odd value.
"""

import re
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any

import attrs
from attrs import field, frozen

from tavern_format import DEFAULT_LIMITS, LimitExceededError, Limits
from tests.conformance._outcome import Outcome

_MIB = 1024 * 1024


@frozen
class View:
    """What a demand may look at."""

    outcome: Outcome
    sillytavern_accepts: bool | None
    """None where SillyTavern was not asked."""
    document: Any = field(default=None, repr=False)
    """The JSON of the input, where it is JSON."""
    data: bytes = field(default=b"", repr=False)
    again: Callable[[Limits], Outcome] | None = None
    """Parses the input once more under other limits."""
    checks: Mapping[str, Callable[[], str | None]] = field(factory=dict, repr=False)
    """Demands only the area can judge: each says what is wrong, or None."""


Demand = Callable[[View], str | None]


def as_sillytavern(view: View) -> str | None:
    """Accepted where SillyTavern accepts, refused where it refuses."""
    if view.sillytavern_accepts is None or view.outcome.accepted is view.sillytavern_accepts:
        return None
    return "must be accepted" if view.sillytavern_accepts else "must be refused, as by SillyTavern"


def _nothing(_: View) -> None:
    """For words that demand nothing, or nothing beyond what is always checked."""


def _accepted(view: View) -> str | None:
    return None if view.outcome.accepted else "must be accepted"


def _refused(view: View) -> str | None:
    return "must be refused" if view.outcome.accepted else None


def _remarked(view: View) -> str | None:
    """Demand a diagnostic; where SillyTavern refuses too, a refusal that gives a hint will do."""
    if view.outcome.accepted:
        return None if view.outcome.diagnostics else "must have a diagnostic"
    if view.sillytavern_accepts is False and _hint(view) is None:
        return None
    return "must be accepted with a diagnostic"


def _refused_or_remarked(view: View) -> str | None:
    remarked = not view.outcome.accepted or view.outcome.diagnostics
    return None if remarked else "must be refused or have a diagnostic"


def _hint(view: View) -> str | None:
    """Our refusals put hints in brackets, or behind a semicolon or a comma."""
    text = view.outcome.error.message if view.outcome.error else ""
    return None if re.search(r"\(.+\)|[;,] ", text) else "the refusal must give a hint"


def _message(pattern: str) -> Demand:
    def demand(view: View) -> str | None:
        text = view.outcome.error.message if view.outcome.error else ""
        return None if re.search(pattern, text) else f"the message must match {pattern!r}"

    return demand


def _code(pattern: str) -> Demand:
    """Demand a code, of the refusal or of a diagnostic."""

    def demand(view: View) -> str | None:
        return None if view.outcome.says(pattern) else f"must have a code like {pattern}"

    return demand


def _at(path: str) -> Demand:
    def demand(view: View) -> str | None:
        place = getattr(view.outcome.error, "path", None)
        return None if place == path else f"the refusal must be at {path}, not {place}"

    return demand


def _with_offset(view: View) -> str | None:
    offset = getattr(view.outcome.error, "offset_bytes", None)
    return None if isinstance(offset, int) else "the refusal must name a byte offset"


def _limit(name: str) -> Demand:
    def demand(view: View) -> str | None:
        fault = view.outcome.error
        named = isinstance(fault, LimitExceededError) and fault.limit == name
        return None if named else f"the limit {name} must be exceeded"

    return demand


def _adjustable(name: str, value: int) -> Demand:
    """Demand that a lower limit refuses the same input."""

    def demand(view: View) -> str | None:
        if view.again is None:
            return "this area has no limits to adjust"
        fault = view.again(attrs.evolve(DEFAULT_LIMITS, **{name: value})).error
        named = isinstance(fault, LimitExceededError) and fault.limit == name
        return None if named else f"a lower limit {name} must refuse it, not {fault!r}"

    return demand


def _frugal(view: View) -> str | None:
    if view.again is None:
        return "this area cannot be measured"
    tracemalloc.start()
    try:
        view.again(DEFAULT_LIMITS)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    allowed = _MIB + 16 * len(view.data)
    return None if peak < allowed else f"{peak} bytes were allocated, {allowed} are enough"


def _points_at_value(view: View) -> str | None:
    """Demand a diagnostic at a value that is there: the odd one."""
    places = (found.path for found in view.outcome.diagnostics)
    if any(_resolves(view.document, place) for place in places if place):
        return _accepted(view)
    return "must be accepted with a diagnostic at the odd value"


def _resolves(document: Any, place: str) -> bool:
    node = document
    for token in place.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and key.isdigit() and int(key) < len(node):
            node = node[int(key)]
        elif isinstance(node, dict) and key in node:
            node = node[key]
        else:
            return False
    return node is not None


def _line_number(view: View) -> str | None:
    lines = any(re.match(r"/\d+", found.path) for found in view.outcome.diagnostics)
    return None if lines else "a diagnostic must name the line"


def _area(name: str) -> Demand:
    def demand(view: View) -> str | None:
        if name not in view.checks:
            return f"this area has no check for {name!r}"
        return view.checks[name]()

    return demand


def _if_accepted(demand: Demand) -> Demand:
    return lambda view: demand(view) if view.outcome.accepted else None


def _if_refused(demand: Demand) -> Demand:
    return lambda view: None if view.outcome.accepted else demand(view)


_ROWS: tuple[tuple[str, tuple[Demand, ...]], ...] = (
    # acceptance
    ("ok(?=\\s*$)", (as_sillytavern,)),
    ("ok", (_accepted,)),
    ("(as|like) st|as sillytavern", (as_sillytavern,)),
    ("same( (detection|mapping|result))?", (as_sillytavern,)),
    ("st-compatible: \\w+", (as_sillytavern,)),
    ("(error|reject)( or |/)(diag|flag)", (_refused_or_remarked,)),
    ("error naming the detected kind", (_refused, _message("this is an? "))),
    ("reject traversal entry only", (_accepted, _area("no traversal"))),
    ("error|reject(ed)?|not supported", (_refused,)),
    ("diag(nostic)?|flag|report|warn(ing)?", (_remarked,)),
    ("either|no crash|never crash( on encode)?|no hang", (_nothing,)),
    ("maybe hint", (_nothing,)),
    ("hint( \\w+)?: json", (_message("JSON"),)),
    ("hint: nested", (_refused, _message("under `"))),
    ("hint double encoded", (_code("PNG_DOUBLE_BASE64"),)),
    ("hint", (_refused, _hint)),
    ("accept only root card\\.json( \\(diag\\))?", (_area("root card only"),)),
    ("accept by shape|read by shape( as v2)?", (_accepted, _area("by shape"))),
    ("accept (object by )?values", (_accepted, _area("by values"))),
    ("(detect|recogni[sz]e|convert)\\b[\\w\\s-]*", (_accepted, _area("dialect"))),
    ("accept with caller-supplied name", (_accepted, _code("NAME_MISSING"))),
    ("accept bom", (_accepted, _code("BYTE_ORDER_MARK"))),
    ("accept|handle|card readable|plain data|untouched", (_accepted,)),
    ("read with output limit", (_accepted, _adjustable("png_text_bytes", 16))),
    ("st cannot", (lambda view: "SillyTavern can" if view.sillytavern_accepts else None,)),
    ("read", (_accepted,)),
    # what is kept and what is made of it
    ("keep int exact", (_nothing,)),
    ("keep via escape", (_accepted, _area("escaped"))),
    ("keep name", (_accepted,)),
    ("only file names are limited", (_area("file name is limited"),)),
    ("keep both", (_accepted, _area("keeps both"))),
    ("(data|v1|v2|name|extensions) wins|ignored?|kept|lossless|survives?", (_accepted,)),
    ("keep strings|raw kept|lossless keep|keep as unknown|keep", (_accepted,)),
    ("preserve bytes", (_accepted, _area("bytes are kept"))),
    ("preserve( unknown)?", (_accepted,)),
    ("coerced? (to (a )?\\w+|known numerics)", (_points_at_value,)),
    ("coerced?", (_points_at_value,)),
    ("replace", (_accepted, _code("ENCODING_REPLACED"))),
    ("treat as \\[\\]|(\\w+ ?= ?)?\\[\\]", (_accepted,)),
    ("default enabled", (_accepted, _area("enabled by default"))),
    ("default 4", (_accepted, _code("FIELD_TYPE"))),
    ("skip", (_accepted, _code("ITEM_TYPE|ENTRY_TYPE"))),
    ("last wins", (_accepted, _code("JSON_KEY_REPEATED"))),
    ("first( wins)?", (_accepted, _area("first wins"))),
    ("ccv3 wins", (_accepted, _area("ccv3 wins"))),
    ("fall back", (_accepted, _code("PNG_FALLBACK"))),
    ("expose asset chunks", (_accepted, _area("asset chunks"))),
    ("map to constant", (_accepted, _area("constant"))),
    ("drop empty key", (_accepted, _area("no empty key"))),
    ("never fetch", (_accepted,)),
    ("decode with limits", (_accepted, _area("data uri"))),
    ("never drop silently", (_accepted, _code("CHAT_LINE_UNREAD"))),
    ("split on \\\\n only|never use str\\.splitlines\\(\\)", (_accepted, _area("line feeds only"))),
    ("empty chat", (_code("EMPTY_INPUT"),)),
    # details of refusals and diagnostics
    ("missing fields", (_code("FIELDS_MISSING"),)),
    ("missing header", (_code("CHAT_HEADER_MISSING"),)),
    ("missing data", (_at("/data"),)),
    ("missing card\\.json", (_code("CHARX_NO_CARD"),)),
    ("missing name", (_code("NAME_MISSING"),)),
    ("field[ =](data\\.)?name empty|empty name", (_code("NAME_MISSING"),)),
    ("field=name", (_code("NAME_TYPE"), _at("/name"))),
    ("field=data\\.name", (_code("NAME_TYPE"), _at("/data/name"))),
    ("unknown spec", (_code("SPEC_UNKNOWN"),)),
    ("encoding|invalid utf-8", (_code("ENCODING_.+"),)),
    ("with position", (_with_offset,)),
    ("not[- ]a[- ]card", (_code("CARD_NOT_FOUND|EMPTY_INPUT|JSON_SYNTAX"),)),
    ("non-finite", (_code("JSON_NUMBER"),)),
    ("json truncated", (_code("JSON_TRUNCATED"),)),
    ("truncated", (_code("\\w+_TRUNCATED"),)),
    ("json", (_code("JSON_.+"),)),
    ("depth limit", (_limit("json_depth_levels"),)),
    ("size limit configurable", (_accepted, _adjustable("json_bytes", 1024))),
    ("below limit", (_adjustable("json_bytes", 1024),)),
    ("ihdr must be first", (_code("PNG_IHDR_FIRST"),)),
    ("no card", (_code("PNG_NO_CARD"),)),
    ("not png", (_code("PNG_SIGNATURE|PICTURE_WITHOUT_CARD"),)),
    ("crc", (_code("PNG_CRC"),)),
    ("base64", (_code("PNG_(TEXT|DOUBLE)_BASE64"),)),
    ("empty", (_code("EMPTY_INPUT"),)),
    ("length( > remaining)?", (_code("PNG_CHUNK_LENGTH"),)),
    ("no allocation", (_frugal,)),
    ("trailing", (_if_accepted(_code("\\w*(BASE64|TRAILING)\\w*")),)),
    ("duplicate", (_code("\\w*(REPEATED|DUPLICATE)\\w*"),)),
    ("encrypted", (_code("\\w*ENCRYPTED\\w*"),)),
    ("compressed chunk", (_code("PNG_TEXT_COMPRESSED"),)),
    ("unmapped camelcase", (_code("EXTENSION_UNMAPPED"),)),
    ("lossy", (_area("says what is lost"),)),
    ("line number", (_line_number,)),
    (
        "((zip|size|ratio|entry|chunk|memory|configurable) )?limits?",
        (_if_refused(_code("LIMIT_EXCEEDED")),),
    ),
    ("missing [\\w.]+", (_code("\\w*(MISSING|NO_|NOT_FOUND|SHAPE|TYPE|CHARACTER)\\w*"),)),
    ("(not a )?zip", (_code("ZIP_.+"),)),
    ("alias(es)?", (_code("YAML_ALIAS"),)),
    ("yaml", (_code("YAML_.+"),)),
    ("wrong type|type", (_code("\\w+_TYPE"),)),
    ("syntax", (_code("\\w+_SYNTAX"),)),
    ("shape", (_code("\\w+_SHAPE"),)),
)
PHRASES: tuple[tuple[re.Pattern[str], tuple[Demand, ...]], ...] = tuple(
    (re.compile(rf"(?:{pattern})(?!\w)", re.IGNORECASE), demands) for pattern, demands in _ROWS
)
"""In this order: the first pattern that fits the words is taken."""
