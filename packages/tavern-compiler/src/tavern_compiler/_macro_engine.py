"""Walk a text once, from left to right and from the inside out, and replace its macros.

Owns the order of evaluation, the limits and what is noted about each macro. Must not know any macro
by name; all state lives in one `Run`, which ends with the call.

Source: SillyTavern 1.19.0, public/scripts/macros/engine/MacroCstWalker.js and MacroEngine.js.
"""

from collections.abc import Callable

from attrs import evolve

from tavern_compiler._js_json import NestedTooDeepError, result_text
from tavern_compiler._js_random import string_hash
from tavern_compiler._macro_call import Call, dedent
from tavern_compiler._macro_nodes import Node, Value
from tavern_compiler._macro_raw import Piece, end_of, raw_text
from tavern_compiler._macro_run import LimitRefusal, Run, Span
from tavern_compiler._macro_scopes import Item, Scope, pair_tags
from tavern_compiler._macro_shorthand import OPERATIONS
from tavern_compiler._macro_source import Source, finish, rewrite
from tavern_compiler._macro_variables import MacroRefusal
from tavern_compiler._text import trim
from tavern_compiler.macro_context import MacroContext
from tavern_compiler.macro_fields import field_text, prepared
from tavern_compiler.macro_table import Macro


class Evaluation:
    """One text with its own `{{original}}`, fields and hash: the caller's, or a card's field."""

    def __init__(self, run: Run, context: MacroContext, content: str, *, listed: bool) -> None:
        """Keep what the whole text shares; `listed` tells whether its macros are reported."""
        self.run = run
        self.context = context
        self.listed = listed
        self._content = content
        self._hash: int | None = None
        self._fields: dict[str, str] = {}
        self._original = context.original
        self._dynamic = {name.lower(): text for name, text in context.dynamic.items()}

    def whole(self) -> str:
        """Expand the text."""
        rewriting = rewrite(self._content)
        return finish(self.walk(Source(rewriting.text, rewriting=rewriting)))

    def again(self, source: Source) -> str:
        """Expand a text inside the text as if it were a whole one."""
        if not source.text:
            return ""
        rewriting = rewrite(source.text)
        if rewriting.edits:
            source = Source(rewriting.text, source.offset_utf16, fixed=source.span(0, 0))
        return finish(self.walk(source))

    @property
    def text_hash(self) -> int:
        """Hash of the text before anything was done to it."""
        if self._hash is None:
            self._hash = string_hash(self._content)
        return self._hash

    def field(self, name: str) -> str:
        """Expand a field of the card once; card fields in it are empty."""
        if name not in self._fields:
            self._fields[name] = self._field(name)
        return self._fields[name]

    def _field(self, name: str) -> str:
        context = self.context
        text = field_text(context, name) if context.card else ""
        if not text:
            return ""
        inner = evolve(
            context, card=False, user_override=None, char_override=None, group_override=None,
            original=None, dynamic={}, post_process=None,
        )  # fmt: skip
        shown = Evaluation(self.run, inner, text, listed=False).whole()
        return prepared(shown, context.host)

    def original(self) -> str:
        """Take the text that is replaced: it is there once."""
        if self._original is None:
            message = "nothing is replaced here"
            raise MacroRefusal(message)
        text, self._original = self._original, ""
        return text

    def dynamic(self, name: str) -> str | None:
        """Look up a macro of this call only."""
        return self._dynamic.get(name.lower())

    def walk(self, source: Source) -> str:
        """Replace the macros of a text, and nothing else."""
        text = source.text
        if "{{" not in text or self.run.exhausted:
            return text
        try:
            reading = self.run.readings.of(text, self.run.step)
            items = [] if reading.is_plain else self._items(source, reading.nodes)
        except LimitRefusal as refusal:
            self._refused(source.span(0, len(text)), refusal)
            return text
        if reading.is_plain:
            return self._walk_plain(source, reading.nodes)
        pieces: list[str] = []
        copied = 0
        for item in items:
            node = item.node
            pieces.append(text[copied : node.start])
            copied = item.scope.closed if item.scope else end_of(node)
            if item.raw:
                self._note(source, node, "it has no tag to go with")
                pieces.append(text[node.start : copied])
            else:
                pieces.append(self._macro(source, node, item.scope))
        pieces.append(text[copied:])
        return "".join(pieces)

    def _walk_plain(self, source: Source, nodes: list[Node]) -> str:
        """Replace macros that are names: there are no tags to pair, and nothing is inside them."""
        text = source.text
        pieces: list[str] = []
        copied = 0
        for node in nodes:
            pieces += (text[copied : node.start], self._bare(source, node))
            copied = node.reach
        pieces.append(text[copied:])
        return "".join(pieces)

    def _bare(self, source: Source, node: Node) -> str:
        """Do what `_macro` does for a name, in fewer steps where nothing but its row matters."""
        run = self.run
        row = run.rows.get(node.name.lower())
        if row is None or row.parameters or self._dynamic or self.context.post_process:
            return self._macro(source, node, None)
        run.span = span = source.span(node.start, node.reach)
        run.depth += 1
        drawn, name = run.drawn, node.name
        try:
            run.enter(node.height)
            name = row.name
            call = Call(self, source, node, (), None)
            given = row.value(call, self.context)
            result = given if isinstance(given, str) else _text_of(lambda: given)
            run.spend(len(result))
        except MacroRefusal as refusal:
            self._refused(span, refusal, name)
            return source.text[node.start : node.reach]
        finally:
            run.depth -= 1
        if self.listed:
            run.note(name, span, result=result, drew=run.drawn > drawn, field=row.field)
        return result

    def _items(self, source: Source, nodes: list[Node]) -> list[Item]:
        self._note_incomplete(source, nodes)
        return pair_tags(source.text, nodes, self._takes_scope, self.run.step)

    def _note_incomplete(self, source: Source, nodes: list[Node]) -> None:
        """Name what has braces on both sides and still is no macro."""
        last_end = source.text.rfind("}}")
        for node in nodes:
            if not node.complete and node.start < last_end:
                self._note(source, node, "it cannot be read as a macro")

    def _takes_scope(self, name: str, count: int) -> bool:
        row = self.run.rows.get(name.lower())
        return row is None or row.takes_scope(count)

    def _macro(self, source: Source, node: Node, scope: Scope | None) -> str:
        run = self.run
        span = source.span(node.start, scope.closed if scope else end_of(node))
        run.span = span
        run.depth += 1
        try:
            run.enter(node.height)
            if node.variable is not None:
                return self._shorthand(source, node)
            return self._named(source, node, scope, span)
        except MacroRefusal as refusal:
            self._refused(span, refusal, node.name)
            return source.text[node.start : scope.closed if scope else end_of(node)]
        finally:
            run.depth -= 1

    def _named(self, source: Source, node: Node, scope: Scope | None, span: Span) -> str:
        run = self.run
        row = run.rows.get(node.name.lower())
        pieces: list[Piece] = []
        if node.arguments or scope:
            lazy = row is not None and row.lazy
            pieces = self._pieces(source, node, scope, lazy=lazy)
            run.span = span
        call = Call(self, source, node, tuple([piece.text for piece in pieces]), scope)
        drawn = run.drawn
        try:
            result = self._result(node.name, row, call)
            run.spend(len(result))
        except MacroRefusal as refusal:
            self._refused(span, refusal, row.name if row else node.name)
            kept = [piece for piece in pieces if piece.start >= 0]
            return raw_text(source.text, node, kept)
        if self.listed:
            name, field = (node.name, None) if row is None else (row.name, row.field)
            run.note(name, span, result=result, drew=run.drawn > drawn, field=field)
        return result

    def _result(self, name: str, row: Macro | None, call: "Call") -> str:
        self.run.step(0)
        dynamic = self.dynamic(name) if self._dynamic else None
        if dynamic is not None:
            if call.args:
                message = "it takes no argument"
                raise MacroRefusal(message)
            return self._processed(dynamic)
        if row is None:
            message = "no macro has this name" if name else "it has no name"
            raise MacroRefusal(message)
        if not row.takes(len(call.args)):
            message = f"{len(call.args)} arguments are not what it takes"
            raise MacroRefusal(message)
        for parameter, text in zip(row.parameters, call.args, strict=False):
            if not parameter.takes(text):
                message = f"its argument {parameter.name} is not of type {parameter.types[0]}"
                raise MacroRefusal(message)
        return self._processed(_text_of(lambda: row.value(call, self.context)))

    def _processed(self, text: str) -> str:
        process = self.context.post_process
        return text if process is None else process(text)

    def _pieces(
        self, source: Source, node: Node, scope: Scope | None, *, lazy: bool
    ) -> list[Piece]:
        pieces = []
        for argument in node.arguments:
            if argument.start < 0:
                pieces.append(Piece(-1, -1, ""))
            else:
                pieces.append(self._piece(source, argument.start, argument.end, lazy=lazy))
        if scope is None:
            return pieces
        if scope.start >= scope.end:
            return [*pieces, Piece(-1, -1, "")]
        piece = self._piece(source, scope.start, scope.end, lazy=lazy)
        if not lazy and "#" not in node.flags:
            piece = piece._replace(text=dedent(piece.text))
        return [*pieces, piece]

    def _piece(self, source: Source, start: int, end: int, *, lazy: bool) -> Piece:
        if lazy:
            return Piece(start, end, source.text[start:end])
        part = source.part(start, end, source.utf16_at(start))
        return Piece(start, end, self.walk(part))

    def _shorthand(self, source: Source, node: Node) -> str:
        variable = node.variable
        if variable is None:
            return ""
        span = source.span(node.start, end_of(node))
        name = f"{'$' if variable.is_global else '.'}{variable.name}"
        drawn = self.run.drawn
        value = _once(lambda: self._value(source, variable.value))
        store = self.run.store(shared=variable.is_global)
        operation = OPERATIONS[variable.operator]
        result = _text_of(lambda: operation(store, variable.name, value))
        self.run.spend(len(result))
        if self.listed:
            self.run.note(name, span, result=result, drew=self.run.drawn > drawn)
        return result

    def _value(self, source: Source, value: Value | None) -> str:
        if value is None or value.start < 0:
            return ""
        text, copied = source.text, value.start
        pieces: list[str] = []
        for node in value.macros:
            pieces += (text[copied : node.start], self._macro(source, node, None))
            # An end that is nowhere makes SillyTavern lose what would come behind it.
            copied = len(text) if node.assumed_end else end_of(node)
        whole = not any(node.assumed_end for node in value.macros)
        return trim("".join((*pieces, text[copied : value.end] if whole else "")))

    def _note(self, source: Source, node: Node, reason: str) -> None:
        span = source.span(node.start, end_of(node))
        name = f"/{node.name}" if "/" in node.flags else node.name
        self._refused(span, MacroRefusal(reason), name)

    def _refused(self, span: tuple[int, int], refusal: MacroRefusal, name: str = "") -> None:
        if self.listed or isinstance(refusal, LimitRefusal):
            self.run.refuse(name, span, refusal)


def _text_of(make: Callable[[], object]) -> str:
    try:
        return result_text(make())
    except NestedTooDeepError as fault:
        raise MacroRefusal(str(fault)) from fault


def _once(make: Callable[[], str]) -> Callable[[], str]:
    made: list[str] = []

    def once() -> str:
        if not made:
            made.append(make())
        return made[0]

    return once
