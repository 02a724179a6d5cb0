"""Regex scripts in a projection: which texts they see, and what is said about them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tavern_compiler import (
    Expanded,
    MacroContext,
    Projection,
    ProjectionInput,
    ProjectionTools,
    ScriptLimits,
    ScriptLists,
    ScriptOutcome,
    ScriptSettings,
    Variables,
    expand_with,
    project_messages,
    rewrite_with,
)
from tavern_format import ChatMessage, Position, Preset, RegexScript, Role
from tavern_matcher import Activated, DepthBlock, EntryId, Placement, SeededDice

PresetOf = Callable[..., Preset]
Project = Callable[..., Projection]


def script(find: str, replace: str, *placement: int, **more: Any) -> RegexScript:
    return RegexScript(
        name="s",
        find_regex=find,
        replace_string=replace,
        placement=placement,
        **{"prompt_only": True, **more},
    )


def chat_of(*texts: str) -> tuple[ChatMessage, ...]:
    return tuple(
        ChatMessage(name="Ada" if at % 2 else "User", is_user=at % 2 == 0, text=text)
        for at, text in enumerate(texts)
    )


@pytest.fixture
def project(preset_of: PresetOf) -> Callable[..., Projection]:
    """Run a projection; the preset sends lore and the chat."""
    return partial(_project, preset_of("worldInfoBefore", "chatHistory"))


def _project(
    preset: Preset,
    scripts: ScriptLists,
    *,
    limits: ScriptLimits | None = None,
    variables: Variables | None = None,
    **given: Any,
) -> Projection:
    context = MacroContext(variables=variables or Variables())
    settings = ScriptSettings(limits=limits or ScriptLimits())
    tools = ProjectionTools(
        expand=expand_with(context), rewrite=rewrite_with(scripts, context, settings)
    )
    return project_messages(ProjectionInput(preset=preset, **given), count_tokens=len, tools=tools)


def shown(done: Projection) -> list[str]:
    return [one.content for one in done.messages]


def entry(content: str, uid: int = 0, **more: Any) -> Activated:
    return Activated(entry=EntryId(book="W", index=uid, uid=uid), content=content, **more)


def test_scripts_rewrite_chat_and_lore_and_tell_what_they_did(project: Project) -> None:
    lists = ScriptLists(
        preset=(script("/a/g", "A", 1, 2),),
        character=(script("/o/", "0", 5), script("/x/", "y", 1)),
    )
    lore = Placement(before=(entry("lore of old"),))
    done = project(lists, chat=chat_of("a ban", "can"), lore=lore)
    assert shown(done) == ["l0re of old", "A bAn", "cAn"]
    assert [
        (one.text_path, one.run.path, one.run.outcome, one.run.matches) for one in done.scripts
    ] == [
        ("/chat/0/text", "/preset/regex_scripts/0", ScriptOutcome.REPLACED, 2),
        ("/chat/1/text", "/preset/regex_scripts/0", ScriptOutcome.REPLACED, 1),
        ("/lore/W/0/content", "/character/regex_scripts/0", ScriptOutcome.REPLACED, 1),
    ]
    assert done.diagnostics == ()


def test_scripts_for_stored_or_shown_texts_do_not_run_for_the_prompt(project: Project) -> None:
    lists = ScriptLists(
        shared=(
            script("/a/", "X", 1, prompt_only=False),
            script("/a/", "X", 1, prompt_only=False, markdown_only=True),
        )
    )
    done = project(lists, chat=chat_of("a"))
    assert (shown(done), done.scripts) == (["a"], ())


def test_a_text_that_a_script_empties_is_not_sent(project: Project) -> None:
    lists = ScriptLists(shared=(script("/^hide.*/", "", 1, 5),))
    done = project(lists, chat=chat_of("hide me", "b"), lore=Placement(before=(entry("hide"),)))
    assert shown(done) == ["b"]


@pytest.mark.parametrize(
    ("depth", "rewritten"), [(0, True), (2, False), (None, False), ("2", True), ("x", True)]
)
def test_lore_at_a_depth_tells_it_and_a_text_is_none(
    project: Project, depth: object, *, rewritten: bool
) -> None:
    lists = ScriptLists(shared=(script("/L/", "M", 5, max_depth=1),))
    one = entry("L", depth=depth, position=Position.AT_DEPTH)
    block = DepthBlock(depth=depth, role=Role.SYSTEM, texts=(one,))  # type: ignore[arg-type]
    done = project(lists, chat=chat_of("u"), lore=Placement(at_depth=(block,)))
    assert bool(done.scripts) is rewritten


def test_variables_of_scripts_and_of_macros_are_the_same(project: Project) -> None:
    lists = ScriptLists(shared=(script("/(\\d)/", "{{setvar::n::$1}}", 1),))
    done = project(lists, chat=chat_of("7 {{getvar::n}}"), variables=Variables(local={"n": "1"}))
    # The first message is expanded before scripts see it.
    assert shown(done) == [" 1"]
    assert done.macro_state == Variables(local={"n": "7"})


def test_the_state_of_another_kind_of_macros_is_left_to_it(preset_of: PresetOf) -> None:
    def expand(text: str, _: MacroContext, state: object) -> Expanded:
        return Expanded(text=text, state=(state or 0) + 1 if isinstance(state, int | None) else 0)

    lists = ScriptLists(shared=(script("/a/", "{{user}}", 1),))
    tools = ProjectionTools(expand=expand, rewrite=rewrite_with(lists))
    given = ProjectionInput(preset=preset_of("chatHistory"), chat=chat_of("a"))
    done = project_messages(given, count_tokens=len, tools=tools)
    assert shown(done) == ["User"]
    assert isinstance(done.macro_state, int)


def test_equal_macros_of_two_texts_draw_for_themselves(preset_of: PresetOf) -> None:
    context = MacroContext(dice=SeededDice("s"))
    lists = ScriptLists(shared=(script("/x/", "{{roll 1d1000}}", 1, 2),))
    tools = ProjectionTools(expand=expand_with(context), rewrite=rewrite_with(lists, context))

    def texts(*chat: str) -> list[str]:
        given = ProjectionInput(preset=preset_of("chatHistory"), chat=chat_of("-", *chat))
        return shown(project_messages(given, count_tokens=len, tools=tools))[1:]

    assert len(set(texts("{{roll 1d1000}}", "{{roll 1d1000}}", "x", "x"))) == 4
    assert texts("x", "x") == texts("x", "x")


def test_a_broken_script_is_said_once_and_its_runs_are_all_there(project: Project) -> None:
    lists = ScriptLists(shared=(script("/(/", "", 1, 2),))
    done = project(lists, chat=chat_of("a", "b", "c"))
    assert [(one.code, one.path) for one in done.diagnostics] == [
        ("REGEX_SCRIPT_INVALID", "/shared/regex_scripts/0")
    ]
    assert [one.text_path for one in done.scripts] == [
        "/chat/0/text",
        "/chat/1/text",
        "/chat/2/text",
    ]


def test_scripts_of_one_projection_share_their_time(project: Project) -> None:
    slow = script("/(?:a|aa)+$/", "", 1, 2)
    chat = chat_of(*["a" * 60 + "!"] * 200)
    done = project(ScriptLists(shared=(slow,)), chat=chat, limits=ScriptLimits(total_s=0.1))
    assert shown(done) == ["a" * 60 + "!"] * 200
    assert [one.code for one in done.diagnostics] == ["REGEX_SCRIPT_TIMED_OUT"]
    assert done == project(ScriptLists(shared=(slow,)), chat=chat, limits=ScriptLimits(total_s=0.1))
