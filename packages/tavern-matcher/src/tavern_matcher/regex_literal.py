"""A text that must stand wherever a regular expression matches, to look for it first.

Owns a cautious reading of patterns: what it is not sure of, it gives no literal for. Must not run
anything. The literal is in lower case ASCII and is looked for in lower-cased text, so that a
pattern is only run where it could match.
"""

import re
from collections.abc import Iterator

from tavern_format import JsRegexSource

_PARTS = re.compile(
    r"(?P<class>\[(?:\\.|[^\]\\])*\])|(?P<sure>\\[dDwWsSbBnrtfv])|\\(?P<escaped>[^0-9A-Za-z])"
    r"|(?P<unsure>\\.)|(?P<brackets>[()])|(?P<times>[*+?]\??|\{[0-9]+(?:,[0-9]*)?\}\??)"
    r"|(?P<any>[.^$|])|(?P<char>.)",
    re.DOTALL,
)
_MIN_CHARS = 2
_CASELESS_OUTSIDE_ASCII = frozenset("ks")
"""With the flags i and u, two letters outside ASCII match these: the Kelvin and the long s."""


def required_literal(source: JsRegexSource) -> str:
    r"""Give a text of two code points or more that every match holds, in lower case; else "".

    >>> from tavern_format import parse_key_regex
    >>> required_literal(parse_key_regex(r"/\bred (wo|)lves?\b/i"))
    'red '
    """
    runs = list(_runs(source.pattern, _barred(source.flags)))
    return "" if None in runs else max((run for run in runs if run), key=len, default="")


def _barred(flags: str) -> frozenset[str]:
    return _CASELESS_OUTSIDE_ASCII if "i" in flags and "u" in flags else frozenset()


def _runs(pattern: str, barred: frozenset[str]) -> Iterator[str | None]:
    """Give each run of plain characters outside all brackets; None: nothing can be said."""
    run = ""
    depth = 0
    sure = True
    for match in _PARTS.finditer(pattern):
        kind, text = match.lastgroup, match[0]
        depth += {"(": 1, ")": -1}.get(text, 0) if kind == "brackets" else 0
        if kind == "any" and text == "|" and depth == 0:
            yield None
        # What follows may belong to the escape: nothing after it is taken for plain.
        sure = sure and kind != "unsure"
        plain = (match["escaped"] or match["char"] or "").lower() if sure and not depth else ""
        if plain.isascii() and plain.isprintable() and plain and plain not in barred:
            run += plain
            continue
        if kind == "times":
            # Of what is repeated it is not known how often it stands there.
            run = run[:-1]
        yield _long_enough(run)
        run = ""
    yield _long_enough(run)


def _long_enough(run: str) -> str:
    return run if len(run) >= _MIN_CHARS else ""
