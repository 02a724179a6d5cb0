"""Macros: `{{name}}` and the old `<USER>` form, expanded in one pass.

Owns the reader and the table of macros: one row a macro. Must not know where a text comes from.
What is not in the table stays as it is and is named by a diagnostic.

Source: SillyTavern 1.19.0, public/scripts/macros (the new engine).
"""

from collections.abc import Callable, Iterator, Mapping

import regex
from attrs import evolve, field, frozen

from tavern_compiler._text import trim
from tavern_format import Diagnostic, Severity


@frozen(kw_only=True)
class MacroContext:
    """What macros stand for. Card fields and persona are given as they are in their files."""

    user: str = "User"
    char: str = "Assistant"
    description: str = ""
    personality: str = ""
    scenario: str = ""
    persona: str = ""
    message_examples: str = ""
    original: str | None = None
    """The text that a card's text replaces; None where nothing is replaced."""


@frozen
class Macro:
    """One row of the table."""

    name: str
    value: Callable[[MacroContext], str | None]
    """None: it has no value here and stays as it is."""
    aliases: tuple[str, ...] = ()
    field: str | None = None
    """The field it renders, under its name in parts; `persona` is the user's description."""


MACROS = (
    Macro("user", lambda at: at.user),
    Macro("char", lambda at: at.char),
    Macro("group", lambda at: at.char, ("charIfNotGroup",)),
    Macro("charDescription", lambda at: at.description, ("description",), "description"),
    Macro("charPersonality", lambda at: at.personality, ("personality",), "personality"),
    Macro("charScenario", lambda at: at.scenario, ("scenario",), "scenario"),
    Macro("mesExamples", lambda at: at.message_examples, ("mesExamplesRaw",), "messageExample"),
    Macro("persona", lambda at: at.persona, (), "persona"),
    Macro("original", lambda at: at.original),
)
_BY_NAME: Mapping[str, Macro] = {
    name.lower(): macro for macro in MACROS for name in (macro.name, *macro.aliases)
}
_OLD_FORMS: Mapping[str, str] = {
    "user": "user",
    "bot": "char",
    "char": "char",
    "group": "group",
    "charifnotgroup": "group",
}
"""`<USER>` and its like, by lower-cased name: the macro that each stands for."""

# A brace right before `{{` is text, so an opening is the last two of a run of braces.
_TOKEN = regex.compile(
    r"\{\{\s*(?P<name>[a-z][a-z0-9_-]*)\s*\}\}|<(?P<old>user|bot|char|group|charifnotgroup)>"
    r"|(?P<open>\{\{(?!\{))|(?P<close>\}\})",
    regex.IGNORECASE | regex.ASCII,
)
_CALLED = regex.compile(
    r"\{\{[\s!?~>#]*(?:/(?!/)\s*)?(?P<name>[a-z][a-z0-9_-]*|//|[.$]|)", regex.IGNORECASE
)
_ESCAPED_BRACE = regex.compile(r"\\([{}])")


@frozen(kw_only=True)
class MacroUse:
    """One macro of a text."""

    name: str
    """As the table spells it; as the text does where the table does not have it."""
    start_chars: int
    """Code points, in the text before anything was expanded."""
    end_chars: int
    result_chars: int | None = None
    """Code points of what stands there now; None: the macro itself still does."""
    field: str | None = None
    """The field it rendered."""

    @property
    def expanded(self) -> bool:
        """Whether it was replaced."""
        return self.result_chars is not None


@frozen(kw_only=True)
class Expansion:
    """A text with its macros expanded."""

    text: str
    used: tuple[MacroUse, ...] = ()
    """In the order in which they end."""
    diagnostics: tuple[Diagnostic, ...] = field(default=())
    """Paths are empty: only the caller knows where the text stands."""


def expand_macros(text: str, context: MacroContext) -> Expansion:
    r"""Replace the macros of a text; names are compared without case, results are not read again.

    A macro that is not in the table, or has no value here, stays verbatim with a diagnostic of
    code MACRO_NOT_EXECUTED; macros inside it are expanded. At the end `\{` and `\}` become braces.

    >>> expand_macros("{{char}} greets {{User}}.", MacroContext(user="Bo", char="Aria")).text
    'Aria greets Bo.'
    """
    pieces: list[str] = []
    used: list[MacroUse] = []
    open_at: list[int] = []
    copied = 0
    for token in _TOKEN.finditer(text):
        if token["open"]:
            open_at.append(token.start())
        elif token["close"]:
            if open_at:
                used.append(_call(text, open_at.pop(), token.end()))
        else:
            use, result = _replace(token, context)
            used.append(use)
            pieces += (text[copied : token.start()], result)
            copied = token.end()
    pieces.append(text[copied:])
    return Expansion(
        text=_ESCAPED_BRACE.sub(r"\1", "".join(pieces)),
        used=tuple(used),
        diagnostics=tuple(_diagnostics(used)),
    )


def _call(text: str, start: int, end: int) -> MacroUse:
    """Record a macro with arguments: none of those is in the table."""
    called = _CALLED.match(text, start, end)
    return MacroUse(name=called["name"] if called else "", start_chars=start, end_chars=end)


def _replace(token: "regex.Match[str]", context: MacroContext) -> tuple[MacroUse, str]:
    name = token["name"] or _OLD_FORMS[token["old"].lower()]
    macro = _BY_NAME.get(name.lower())
    value = None if macro is None else _value(macro, context)
    use = MacroUse(
        name=macro.name if macro else name,
        start_chars=token.start(),
        end_chars=token.end(),
        result_chars=None if value is None else len(value),
        field=macro.field if macro and value is not None else None,
    )
    return use, token[0] if value is None else value


def _value(macro: Macro, context: MacroContext) -> str | None:
    value = macro.value(context)
    if value is None or macro.field is None:
        return value
    return trim(expand_macros(value, names_only(context)).text)


def names_only(context: MacroContext) -> MacroContext:
    """Empty everything but names: card fields cannot hold each other, as in SillyTavern."""
    return MacroContext(user=context.user, char=context.char)


def _diagnostics(used: list[MacroUse]) -> Iterator[Diagnostic]:
    for use in used:
        if not use.expanded:
            called = f"{{{{{use.name}}}}}" if use.name else "A macro without a name"
            span = f"characters {use.start_chars}-{use.end_chars}"
            message = f"{called} at {span} is not executed and stays as it is."
            yield Diagnostic("MACRO_NOT_EXECUTED", Severity.WARNING, "", message)


def at_path(diagnostics: tuple[Diagnostic, ...], path: str) -> tuple[Diagnostic, ...]:
    """Say where the expanded text stands."""
    return tuple(evolve(found, path=path) for found in diagnostics)
