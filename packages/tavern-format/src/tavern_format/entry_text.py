"""Small readers of the texts inside world-book entries: decorators and typed key lists.

Source: SillyTavern 1.19.0, public/scripts/world-info.js (parseDecorators,
splitKeywordsAndRegexes); Character Card V3 specification, "Decorators".
"""

from attrs import frozen

from tavern_format.js_regex import parse_key_regex

KNOWN_DECORATORS = ("@@activate", "@@dont_activate")
"""What SillyTavern acts on. A line counts as known when it merely begins with one."""


@frozen
class DecoratedContent:
    """The content of an entry, taken apart."""

    decorators: tuple[str, ...]
    """The lines SillyTavern keeps, in order; a fallback line without its extra `@`."""
    content: str


def split_decorators(content: str) -> DecoratedContent:
    r"""Take the leading decorator lines off an entry's content.

    An unknown decorator is taken off too, and lets the next line with three `@` stand in for it. A
    content of nothing but decorator lines stays as it is.

    >>> split_decorators("@@activate\nbody")
    DecoratedContent(decorators=('@@activate',), content='body')
    """
    if not content.startswith("@@"):
        return DecoratedContent((), content)
    lines = content.split("\n")
    kept: list[str] = []
    fallback = False
    for at, line in enumerate(lines):
        if not line.startswith("@@"):
            return DecoratedContent(tuple(kept), "\n".join(lines[at:]))
        if line.startswith("@@@") and not fallback:
            continue
        plain = line[1:] if line.startswith("@@@") else line
        if plain.startswith(KNOWN_DECORATORS):
            kept.append(plain)
            fallback = False
        else:
            fallback = True
    return DecoratedContent(tuple(kept), content)


def split_keys(text: str) -> tuple[str, ...]:
    """Split a typed list of keys at commas, but not inside a regular expression.

    Keys are trimmed and empty ones dropped. Any `/` opens a regular expression and the next one
    closes it, so `a/b, c` stays one key; the character after a comma is never looked at, so
    `a,,b` gives `a` and `,b`. Both as in SillyTavern's key editor.

    >>> split_keys("cat, /a,b/i, dog")
    ('cat', '/a,b/i', 'dog')
    """
    keys: list[str] = []
    start = at = slashes = 0
    while at < len(text):
        if text[at] == "/" and (at == start or text[at - 1] != "\\"):
            slashes += 1
        elif text[at] == "," and slashes != 1:
            keys.extend(_typed(text[start:at].strip()))
            start = at = at + 1
            slashes = 0
        at += 1
    last = text[start:].strip()
    return (*keys, last) if last else tuple(keys)


def _typed(token: str) -> list[str]:
    """Give one key, or the pieces of what only began like a regular expression."""
    if token.startswith("/") and parse_key_regex(token) is None:
        return [piece.strip() for piece in token.split(",")]
    return [token] if token else []
