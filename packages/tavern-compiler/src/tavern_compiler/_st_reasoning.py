"""What answers were thought out with, put in front of them again: newest messages first.

Must not know how reasoning was read out of an answer, nor the budget.

Source: SillyTavern 1.19.0, public/scripts/reasoning.js (PromptReasoning) and public/script.js
(Generate).
"""

from collections.abc import Sequence

from attrs import evolve

from tavern_compiler._st_chat import CoreMessage
from tavern_compiler.st_input import ProjectionInput, ReasoningSettings
from tavern_compiler.st_macros import Macros
from tavern_format import Placement

_PLACEHOLDER = "\u200b"
"""Stands where a model hid what it thought."""


def with_reasoning(
    given: ProjectionInput, core: Sequence[CoreMessage], macros: Macros
) -> tuple[tuple[CoreMessage, ...], Macros]:
    """Put reasoning in front of messages until as many have theirs as the settings allow.

    The answer that is continued has its own whatever they say; in a group only the one who is to
    speak is remembered what was thought.
    """
    settings = given.settings.reasoning
    done = list(core)
    added = 0
    continued = len(core) - 1 if given.type == "continue" else -1
    for at in reversed(range(len(core))):
        one = core[at]
        if given.group is None or one.message.name == macros.scope.char:
            depth = len(core) - 1 - at - (given.type == "continue")
            thought, macros = macros.rewritten(
                _thought(one), Placement.REASONING, f"/chat/{one.index}/extra/reasoning", depth
            )
            wanted = at == continued or (settings.send and added < settings.max_messages)
            if wanted and thought not in ("", _PLACEHOLDER):
                added += 1
                text, macros = _joined(one.text, thought, settings, macros, is_end=at == continued)
                done[at] = evolve(one, text=text, reasoned=True)
        if not settings.send or added >= settings.max_messages:
            break
    return tuple(done), macros


def _thought(one: CoreMessage) -> str:
    found = one.message.extra.get("reasoning")
    return found if isinstance(found, str) else ""


def _joined(
    text: str, thought: str, settings: ReasoningSettings, macros: Macros, *, is_end: bool
) -> tuple[str, Macros]:
    """Write both; where the answer has not begun, the thought is left open to go on."""
    prefix, macros = macros.run(settings.prefix, "/settings/reasoning/prefix")
    separator, macros = macros.run(settings.separator, "/settings/reasoning/separator")
    suffix, macros = macros.run(settings.suffix, "/settings/reasoning/suffix")
    if is_end and not text:
        return f"{prefix}{thought}", macros
    return f"{prefix}{thought}{suffix}{separator}{text}", macros
