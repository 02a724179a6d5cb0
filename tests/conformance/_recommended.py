"""The words of `recommended`, turned into demands on an outcome.

Grammar, without regard to case:

    recommended  = group *( ";" group )              every group must hold
    group        = alternative *( OR alternative )   one alternative of a group must hold
    OR           = "or" | "/" | "?"
    alternative  = *( phrase [ "+" | "," | ":" | "." | "(" | ")" | "and" ] )

A phrase is a row of `_phrases.PHRASES`; every phrase of an alternative must hold. `?` ends a
doubtful alternative: what follows is the other one, and where nothing follows that is "ok". A text
with a word that belongs to no phrase cannot be parsed, which is a failure of the case, never a
pass.
"""

import re
from collections.abc import Iterator

from attrs import frozen

from tests.conformance._findings import Findings
from tests.conformance._phrases import PHRASES, Demand, View, as_sillytavern

_OR = re.compile(r"(?:\bor\b|/|\?)\s*")
_FILLER = re.compile(r"(?:[+,:.()\s]|\band\b)+")


class UnknownWordsError(ValueError):
    """No phrase fits what stands here."""


@frozen
class Requirement:
    """A parsed `recommended`."""

    groups: tuple[tuple[tuple[Demand, ...], ...], ...]

    def faults(self, view: View) -> Iterator[str]:
        """Say of each group that does not hold why none of its alternatives does."""
        for group in self.groups:
            reasons = [list(_unmet(alternative, view)) for alternative in group]
            if all(reasons):
                yield " -- or: ".join("; ".join(unmet) for unmet in reasons)


def _unmet(alternative: tuple[Demand, ...], view: View) -> Iterator[str]:
    return filter(None, (demand(view) for demand in alternative))


def parse_recommended(text: str) -> Requirement:
    """Parse a whole `recommended`. Raises UnknownWordsError."""
    return Requirement(tuple(_group(part) for part in text.split(";")))


def _group(text: str) -> tuple[tuple[Demand, ...], ...]:
    alternatives: list[list[Demand]] = [[]]
    rest = text.strip()
    while rest:
        for pattern, demands in PHRASES:
            found = pattern.match(rest)
            if found:
                alternatives[-1].extend(demands)
                break
        else:
            found = _OR.match(rest)
            if found:
                alternatives.append([])
            else:
                found = _FILLER.match(rest)
        if not found:
            message = f"cannot parse the words {rest!r}"
            raise UnknownWordsError(message)
        rest = rest[found.end() :].lstrip()
    return tuple(tuple(alternative) or (as_sillytavern,) for alternative in alternatives)


def check_recommended(findings: Findings, text: str | None, view: View) -> None:
    """Hold an outcome against what is recommended; nothing recommended demands nothing."""
    if text is None:
        return
    try:
        requirement = parse_recommended(text)
    except UnknownWordsError as fault:
        findings.add("recommended", f"{text!r}: {fault}")
        return
    for fault_text in requirement.faults(view):
        message = f"{text!r}: {fault_text}\n{view.outcome.summary()}"
        findings.add("recommended", message)
