"""How the projection has macros expanded and scripts run: two injected functions, their state.

Owns the contracts of these functions, and makes one of `expand_macros`. Must not know where a text
comes from.

Source: SillyTavern 1.19.0, public/script.js (substituteParams) and
public/scripts/macros/engine/MacroEnvBuilder.js.
"""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from attrs import evolve, field, frozen

from tavern_compiler.macro_context import MacroContext, Variables
from tavern_compiler.macros import MacroSettings, expand_macros, has_marks
from tavern_compiler.regex_values import ScriptRun, ScriptUse
from tavern_format import Diagnostic, Placement

_DEFAULTS = MacroSettings()


_OF_SCOPE = (
    *("description", "personality", "scenario", "persona", "message_examples", "system_prompt"),
    *("post_history_instructions", "depth_prompt", "creator_notes", "greeting"),
    *("character_version", "user", "char", "card", "group", "original", "dynamic"),
    *("place", "meter"),
)
"""What of a `MacroContext` the projection knows."""


@frozen(kw_only=True)
class Expanded:
    """What an `Expand` gives."""

    text: str
    state: object = None
    """For the next call: variables, and whatever else a macro may change."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Paths are empty: only the caller knows where the text stands."""


Expand = Callable[[str, MacroContext, object], Expanded]
"""Expands the macros of a text that is not empty: text, scope, and the state of the call before.

The scope says what the projection knows: names, fields of the card, group, chat, `original`,
`dynamic` and `place` of this text, outlets, and whether runs of line breaks become one.
"""


@frozen(kw_only=True)
class TextToRewrite:
    """A text of the prompt that regex scripts may rewrite."""

    text: str
    placement: Placement
    depth: float | None = None
    """Messages from the end; None where it has none."""
    scope: MacroContext
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
    scope: MacroContext
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
        self, text: str, path: str = "", scope: MacroContext | None = None, place: str | None = None
    ) -> tuple[str, "Macros"]:
        """Expand a text; `path` says where it stands, `scope` stands in for the usual one.

        `place` is what dice are told of where one text is expanded for several.
        """
        if not text:
            return "", self
        place = path if place is None else place
        own = evolve(self.scope if scope is None else scope, place=place)
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

    def expand(text: str, scope: MacroContext, state: object) -> Expanded:
        variables = state if isinstance(state, Variables) else context.variables
        if not has_marks(text):
            return Expanded(text=text, state=variables)
        own = evolve(in_scope(context, scope), variables=variables)
        done = expand_macros(text, own, settings)
        return Expanded(text=done.text, state=done.variables, diagnostics=done.diagnostics)

    return expand


def in_scope(context: MacroContext, scope: MacroContext) -> MacroContext:
    """Put names, fields and chat of a scope into a context."""
    own = {name: getattr(scope, name) for name in _OF_SCOPE}
    host = scope.host
    return evolve(
        context,
        **own,
        chat=evolve(context.chat, messages=scope.chat.messages),
        host=evolve(context.host, outlets=host.outlets, collapse_newlines=host.collapse_newlines),
    )
