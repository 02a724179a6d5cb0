"""Decorator lines at the head of an entry's content.

Owns which lines are taken off and which of them act. Must not know where the text goes.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, parseDecorators; compared in
COMPATIBILITY.md.
"""

from attrs import frozen

ACTIVATE = "@@activate"
DONT_ACTIVATE = "@@dont_activate"
_KNOWN = (ACTIVATE, DONT_ACTIVATE)


@frozen
class Decorated:
    """Content without its decorators."""

    content: str
    decorators: tuple[str, ...] = ()
    """The lines that were recognised; only one that equals a known name acts."""

    @property
    def forces(self) -> bool | None:
        """True: fires without a key; False: never fires; None: no decorator acts."""
        if ACTIVATE in self.decorators:
            return True
        return False if DONT_ACTIVATE in self.decorators else None


def split_decorators(content: str) -> Decorated:
    """Take the decorator lines off a content.

    Content that consists of decorators alone keeps them in its text, as in SillyTavern.
    """
    if not content.startswith("@@"):
        return Decorated(content)
    lines = content.split("\n")
    count = next((i for i, line in enumerate(lines) if not line.startswith("@@")), len(lines))
    text = content if count == len(lines) else "\n".join(lines[count:])
    return Decorated(text, _recognise(lines[:count]))


def _recognise(lines: list[str]) -> tuple[str, ...]:
    """Pick the known lines; `@@@name` is the fallback for an unknown line before it."""
    found: list[str] = []
    fallback = False
    for line in lines:
        is_fallback = line.startswith("@@@")
        if is_fallback and not fallback:
            continue
        name = line[1:] if is_fallback else line
        # Any line that only begins with a known name is recognised here, and acts nowhere.
        fallback = not name.startswith(_KNOWN)
        if not fallback:
            found.append(name)
    return tuple(found)
