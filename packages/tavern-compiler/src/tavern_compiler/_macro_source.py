"""Where a piece of text stands: in the text that the caller gave, and in SillyTavern's counting.

The two differ: spans are true places in code points, while `{{pick}}` is seeded with what
SillyTavern takes for the place, in UTF-16 units after its rewriting, and inside `{{if}}` not even
that. Must not know any macro.

Source: SillyTavern 1.19.0, public/scripts/macros/engine/MacroEngine.js.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping

from attrs import define, field, frozen

from tavern_compiler._text import utf16_length

ELSE_MARK = "\0\x1fELSE\x1f\0"
"""Stands for `{{else}}` until the text is done."""
_OLD_FORMS: Mapping[str, str] = {
    "user": "{{user}}",
    "bot": "{{char}}",
    "char": "{{char}}",
    "group": "{{group}}",
    "charifnotgroup": "{{charIfNotGroup}}",
}
_REWRITTEN = re.compile(
    r"\{\{time_(?P<offset>UTC[+-][0-9]+)\}\}|<(?P<old>user|bot|char|group|charifnotgroup)>",
    re.IGNORECASE | re.ASCII,
)
_ESCAPED_BRACE = re.compile(r"\\([{}])")
_TRIM = re.compile(r"\{\{trim\}\}", re.IGNORECASE | re.ASCII)


@frozen
class _Edit:
    """A place that was rewritten."""

    start: int
    end: int
    old_start: int
    old_end: int


@frozen
class Rewriting:
    """A text with old forms of macros rewritten, and the way back to the original's places."""

    text: str
    edits: tuple[_Edit, ...] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Give the span of the original."""
        return self._back(start, at_end=False), self._back(end, at_end=True)

    def _back(self, at: int, *, at_end: bool) -> int:
        index = bisect_right(self.edits, at, key=lambda edit: edit.start) - 1
        if index < 0:
            return at
        edit = self.edits[index]
        if at_end and at == edit.start:
            return edit.old_start
        if at < edit.end or (at_end and at == edit.end):
            return edit.old_end if at_end else edit.old_start
        return at - edit.end + edit.old_end


def rewrite(text: str) -> Rewriting:
    """Bring old forms into the one that is parsed: `<USER>`, `{{time_UTC+2}}`."""
    if not _has_old_form(text):
        return Rewriting(text)
    pieces: list[str] = []
    edits: list[_Edit] = []
    copied = size = 0
    for found in _REWRITTEN.finditer(text):
        new = (
            _OLD_FORMS[found["old"].lower()] if found["old"] else f"{{{{time::{found['offset']}}}}}"
        )
        start = size + found.start() - copied
        pieces += (text[copied : found.start()], new)
        copied, size = found.end(), start + len(new)
        edits.append(_Edit(start, size, found.start(), found.end()))
    return Rewriting("".join((*pieces, text[copied:])), tuple(edits))


def _has_old_form(text: str) -> bool:
    """Tell whether anything is to be rewritten; most texts have nothing."""
    # The signs are looked for by `find`: the pattern would try its luck at every character.
    for sign, lead in (("<", 0), ("_", len("{{time"))):
        at = text.find(sign)
        while at >= 0:
            if at >= lead and _REWRITTEN.match(text, at - lead):
                return True
            at = text.find(sign, at + 1)
    return False


def finish(text: str) -> str:
    """Do what is done to a whole text at last: braces, `{{trim}}`, marks of `{{else}}`."""
    if "\\" not in text and "{" not in text and "\0" not in text:
        return text
    text = _ESCAPED_BRACE.sub(r"\1", text)
    return remove_trims(text).replace(ELSE_MARK, "")


def remove_trims(text: str) -> str:
    """Remove each `{{trim}}` with the line breaks right before and behind it."""
    pieces: list[str] = []
    copied = 0
    for found in _TRIM.finditer(text):
        start, end = found.span()
        while start > copied and text[start - 1] == "\n":
            start -= 2 if start - 1 > copied and text[start - 2] == "\r" else 1
        pieces.append(text[copied:start])
        while text.startswith(("\n", "\r\n"), end):
            end += 1 if text[end] == "\n" else 2
        copied = end
    return "".join((*pieces, text[copied:]))


@define
class Source:
    """A text, or a part of one, that is walked."""

    text: str
    offset_utf16: int = 0
    """SillyTavern's place of its start."""
    rewriting: Rewriting | None = None
    """Of the whole text; None: its own places mean nothing, `fixed` stands for all of them."""
    start: int = 0
    """Of it, in the rewritten whole."""
    fixed: tuple[int, int] = (0, 0)
    _counted: tuple[int, int] = field(default=(0, 0), init=False)
    """The last place in code points and in UTF-16 units: the next one is mostly behind it."""

    def utf16_at(self, at: int) -> int:
        """Give SillyTavern's place of a code point."""
        if self.text.isascii():
            return self.offset_utf16 + at
        known, units = self._counted
        if at < known:
            known = units = 0
        units += utf16_length(self.text[known:at])
        self._counted = (at, units)
        return self.offset_utf16 + units

    def part(self, start: int, end: int, offset_utf16: int) -> "Source":
        """Give a part, with SillyTavern's place of its start."""
        return Source(
            self.text[start:end], offset_utf16, self.rewriting, self.start + start, self.fixed
        )

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Give the place of a part in the text that the caller gave."""
        if self.rewriting is None:
            return self.fixed
        if not self.rewriting.edits:
            return self.start + start, self.start + end
        return self.rewriting.span(self.start + start, self.start + end)
