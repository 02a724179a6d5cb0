"""One text through all scripts, each on what the one before has left.

Owns the order, the budget of time and size, and what is reported. Must not know when a text is
rewritten, nor read a clock.

Source: SillyTavern 1.19.0, public/scripts/extensions/regex/engine.js.
"""

import re

from attrs import define, evolve, field

from tavern_compiler._macro_run import Run
from tavern_compiler._regex_gate import reason_to_skip
from tavern_compiler._regex_template import Group, Match, NotTextError, Whole, read_template
from tavern_compiler.macro_context import MacroContext, Variables
from tavern_compiler.macros import at_path, expand_in, has_marks, run_of
from tavern_compiler.regex_values import (
    ScriptCall,
    ScriptLists,
    ScriptOutcome,
    ScriptRun,
    ScriptSettings,
)
from tavern_format import (
    Diagnostic,
    RegexScript,
    Severity,
    SubstituteRegex,
    from_subject,
    to_subject,
)
from tavern_matcher import BoundedPattern, RegexFault, Spans

_MAX_REMARKS = 16
"""What macros in the replacements of one script are blamed for at most."""
_SPECIAL = re.compile(r"[\n\r\t\v\f\0.^$*+?{}\[\]\\/|()]")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\f": "\\f", "\0": "\\0"}


