"""Chance and budget: which of the candidates that are left get in.

Owns the one pass over the candidates of a loop, and the limit. Must not know keys or groups.

Source: SillyTavern 1.19.0, public/scripts/world-info.js, checkWorldInfo; the plugin contract,
section B3.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from attrs import define, field, frozen

from tavern_matcher.context import ScanContext
from tavern_matcher.decision import Draw, Reason
from tavern_matcher.rules import Rules
from tavern_matcher.scan_entry import ScanEntry
from tavern_matcher.settings import MatchSettings

CountTokens = Callable[[str], int]
"""Counts the tokens of a text."""

_PERCENT = 100
_UTF16_PER_TOKEN = 4


class Outcome(NamedTuple):
    """What chance and budget made of one candidate."""

    entry: ScanEntry
    reason: Reason | None = None
    """None: it got in."""
    draw: Draw | None = None
    tokens: int | None = None
    before_tokens: int | None = None


@frozen(kw_only=True)
class BudgetUse:
    """The budget of one scan."""

    limit_tokens: int | None = None
    """None: no budget was applied."""
    used_tokens: int = 0
    """By the texts that were counted: those of the last loop that counted any, or of all."""
    overflowed: bool = False
    """A text did not fit."""


def budget_limit(
    settings: MatchSettings, context: ScanContext, count_tokens: CountTokens | None
) -> int | None:
    """Give the budget in tokens; None where nothing says how large it is or what a text costs."""
    if count_tokens is None and not settings.rules.books_apart:
        return None
    if context.budget_tokens is not None:
        return context.budget_tokens
    cap = settings.budget_cap_tokens
    if context.context_size_tokens is None:
        return cap if cap > 0 else None
    share = settings.budget_percent * context.context_size_tokens / _PERCENT
    # JavaScript rounds halves up, and takes 0 for no answer.
    limit = 1 if math.isnan(share) else math.floor(share + 0.5) or 1
    return cap if 0 < cap < limit else limit


def utf16_quarter(text: str) -> int:
    """Count tokens as the JavaScript plugin does where nothing better is known."""
    return max(1, math.ceil(len(text.encode("utf-16-le", "surrogatepass")) / 2 / _UTF16_PER_TOKEN))


@define(eq=False)
class Purse:
    """The budget of one scan as it is spent; kept from loop to loop."""

    rules: Rules
    limit: int | None
    count: CountTokens
    expand: Callable[[str], str] | None
    draw: Callable[[str, str], Draw]
    is_sticky: Callable[[ScanEntry], bool]
    contents: dict[int, str] = field(factory=dict)
    """Current text of an entry, by its `id`: each pass expands the macros in it."""
    failed: set[int] = field(factory=set)
    """Entries that are out for the whole scan, by `id`: chance, or a budget that is kept apart."""
    overflowed: bool = False
    used: int = 0

    def content_of(self, entry: ScanEntry) -> str:
        """Give an entry's text as it is now."""
        return self.contents.get(id(entry), entry.content)

    def spend(self, candidates: Sequence[ScanEntry], recursion_text: str) -> list[Outcome]:
        """Let candidates in, in their order; `recursion_text` was paid for in earlier loops."""
        waiting = sum(one.conduct.ignore_budget for one in candidates)
        together = self.limit is not None and not self.rules.budget_per_entry
        paid: int | None = None
        text = ""
        done: list[Outcome] = []
        for at, entry in enumerate(candidates):
            conduct = entry.conduct
            free = conduct.ignore_budget
            waiting -= free
            if self.overflowed and not free and not self.rules.smaller_may_follow:
                if waiting > 0:
                    done.append(Outcome(entry, Reason.AFTER_BUDGET_OVERFLOW))
                    continue
                late = candidates[at:]
                done.extend(Outcome(one, Reason.AFTER_BUDGET_OVERFLOW) for one in late)
                break
            reason, draw = self._try_luck(entry) if conduct.rolls else (None, None)
            if reason is not None:
                done.append(Outcome(entry, reason, draw))
                continue
            content = entry.content if self.expand is None else self._expanded(entry, self.expand)
            if together:
                text += content + "\n"
                if free:
                    done.append(Outcome(entry, None, draw))
                    continue
                paid = self.count(recursion_text) if paid is None else paid
                done.append(self._pay_together(entry, draw, self.count(text), paid))
            else:
                done.append(self._pay(entry, draw, content, free=free))
        return done

    def _expanded(self, entry: ScanEntry, expand: Callable[[str], str]) -> str:
        content = self.contents[id(entry)] = expand(self.content_of(entry))
        return content

    def _pay_together(self, entry: ScanEntry, draw: Draw | None, tokens: int, paid: int) -> Outcome:
        """Take the loop's text as a whole; one that fills the budget exactly is too much."""
        self.used = paid + tokens
        if self._fits(paid + tokens):
            return Outcome(entry, None, draw, tokens, paid)
        self.overflowed = True
        return Outcome(entry, Reason.BUDGET_EXCEEDED, draw, tokens, paid)

    def _pay(self, entry: ScanEntry, draw: Draw | None, content: str, *, free: bool) -> Outcome:
        """Count the entry's own text, once."""
        if self.limit is None and not self.rules.books_apart:
            return Outcome(entry, None, draw)
        tokens, used = self.count(content), self.used
        if free:
            return Outcome(entry, None, draw, tokens, used)
        if self.limit is None or self._fits(used + tokens):
            self.used += tokens
            return Outcome(entry, None, draw, tokens, used)
        self.overflowed = True
        self.failed.add(id(entry))
        return Outcome(entry, Reason.BUDGET_EXCEEDED, draw, tokens, used)

    def _fits(self, tokens: int) -> bool:
        limit = self.limit or 0
        return tokens < limit or (self.rules.budget_limit_fits and tokens == limit)

    def _try_luck(self, entry: ScanEntry) -> tuple[Reason | None, Draw | None]:
        chance, rules = entry.conduct.probability, self.rules
        if rules.odd_chance_passes and not 0 <= chance < _PERCENT:
            return None, None
        if self.is_sticky(entry):
            return None, None
        if not rules.zero_chance_rolls and not chance > 0:
            self.failed.add(id(entry))
            return Reason.PROBABILITY_ZERO, None
        draw = self.draw("chance", f"{entry.book}#{entry.index}")
        rolled = draw.value * _PERCENT
        if rolled < chance or (rules.chance_at_equal and rolled == chance):
            return None, draw
        self.failed.add(id(entry))
        return Reason.PROBABILITY_FAILED, draw
