"""What answers were thought out with: whose is sent, where it stands, what is said of others."""

from collections.abc import Callable
from typing import Any

import attrs

from tavern_compiler import (
    GroupChat,
    MemberCard,
    ProjectionInput,
    ProjectionSettings,
    PromptMessage,
    ReasoningSettings,
    project_messages,
)
from tavern_format import CharacterCard, ChatMessage, Preset

PresetOf = Callable[..., Preset]


def thinking(name: str, text: str, thought: str) -> ChatMessage:
    return ChatMessage(name=name, text=text, extra={"reasoning": thought})


def test_reasoning_stands_in_front_of_as_many_answers_as_the_settings_say(
    preset_of: PresetOf,
) -> None:
    chat = (
        thinking("Ada", "1", "old"),
        ChatMessage(name="Ada", text="2", extra={"reasoning": "\u200b"}),
        thinking("Ada", "3", "of {{user}}"),
        thinking("Ada", "4", ""),
    )
    preset = preset_of("chatHistory")

    def texts(reasoning: ReasoningSettings, **given: Any) -> list[str]:
        settings = ProjectionSettings(reasoning=reasoning)
        asked = ProjectionInput(preset=preset, chat=chat, settings=settings, **given)
        return [one.content for one in project_messages(asked, count_tokens=len).messages]

    assert texts(ReasoningSettings()) == ["1", "2", "3", "4"]
    one = ReasoningSettings(send=True, prefix="<{{char}}>", suffix="</>", separator="|")
    assert texts(one, char_name="Ada") == ["1", "2", "<Ada>of User</>|3", "4"]
    two = attrs.evolve(one, max_messages=2)
    assert texts(two, char_name="Ada")[0] == "<Ada>old</>|1"


def test_an_answer_that_goes_on_keeps_its_reasoning(preset_of: PresetOf) -> None:
    preset = preset_of("chatHistory", continue_prefill=True)

    def last(message: ChatMessage) -> PromptMessage:
        given = ProjectionInput(preset=preset, chat=(message,), type="continue")
        return project_messages(given, count_tokens=len).messages[-1]

    assert last(thinking("Ada", "4", "t")).content == "<think>t</think>\n4"
    begun = last(thinking("Ada", "", "t"))
    assert begun.content == "<think>t"
    assert [source.path for source in begun.sources] == ["/chat/0/extra/reasoning", "/chat/0/text"]


def test_in_a_group_only_the_speakers_reasoning_is_sent(preset_of: PresetOf) -> None:
    members = tuple(MemberCard(card=CharacterCard(name=name)) for name in ("Ada", "Cy"))
    given = ProjectionInput(
        preset=preset_of("chatHistory", names_behavior=-1),
        char_name="Cy",
        group=GroupChat(members=members),
        chat=(thinking("Cy", "1", "a"), thinking("Ada", "2", "b")),
        settings=ProjectionSettings(reasoning=ReasoningSettings(send=True, max_messages=9)),
    )
    done = project_messages(given, count_tokens=len)
    assert [one.content for one in done.messages if one.identifier != "groupNudge"] == [
        "<think>a</think>\n1",
        "2",
    ]


def test_what_a_message_has_beside_its_text_is_named(preset_of: PresetOf) -> None:
    extra = {"media": [{"url": "a.png"}], "tool_invocations": [{}], "reasoning": "r"}
    chat = (ChatMessage(name="Ada", text="1", extra=extra),)

    def told(reasoning: ReasoningSettings) -> list[tuple[str, str, str]]:
        settings = ProjectionSettings(reasoning=reasoning)
        given = ProjectionInput(preset=preset_of("chatHistory"), chat=chat, settings=settings)
        done = project_messages(given, count_tokens=len)
        return [(one.code, one.path, one.message) for one in done.diagnostics]

    place = ("MESSAGE_EXTRA_NOT_SENT", "/chat/0/extra")
    sent = "Only the text of the message is sent, without:"
    assert told(ReasoningSettings()) == [(*place, f"{sent} media, tool_invocations, reasoning.")]
    assert told(ReasoningSettings(send=True)) == [(*place, f"{sent} media, tool_invocations.")]