class _Failure(Exception):  # noqa: N818 - an outcome, told to the caller as a value
    """A script leaves the text as it was."""

    def __init__(self, outcome: ScriptOutcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome


@define
class Scripting:
    """The work of one call, or of one text of a projection."""

    lists: ScriptLists
    call: ScriptCall
    context: MacroContext
    settings: ScriptSettings
    overtime_s: float = 0.0
    """What is used up already of all scripts' time."""
    runs: list[ScriptRun] = field(factory=list, init=False)
    diagnostics: list[Diagnostic] = field(factory=list, init=False)
    _macros: Run | None = field(default=None, init=False)

    @property
    def macros(self) -> Run:
        """Begin with the caller's variables; one run for all scripts."""
        if self._macros is None:
            self._macros = run_of(self.context, self.settings.macros)
        return self._macros

    @property
    def drawn(self) -> int:
        """Count how often dice were thrown."""
        return 0 if self._macros is None else self._macros.drawn

    def variables(self) -> Variables:
        """Give both stores afterwards."""
        return self.context.variables if self._macros is None else self._macros.variables()

    def whole(self, text: str) -> str:
        """Run all scripts; an empty text is left alone."""
        if not text:
            return text
        for origin, at, script in self.lists.each():
            done = ScriptRun(
                origin=origin, index=at, name=script.name, outcome=ScriptOutcome.NOT_ALLOWED
            )
            skipped = reason_to_skip(script, self.call) if self.lists.allows(origin) else None
            if skipped is not None:
                done = evolve(done, outcome=skipped)
            elif self.lists.allows(origin):
                text, done = self._run(script, text, done)
            self.runs.append(done)
        return text

    def _run(self, script: RegexScript, text: str, done: ScriptRun) -> tuple[str, ScriptRun]:
        drawn = self.drawn
        if not text:
            # What an earlier script has emptied, no later one looks at.
            return text, evolve(done, outcome=ScriptOutcome.NO_MATCH)
        work = _Script(self, script, done.path)
        try:
            shown, matches = work.replaced(text)
        except _Failure as failure:
            self._remark(f"REGEX_SCRIPT_{failure.outcome.name}", done, str(failure))
            return text, evolve(done, outcome=failure.outcome, drew=self.drawn > drawn)
        outcome = ScriptOutcome.REPLACED if matches else ScriptOutcome.NO_MATCH
        drew = self.drawn > drawn
        return shown, evolve(done, outcome=outcome, matches=matches, drew=drew)

    def _remark(self, code: str, done: ScriptRun, reason: str) -> None:
        named = f"The script {done.name!r}" if done.name else "A script without a name"
        message = f"{named} leaves the text as it is: {reason}."
        self.diagnostics.append(Diagnostic(code, Severity.WARNING, done.path, message))

    def remark_pieces(self, path: str) -> None:
        """Say that a text was too long for one piece."""
        message = (
            f"The text has more than {self.settings.limits.text_chars} characters and is searched"
            " in pieces; what would match over a cut is not found."
        )
        self.diagnostics.append(Diagnostic("REGEX_TEXT_IN_PIECES", Severity.INFO, path, message))

    def expanded(self, text: str, context: MacroContext, path: str, purpose: str) -> str:
        """Expand a text of a script; equal places of two texts draw for themselves."""
        dice = context.dice
        own = context
        if dice is not None:
            own = evolve(context, dice=lambda drawn: dice(f"{purpose}:{drawn}"))
        run = self.macros
        run.context = own
        shown = expand_in(run, own, text, self.settings.macros.profile)
        found = at_path(tuple(run.diagnostics), path)
        known = sum(one.path == path for one in self.diagnostics)
        self.diagnostics += found[: max(0, _MAX_REMARKS - known)]
        run.noted.clear()
        run.draws.clear()
        run.diagnostics.clear()
        return shown


@define
class _Script:
    """One script on one text."""

    at: Scripting
    script: RegexScript
    path: str

    def replaced(self, text: str) -> tuple[str, int]:
        """Give the text with every match replaced, and the number of matches."""
        pattern = self._pattern()
        subject = pattern.subject(text)
        matches = self._matches(pattern, subject)
        whole = Whole.of(pattern, subject, trims=bool(self.script.trim_strings))
        template = read_template(self.script.replace_string)
        match = Match(whole)
        pieces: list[str] = []
        size = len(subject)
        copied = 0
        for number, spans in enumerate(matches):
            match.spans = spans
            start, end = spans[0]
            shown = self._replacement(template, match, number)
            size += len(shown) - (end - start)
            if size > self.at.settings.limits.output_chars:
                reason = f"it makes more than {self.at.settings.limits.output_chars} characters"
                raise _Failure(ScriptOutcome.TOO_LARGE, reason)
            pieces += (subject[copied:start], shown)
            copied = end
        return from_subject("".join((*pieces, subject[copied:]))), len(matches)

    def _pattern(self) -> BoundedPattern:
        """Expand the macros of the find pattern where the script asks for it, and compile it."""
        find, context = self.script.find_regex, self.at.context
        way = self.script.substitute_regex
        if way is SubstituteRegex.ESCAPED:
            context = evolve(context, post_process=_escape)
        if way is not SubstituteRegex.NONE:
            find = self.at.expanded(find, context, f"{self.path}/findRegex", f"{self.path}:find")
        found = self.at.settings.patterns.compiled(find)
        if isinstance(found, RegexFault):
            invalid = found.invalid
            outcome = ScriptOutcome.INVALID if invalid else ScriptOutcome.UNTRANSLATABLE
            raise _Failure(outcome, f"its pattern cannot be run, {found.reason}")
        return found

    def _matches(self, pattern: BoundedPattern, subject: str) -> tuple[Spans, ...]:
        at = self.at
        left_s = at.settings.limits.total_s - at.overtime_s
        finds = pattern.find_all(subject, time_left_s=max(0.0, left_s))
        at.overtime_s += finds.overtime_s
        if finds.timed_out:
            raise _Failure(ScriptOutcome.TIMED_OUT, "its pattern takes too long")
        if finds.in_pieces:
            at.remark_pieces(self.path)
        return finds.matches

    def _replacement(self, template: tuple[str | Group, ...], match: Match, number: int) -> str:
        try:
            values = [
                part if isinstance(part, str) else self._trimmed(match.value(part), number)
                for part in template
            ]
        except NotTextError as fault:
            reason = f"SillyTavern stops with an error, since {fault}"
            raise _Failure(ScriptOutcome.REFUSED, reason) from fault
        text = from_subject("".join(values))
        return self._expanded(text, self.at.context, "replaceString", f"{number}")

    def _trimmed(self, value: str, number: int) -> str:
        """Take the texts that are trimmed off a value that is not empty, one after the other."""
        call, context = self.at.call, self.at.context
        if call.char_override is not None:
            context = evolve(context, char_override=call.char_override)
        for at, text in enumerate(self.script.trim_strings if value else ()):
            shown = self._expanded(text, context, f"trimStrings/{at}", f"{number}/trim/{at}")
            value = to_subject(value, "utf16").replace(to_subject(shown, "utf16"), "")
        return value

    def _expanded(self, text: str, context: MacroContext, field: str, purpose: str) -> str:
        if not has_marks(text):
            return text
        path = f"{self.path}/{field}"
        return self.at.expanded(text, context, path, f"{self.path}:{purpose}")


def _escape(text: str) -> str:
    """Make a text stand for itself in a pattern."""
    return _SPECIAL.sub(lambda found: _ESCAPES.get(found[0], f"\\{found[0]}"), text)
