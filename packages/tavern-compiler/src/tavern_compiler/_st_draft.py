"""A request while it is being built: slots of messages, and what is left of the budget.

Owns the arithmetic of the budget. Every step takes a draft and gives the next one. Must not know
which prompts there are.

Source: SillyTavern 1.19.0, public/scripts/openai.js (ChatCompletion, MessageCollection, Message).
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from tavern_compiler.st_input import CountTokens, ProjectionProfile
from tavern_compiler.st_macros import Macros
from tavern_compiler.st_result import Dropped, MessageSource, PromptMessage
from tavern_format import Diagnostic, Severity


@frozen(kw_only=True)
class Slot:
    """Messages that stand together."""

    identifier: str
    messages: tuple[PromptMessage, ...] = ()

    @property
    def tokens(self) -> int:
        """What all of them cost."""
        return total(self.messages)


def total(messages: Iterable[PromptMessage]) -> int:
    """Add up what messages cost."""
    return sum(message.tokens for message in messages)


@frozen(kw_only=True)
class Costs:
    """What a message costs."""

    count_tokens: CountTokens
    per_message: int = 0

    def message(  # noqa: PLR0913 - the fields of a message
        self,
        role: str | None,
        content: str,
        identifier: str | None,
        sources: tuple[MessageSource, ...] = (),
        *,
        name: str | None = None,
        collection: str | None = None,
    ) -> PromptMessage:
        """Make a message and count it; an empty one costs nothing unless it has a name."""
        return PromptMessage(
            role=role or "system",
            content=content,
            name=name,
            identifier=identifier,
            collection=collection,
            tokens=self.of(content, name),
            sources=sources,
        )

    def of(self, content: str, name: str | None = None) -> int:
        """Count a text and a name."""
        if not content and name is None:
            return 0
        tokens = self.count_tokens(content) if content else 0
        return tokens + (self.count_tokens(name) if name else 0) + self.per_message


@frozen(kw_only=True)
class Draft:
    """A request so far."""

    budget: float
    macros: Macros
    costs: Costs
    profile: ProjectionProfile
    slots: Mapping[int, Slot] = field(factory=dict)
    """By place; places may be missing."""
    dropped: tuple[Dropped, ...] = ()
    overridden: tuple[str, ...] = ()
    """Prompts that the card replaced; SillyTavern notes them only after the first prompts."""

    @property
    def end(self) -> int:
        """The place behind the last slot."""
        return max(self.slots, default=-1) + 1

    def reserve(self, tokens: float) -> "Draft":
        """Keep tokens for later, whether or not there are as many."""
        return evolve(self, budget=self.budget - tokens)

    def affords(self, tokens: float) -> bool:
        """Tell whether so many tokens are left; after too large a reserve not even none are."""
        return self.budget - tokens >= 0

    def put(self, slot: Slot, place: int | None = None) -> "Draft":
        """Set a slot at its place, or behind all others, and pay for it.

        What stands there is lost, and what it cost stays paid. Raises OverBudgetError.
        """
        return self.put_all([(self.end if place is None else place, slot)])

    def put_all(self, wanted: Iterable[tuple[int, Slot]]) -> "Draft":
        """Set slots at their places, one after the other. Raises OverBudgetError at the first."""
        slots, budget, dropped = dict(self.slots), self.budget, list(self.dropped)
        for at, slot in wanted:
            if budget - slot.tokens < 0:
                so_far = evolve(self, slots=slots, budget=budget, dropped=tuple(dropped))
                raise OverBudgetError(so_far, slot.identifier, slot.messages)
            if at in slots:
                dropped += self._lost(slots[at], slot)
            slots[at] = slot
            budget -= slot.tokens
        return evolve(self, slots=slots, budget=budget, dropped=tuple(dropped))

    def insert(self, message: PromptMessage, identifier: str, *, at_start: bool = False) -> "Draft":
        """Add a message to a slot and pay for it; an empty one is checked and left out.

        Raises OverBudgetError.
        """
        if not self.affords(message.tokens):
            raise OverBudgetError(self, message.identifier or identifier, (message,))
        if not message.content:
            return self
        return self.extend([evolve(message, collection=identifier)], identifier, at_start=at_start)

    def extend(
        self, messages: Sequence[PromptMessage], identifier: str, *, at_start: bool = False
    ) -> "Draft":
        """Add messages of a slot that were found to have room, and pay for them."""
        at, slot = next(
            (at, slot) for at, slot in sorted(self.slots.items()) if slot.identifier == identifier
        )
        whole = (*messages, *slot.messages) if at_start else (*slot.messages, *messages)
        return evolve(
            self,
            slots={**self.slots, at: evolve(slot, messages=whole)},
            budget=self.budget - total(messages),
        )

    def has(self, identifier: str) -> bool:
        """Tell whether there is a slot of a name."""
        return any(slot.identifier == identifier for slot in self.slots.values())

    def drop(self, *dropped: Dropped) -> "Draft":
        """Note what does not get in."""
        return evolve(self, dropped=(*self.dropped, *dropped))

    def _lost(self, old: Slot, new: Slot) -> tuple[Dropped, ...]:
        """Tell what a slot pushes out; a prompt that is listed twice pushes out itself."""
        if old.identifier == new.identifier:
            reason = "The prompt is listed twice: it is sent once and paid twice."
            return (lose("PROMPT_PAID_TWICE", old.identifier, old.messages, reason),)
        reason = f"The slot of {new.identifier} stands in the same place."
        return (lose("SLOT_OVERWRITTEN", old.identifier, old.messages, reason),)


class OverBudgetError(Exception):
    """A mandatory message does not fit; the draft so far is what is left of the request."""

    def __init__(self, draft: Draft, identifier: str, messages: tuple[PromptMessage, ...]) -> None:
        """Keep the draft, and what did not fit."""
        super().__init__(identifier)
        self.draft = draft
        self.identifier = identifier
        self.messages = messages


def lose(
    code: str,
    identifier: str,
    messages: Iterable[PromptMessage],
    reason: str,
    severity: Severity = Severity.WARNING,
) -> Dropped:
    """Say that messages do not get in, what they cost, and why."""
    ones = tuple(messages)
    sources = tuple(source for one in ones for source in one.sources)
    tokens = total(ones)
    path = sources[0].path if sources else ""
    message = f"{identifier or 'A message'} is not in the request ({tokens} tokens): {reason}"
    return Dropped(
        identifier=identifier,
        tokens=tokens,
        sources=sources,
        diagnostic=Diagnostic(code, severity, path, message),
    )
