"""Twice as much text is about twice the work: counted in lines that are run, not in time."""

from collections.abc import Callable
from typing import Any

import pytest

from tavern_compiler import (
    ExtensionPosition,
    ExtensionPrompt,
    MacroContext,
    ProjectionInput,
    ProjectionTools,
    expand_with,
    project_messages,
)
from tavern_format import CharacterCard, ChatMessage, Preset, Role
from tavern_matcher import Activated, DepthBlock, EntryId, Placement
from tests.growth import MOST_GROWTH, lines_run

PresetOf = Callable[..., Preset]


def block(index: int) -> DepthBlock:
    one = Activated(entry=EntryId(book="b", index=index), content="x", depth=index)
    return DepthBlock(depth=index, role=Role.SYSTEM, texts=(one,))


_GIVEN: dict[str, Callable[[int], dict[str, Any]]] = {
    "lore at many depths": lambda n: {
        "lore": Placement(at_depth=tuple(block(at) for at in range(n)))
    },
    "extensions at many depths": lambda n: {
        "extension_prompts": {
            f"k{at}": ExtensionPrompt(value="v", position=ExtensionPosition.IN_CHAT, depth=at)
            for at in range(n)
        }
    },
    "a long chat": lambda n: {
        "chat": tuple(ChatMessage(name="Ada", text=str(at)) for at in range(n))
    },
}


@pytest.mark.parametrize("name", _GIVEN)
def test_work_grows_with_what_is_given_and_not_with_its_square(
    preset_of: PresetOf, name: str
) -> None:
    preset = preset_of("chatHistory", "dialogueExamples", openai_max_context=10**9)

    def run(count: int) -> int:
        given = ProjectionInput(preset=preset, **_GIVEN[name](count))
        return lines_run(lambda: project_messages(given, count_tokens=len))

    assert run(200) / run(100) < MOST_GROWTH


def test_examples_of_very_many_lines_come_to_an_end(preset_of: PresetOf) -> None:
    """Copying what was read at each line would take a hundred thousand times as long."""
    count = 400_000
    card = CharacterCard(name="Ada", message_examples="<START>\nAda: a\n" + "x\n" * count)
    preset = preset_of("dialogueExamples", openai_max_context=10**9)
    given = ProjectionInput(preset=preset, character=card)
    heading, turn = project_messages(given, count_tokens=len).messages
    assert (heading.content, turn.content) == ("[Example Chat]", "a" + "\nx" * count)


def test_examples_of_very_many_turns_stand_in_their_order(preset_of: PresetOf) -> None:
    count = 3_000
    turns = "".join(f"User: q{at}\nAda: a{at}\n" for at in range(count))
    card = CharacterCard(name="Ada", message_examples=f"<START>\n{turns}<START>\nAda: last")
    preset = preset_of("dialogueExamples", openai_max_context=10**9)
    given = ProjectionInput(preset=preset, character=card)
    done = project_messages(given, count_tokens=len)
    said = [f"{side}{at}" for at in range(count) for side in "qa"]
    heading = "[Example Chat]"
    assert [one.content for one in done.messages] == [heading, *said, heading, "last"]
    assert {one.collection for one in done.messages} == {"dialogueExamples"}
    paid = sum(one.tokens for one in done.messages)
    assert done.tokens_left == 10**9 - 300 - 3 - paid


def test_all_texts_of_a_projection_share_a_limit(preset_of: PresetOf) -> None:
    chat = tuple(ChatMessage(name="Ada", text="{{roll::29000d6}}") for _ in range(6))
    given = ProjectionInput(preset=preset_of("chatHistory"), chat=chat)
    tools = ProjectionTools(expand=expand_with(MacroContext(dice=lambda _: 0.0)))
    texts = [one.content for one in project_messages(given, count_tokens=len, tools=tools).messages]
    # The first message is expanded before all others, and the newest come first behind it.
    assert texts == ["29000", *["{{roll::29000d6}}"] * 2, *["29000"] * 3]
    again = project_messages(given, count_tokens=len, tools=tools)
    assert [one.content for one in again.messages] == texts
