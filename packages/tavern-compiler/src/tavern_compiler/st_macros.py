"""How the projection has macros expanded and scripts run: two injected functions, their state.

Owns the contracts of these functions, and makes one of `expand_macros`. Must not know where a text
comes from.

Source: SillyTavern 1.19.0, public/script.js (substituteParams) and
public/scripts/macros/engine/MacroEnvBuilder.js.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

from attrs import asdict, evolve, field, frozen

from tavern_compiler.macro_context import (
    GroupMember,
    MacroContext,
    MacroMessage,
    Variables,
)
from tavern_compiler.macros import MARKS, MacroSettings, expand_macros
from tavern_compiler.regex_values import ScriptRun, ScriptUse
from tavern_format import Diagnostic, Placement
from tavern_matcher import Dice

_DEFAULTS = MacroSettings()


@frozen(kw_only=True)
class CardTexts:
    """Fields as the macros named after them give them, before their own macros are expanded."""

    description: str = ""
    personality: str = ""
    scenario: str = ""
    persona: str = ""
    message_examples: str = ""
    system_prompt: str = ""
    post_history_instructions: str = ""
    depth_prompt: str = ""
    creator_notes: str = ""
    greeting: str = ""
    character_version: str = ""


@frozen(kw_only=True)
class MacroScope:
    """What macros may show at one place of the prompt."""

    user: str = "User"
    char: str = "Assistant"
    members: tuple[str, ...] = ()
    """Names of all members of the group, in its order; empty outside of a group."""
    muted: frozenset[str] = frozenset()
    """Names of the members that do not speak by themselves."""
    card: CardTexts = field(factory=CardTexts)
    card_allowed: bool = True
    """False inside a field of a card: fields cannot hold each other."""
    original: str | None = None
    """The text that a card's text replaces; to be shown once."""
    extra: Mapping[str, str] = field(factory=dict)
    """Macros of this one call, by name: `lastChatMessage`."""
    outlets: Mapping[str, str] = field(factory=dict)
    """Lore for `{{outlet::name}}`, by name."""
    messages: tuple[MacroMessage, ...] = ()
    """The chat, oldest message first, hidden ones too."""
    collapse_newlines: bool = False
    """Whether runs of line breaks in card fields become one."""
    place: str = ""
    """Where the text stands, as a JSON pointer: equal macros of two texts draw for themselves."""

    @property
    def group(self) -> str:
        """Name the group: all members, or the character."""
        return ", ".join(self.members) or self.char


@frozen(kw_only=True)
class Expanded:
    """What an `Expand` gives."""

    text: str
    state: object = None
    """For the next call: variables, and whatever else a macro may change."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Paths are empty: only the caller knows where the text stands."""


Expand = Callable[[str, MacroScope, object], Expanded]
"""Expands the macros of a text that is not empty: text, scope, and the state of the call before."""


@frozen(kw_only=True)
class TextToRewrite:
    """A text of the prompt that regex scripts may rewrite."""

    text: str
    placement: Placement
    depth: float | None = None
    """Messages from the end; None where it has none."""
    scope: MacroScope
    state: object = None
    """Of the macros: what the last `Expand` or `Rewrite` has left."""
    memory: object = None
    """Of the scripts: what the last `Rewrite` has left."""


