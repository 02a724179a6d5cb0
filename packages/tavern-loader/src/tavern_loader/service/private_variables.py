"""Which variables may hold something of an input, and so must not be written.

Owns the comparison with a step in which nobody has said anything. Must not know where variables are
kept.
"""

from collections.abc import Mapping
from contextlib import suppress

from attrs import evolve, frozen

from tavern_compiler import CompilerError, MacroMessage, Variables, compile_profile
from tavern_loader.service.compiling import StepResult

_BLANK = MacroMessage()


@frozen(kw_only=True)
class PrivateVariables:
    """Names of variables that may hold something of an input that is not kept."""

    local: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()


def private_variables(done: StepResult) -> PrivateVariables:
    """Find the variables that may hold something of an input.

    A preset can put what the user said into a variable, as a value or as a name, and do so in a
    later step, too. Inputs are kept in memory only, so such a variable is found out by compiling
    once more as if nothing had been said, and without those found out before.
    """
    given, variables = done.given, done.profile.variables
    macros = done.profile.given.macros
    before, spoken = macros.variables, macros.chat.messages
    muted = Variables(
        local=_without(before.local, given.base.private),
        shared=_without(before.shared, given.shared.private),
    )
    blank = tuple(_BLANK if one.is_user else one for one in spoken)
    other = muted
    if variables != before and (blank != spoken or muted != before):
        without = evolve(macros, chat=evolve(macros.chat, messages=blank), variables=muted)
        # What cannot be compiled without the input tells nothing: all that is new stays in memory.
        with suppress(CompilerError):
            other = compile_profile(evolve(done.profile.given, macros=without)).variables
    elif variables != before:
        other = variables
    return PrivateVariables(
        local=_differing(variables.local, other.local),
        shared=_differing(variables.shared, other.shared),
    )


def _without(values: Mapping[str, object], names: frozenset[str]) -> dict[str, object]:
    return {name: value for name, value in values.items() if name not in names}


def _differing(ours: Mapping[str, object], other: Mapping[str, object]) -> frozenset[str]:
    return frozenset(
        name for name, value in ours.items() if name not in other or other[name] != value
    )
