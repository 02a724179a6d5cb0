"""JavaScript regular expressions: which texts are one, and the same matches from Python.

Owns the two rules by which SillyTavern 1.19.0 reads a text as a regular expression (keys of
world books: public/scripts/world-info.js; find patterns of regex scripts:
public/scripts/utils.js), the verdict whether JavaScript accepts a pattern, and the
translation for the `regex` module, which is neither imported nor run here. Nothing raises for
what a text says; a refusal is a value with a stable code. Reading time is linear in the text.
"""

import re
from itertools import accumulate

from ._js_regex_parser import Parsed, parse
from ._js_regex_reader import Fault, join_surrogates
from ._js_regex_translator import write_pattern
from ._js_regex_values import (
    Deviation,
    InvalidPattern,
    JsRegexSource,
    NotRegex,
    SubjectForm,
    Translation,
    Untranslatable,
)
from ._js_regex_writer import Refusal, Writer

__all__ = [
    "MAX_EXPANSION_PARTS",
    "MAX_NESTING",
    "MAX_PATTERN_CHARS",
    "Deviation",
    "InvalidPattern",
    "JsRegexSource",
    "NotRegex",
    "SubjectForm",
    "Translation",
    "Untranslatable",
    "classify_key",
    "classify_script",
    "construct_regex",
    "from_subject",
    "parse_key_regex",
    "parse_script_regex",
    "to_subject",
    "translate",
]

MAX_PATTERN_CHARS = 4096
"""Far above what people write; compiling one of this size takes tens of milliseconds."""

MAX_NESTING = 40
"""The `regex` module compiles by recursion: this depth leaves most of Python's stack free."""

MAX_EXPANSION_PARTS = 20_000
"""The `regex` module writes required repeats out when it compiles: this is about 30 MiB."""