@frozen(kw_only=True)
class Rewritten:
    """What a `Rewrite` gives."""

    text: str
    state: object = None
    memory: object = None
    runs: tuple[ScriptRun, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    """Their paths name scripts."""


Rewrite = Callable[[TextToRewrite], Rewritten]
"""Runs regex scripts for the prompt on a text that is not empty."""


@frozen(eq=False)
class Trail:
    """Things that were told one after the other; adding costs what is added, not what is there."""

    earlier: "Trail | None" = field(default=None, repr=False)
    items: tuple[Any, ...] = field(default=(), repr=False)

    def plus(self, items: Iterable[Any]) -> "Trail":
        """Give a trail with more behind this one."""
        more = tuple(items)
        return Trail(self, more) if more else self

    def since(self, start: "Trail | None" = None) -> tuple[Any, ...]:
        """List everything behind `start`; None: all."""
        pieces: list[tuple[Any, ...]] = []
        at: Trail | None = self
        while at is not None and at is not start:
            pieces.append(at.items)
            at = at.earlier
        return tuple(chain.from_iterable(reversed(pieces)))


@frozen(kw_only=True)
class Macros:
    """Both functions between two calls: each call gives the text and the `Macros` that follow."""

    expand: Expand
    scope: MacroScope
    state: object = None
    rewrite: Rewrite | None = None
    memory: object = None
    uses: Trail = field(factory=Trail)
    told: Trail = field(factory=Trail)

    @property
    def scripts(self) -> tuple[ScriptUse, ...]:
        """List the runs of scripts that replaced something or failed."""
        return self.uses.since()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """List all diagnostics."""
        return self.told.since()

    def run(
        self, text: str, path: str = "", scope: MacroScope | None = None
    ) -> tuple[str, "Macros"]:
        """Expand a text; `path` says where it stands, `scope` stands in for the usual one."""
        if not text:
            return "", self
        own = evolve(self.scope if scope is None else scope, place=path)
        done = self.expand(text, own, self.state)
        found = (evolve(one, path=path) for one in done.diagnostics)
        return done.text, evolve(self, state=done.state, told=self.told.plus(found))

    def rewritten(
        self, text: str, placement: Placement, path: str, depth: float | None = None
    ) -> tuple[str, "Macros"]:
        """Run the scripts on a text; `path` says where it stands."""
        if self.rewrite is None or not text:
            return text, self
        given = TextToRewrite(
            text=text,
            placement=placement,
            depth=depth,
            scope=evolve(self.scope, place=path),
            state=self.state,
            memory=self.memory,
        )
        done = self.rewrite(given)
        uses = (
            ScriptUse(text_path=path, run=one)
            for one in done.runs
            if one.matches or one.outcome.failed
        )
        after = evolve(
            self,
            state=done.state,
            memory=done.memory,
            uses=self.uses.plus(uses),
            told=self.told.plus(done.diagnostics),
        )
        return done.text, after


def expand_with(context: MacroContext, settings: MacroSettings = _DEFAULTS) -> Expand:
    """Make an `Expand` of `expand_macros`: names, fields and chat are the scope's.

    All else is the context's: dice, the time, the host, variables to begin with, other greetings.
    The state is a `Variables`. What it makes raises MacroError where a macro needs dice or the time
    and the context has none.
    """

    def expand(text: str, scope: MacroScope, state: object) -> Expanded:
        variables = state if isinstance(state, Variables) else context.variables
        if MARKS.isdisjoint(text):
            return Expanded(text=text, state=variables)
        own = evolve(in_scope(context, scope), variables=variables)
        done = expand_macros(text, own, settings)
        return Expanded(text=done.text, state=done.variables, diagnostics=done.diagnostics)

    return expand


def placed_dice(dice: Dice | None, place: str) -> Dice | None:
    """Let dice be told of the place of a text, too."""
    if dice is None or not place:
        return dice
    return lambda purpose: dice(f"{place}:{purpose}")


def in_scope(context: MacroContext, scope: MacroScope) -> MacroContext:
    """Put names, fields and chat of a scope into a context."""
    members = (GroupMember(name=name, muted=name in scope.muted) for name in scope.members)
    return evolve(
        context,
        user=scope.user,
        char=scope.char,
        **asdict(scope.card),
        card=scope.card_allowed,
        group=tuple(members) if scope.members else None,
        original=scope.original,
        dynamic=scope.extra,
        dice=placed_dice(context.dice, scope.place),
        chat=evolve(context.chat, messages=scope.messages),
        host=evolve(context.host, outlets=scope.outlets, collapse_newlines=scope.collapse_newlines),
    )