_ENGINE_FLAGS = "dgimsuy"
_KEY_FLAGS = frozenset("gimsuy")
_SCRIPT_FLAGS = frozenset("gmixXsuUAJ")
_LINE = re.compile("[^\n\r\u2028\u2029]+")
_SCRIPT_FORM = re.compile("/(.+)/([A-Za-z]*)", re.DOTALL)
_UNESCAPED_SLASH = re.compile(r"(?:\A|[^\\])/")
_SOURCE_PART = re.compile(r"\\?[\n\r\u2028\u2029]|\\.|[\[\]/]", re.DOTALL)
_LINE_END_ESCAPES = {"\n": "\\n", "\r": "\\r", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_CASELESS_REFERENCE = Deviation(
    code="CASELESS_REFERENCE",
    reason="a reference that ignores case compares by Unicode's folding, where also the"
    " Kelvin sign is a k, the long s an s and the dotted capital I an i",
)


def classify_key(text: str) -> JsRegexSource | NotRegex:
    r"""Read a world book key as a regular expression, or say why it is literal text.

    The text must be `/body/flags` as a whole: trim a key first, as SillyTavern does. Only the
    first `\/` of the body becomes a slash, and no other slash may be unescaped.

    Source: SillyTavern 1.19.0, parseRegexFromString in public/scripts/world-info.js.
    """
    end = text.rfind("/")
    if not text.startswith("/") or end < 1:
        return NotRegex(code="NO_SLASHES", reason="a regular expression stands between slashes")
    body, flags = text[1:end], text[end + 1 :]
    if not body:
        return NotRegex(code="EMPTY_BODY", reason="there is nothing between the slashes")
    if not _KEY_FLAGS.issuperset(flags):
        return NotRegex(code="UNKNOWN_FLAGS", reason="flags can only be g, i, m, s, u and y")
    if _UNESCAPED_SLASH.search(body):
        return NotRegex(code="INNER_SLASH", reason="a slash between the slashes is not escaped")
    return _or_not_regex(construct_regex(body.replace("\\/", "/", 1), flags))


def parse_key_regex(text: str) -> JsRegexSource | None:
    """Read a world book key as a regular expression; None if the key is literal text."""
    verdict = classify_key(text)
    return verdict if isinstance(verdict, JsRegexSource) else None


def classify_script(text: str) -> JsRegexSource | NotRegex:
    """Read the find pattern of a regex script, or say why the script never runs.

    Slashes are optional: without them the first line is the pattern. With them, the pattern
    ends at the last slash of the first line, and text after the flags is ignored. Flags that
    repeat or are unknown make the whole text, slashes included, the pattern.

    Source: SillyTavern 1.19.0, regexFromString in public/scripts/utils.js.
    """
    line = _LINE.search(text)
    if line is None:
        return NotRegex(code="NO_TEXT", reason="there is no text to be the pattern")
    form = _SCRIPT_FORM.match(line[0])
    if form is None:
        return _or_not_regex(construct_regex(line[0]))
    pattern, flags = form.groups()
    if not _SCRIPT_FLAGS.issuperset(flags) or len(set(flags)) < len(flags):
        return _or_not_regex(construct_regex(text))
    return _or_not_regex(construct_regex(pattern, flags))


def parse_script_regex(text: str) -> JsRegexSource | None:
    """Read the find pattern of a regex script; None if the script never runs."""
    verdict = classify_script(text)
    return verdict if isinstance(verdict, JsRegexSource) else None


def _or_not_regex(verdict: JsRegexSource | InvalidPattern) -> JsRegexSource | NotRegex:
    if isinstance(verdict, InvalidPattern):
        return NotRegex(code=verdict.code, reason=verdict.reason)
    return verdict


def construct_regex(pattern: str, flags: str = "") -> JsRegexSource | InvalidPattern:
    """Do what JavaScript's `new RegExp(pattern, flags)` does, short of matching.

    The verdict is that of Node 20. Its v flag is not known here and so invalid.
    """
    verdict = _read(pattern, flags, max_nesting=0)
    if isinstance(verdict, InvalidPattern):
        return verdict
    return JsRegexSource(
        pattern=pattern, source=_escape_source(pattern), flags="".join(sorted(flags))
    )


def _read(pattern: str, flags: str, *, max_nesting: int) -> Parsed | InvalidPattern:
    if not set(_ENGINE_FLAGS).issuperset(flags) or len(set(flags)) < len(flags):
        reason = "a flag is unknown or repeated"
        return InvalidPattern(code="INVALID_FLAGS", reason=reason, offset=0)
    unicode = "u" in flags
    units = from_subject(pattern) if unicode else to_subject(pattern, "utf16")
    try:
        return parse(units, unicode=unicode, ignore_case="i" in flags, max_nesting=max_nesting)
    except Fault as fault:
        offset = _original_offset(pattern, unicode=unicode, index=fault.index)
        return InvalidPattern(code=fault.code, reason=fault.reason, offset=offset)


def _original_offset(pattern: str, *, unicode: bool, index: int) -> int:
    """Turn an index into the text as the parser saw it into one into the text as given."""
    if unicode:
        before = from_subject(pattern)[:index]
        paired = len(pattern) - len(from_subject(pattern))
        return index if not paired else _count_given(pattern, len(to_subject(before, "utf16")))
    return _count_given(pattern, index)


def _count_given(pattern: str, units: int) -> int:
    widths = accumulate(1 + (char > "\uffff") for char in pattern)
    return sum(1 for width in widths if width <= units)


def _escape_source(pattern: str) -> str:
    """Give what `RegExp.prototype.source` shows for a pattern."""
    in_class = False

    def escape(match: re.Match[str]) -> str:
        nonlocal in_class
        part = match[0]
        if part[-1] in _LINE_END_ESCAPES:
            return _LINE_END_ESCAPES[part[-1]]
        if part == "/":
            return part if in_class else "\\/"
        if part in ("[", "]"):
            in_class = part == "["
        return part

    return _SOURCE_PART.sub(escape, pattern) or "(?:)"


def translate(
    source: JsRegexSource,
    *,
    max_pattern_chars: int = MAX_PATTERN_CHARS,
    max_nesting: int = MAX_NESTING,
    max_expansion_parts: int = MAX_EXPANSION_PARTS,
) -> Translation | Untranslatable | InvalidPattern:
    """Give a pattern for the `regex` module (VERSION0) that matches what JavaScript would.

    The result is exact for a text in the form `Translation.subject` names, but for what its
    `deviations` say and for characters whose properties changed between Unicode versions. A
    group inside a repetition that took no part in the last round is the empty text, where
    JavaScript has no value. With the u flag Node's engine also finds empty matches between the
    two halves of a character above U+FFFF; here there is no such position.

    The limits are a pattern's length in code points, the depth of its brackets, and the number
    of its characters and brackets once required repeats are written out. Compile and
    match the result under a time limit all the same: no limit here excludes patterns that
    take exponential time.

    Raises:
        ValueError: `max_nesting` is above `MAX_NESTING`.
    """
    if max_nesting > MAX_NESTING:
        raise ValueError(f"max_nesting can be at most {MAX_NESTING}")
    if len(source.pattern) > max_pattern_chars:
        return _untranslatable("PATTERN_TOO_LONG", "the pattern is too long")
    parsed = _read(source.pattern, source.flags, max_nesting=max_nesting)
    if isinstance(parsed, InvalidPattern):
        return parsed
    unicode = "u" in source.flags
    if parsed.too_deep is not None:
        offset = _original_offset(source.pattern, unicode=unicode, index=parsed.too_deep)
        return _untranslatable("NESTING_TOO_DEEP", "brackets are nested too deep", offset)
    if parsed.root.facts.weight > max_expansion_parts:
        return _untranslatable("REPEATS_TOO_LARGE", "required repeats multiply to too much")
    try:
        return _translation(source, parsed)
    except Refusal as refusal:
        offset = _original_offset(source.pattern, unicode=unicode, index=refusal.index)
        return _untranslatable(refusal.code, refusal.reason, offset)


def _untranslatable(code: str, reason: str, offset: int = 0) -> Untranslatable:
    return Untranslatable(code=code, reason=reason, offset=offset)


def _translation(source: JsRegexSource, parsed: Parsed) -> Translation:
    flags = source.flags
    caseless_reference = "i" in flags and bool(parsed.references)
    writer = Writer(
        unicode="u" in flags,
        ignore_case="i" in flags,
        multiline="m" in flags,
        dot_all="s" in flags,
        # The flag would narrow properties and the folding of references to ASCII.
        ascii_only=not (parsed.has_properties or caseless_reference),
    )
    return Translation(
        pattern=write_pattern(parsed, writer),
        flags=(*(("ASCII",) if writer.ascii_only else ()), "DOTALL", "VERSION0"),
        subject="code_points" if writer.unicode else "utf16",
        sticky="y" in flags,
        global_="g" in flags,
        group_count=parsed.group_count,
        group_names=parsed.names,
        deviations=(_CASELESS_REFERENCE,) if caseless_reference else (),
    )


def to_subject(text: str, form: SubjectForm) -> str:
    """Give `text` in the form a translation wants to search.

    JavaScript without the u flag sees a character above U+FFFF as its two surrogates: `utf16`
    gives one character for each, so that offsets are JavaScript's. `code_points` joins
    surrogates that stand side by side. A text without either comes back as it is.
    """
    if text.isascii():
        return text
    if form == "code_points":
        return from_subject(text)
    return _ASTRAL.sub(lambda match: _split_pair(ord(match[0])), text)


def from_subject(text: str) -> str:
    """Undo `to_subject`: join surrogates that stand side by side."""
    return _PAIR.sub(lambda match: chr(join_surrogates(*map(ord, match[0]))), text)


def _split_pair(code: int) -> str:
    return chr(0xD7C0 + (code >> 10)) + chr(0xDC00 + (code & 0x3FF))
