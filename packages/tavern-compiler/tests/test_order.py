"""Which prompts are sent, in which order, and what is said about the others."""

import pytest

from tavern_compiler import CompileInput, Profile, compile_profile
from tavern_format import InjectionPosition, OrderEntry, Preset, Prompt, PromptOrder


def order(character_id: int | str, **switches: bool) -> PromptOrder:
    entries = (OrderEntry(identifier=name, enabled=on) for name, on in switches.items())
    return PromptOrder(character_id=character_id, order=tuple(entries))


def prompts(*names: str, **more: object) -> tuple[Prompt, ...]:
    return tuple(Prompt(identifier=name, content=name, **more) for name in names)  # type: ignore[arg-type]


def texts(preset: Preset, trigger: str = "normal") -> list[str]:
    return [part.text for part in compile_of(preset, trigger).parts]


def compile_of(preset: Preset, trigger: str = "normal") -> Profile:
    return compile_profile(CompileInput(preset=preset, trigger=trigger))


@pytest.mark.parametrize(
    ("orders", "expected"),
    [
        ((order(100001, b=True, a=True, c=False),), ["b", "a"]),
        ((order(100000, a=True), order("100001", c=True)), ["c"]),
        ((order(100000, a=True), order(7, c=True, b=True, x=True)), ["c", "b"]),
        ((order(100001, x=True, a=True, a2=True),), ["a"]),
        ((order(100001), order(7, b=True)), ["b"]),
    ],
)
def test_order_decides_sequence_and_switches(
    orders: tuple[PromptOrder, ...], expected: list[str]
) -> None:
    assert texts(Preset(prompts=prompts("a", "b", "c"), prompt_orders=orders)) == expected


def test_prompt_beside_the_order_comes_last_by_its_own_switch() -> None:
    preset = Preset(
        prompts=(*prompts("x", enabled=True), *prompts("a", "y")),
        prompt_orders=(order(100001, a=True),),
    )
    assert texts(preset) == ["a", "x"]


def test_prompt_named_twice_in_the_order_is_sent_once_where_it_is_named_first() -> None:
    entries = tuple(OrderEntry(identifier=name, enabled=True) for name in ("a", "b", "a"))
    preset = Preset(
        prompts=prompts("a", "b"), prompt_orders=(PromptOrder(character_id=100001, order=entries),)
    )
    assert texts(preset) == ["a", "b"]


def test_without_an_order_own_switches_count() -> None:
    preset = Preset(
        prompts=(
            *prompts("b"),
            *prompts("a", enabled=True),
            *prompts("c", enabled=False),
            Prompt(identifier="d", content="  "),
        )
    )
    profile = compile_of(preset)
    assert [part.text for part in profile.parts] == ["b", "a"]
    assert [found.code for found in profile.diagnostics] == ["PROMPT_ORDER_SUBSTITUTED"]


def test_without_order_and_switches_the_default_order_counts() -> None:
    preset = Preset(prompts=prompts("jailbreak", "nsfw", "enhanceDefinitions", "own", "main"))
    assert texts(preset) == ["main", "nsfw", "jailbreak"]


def test_prompt_limited_to_other_generations_is_not_sent_and_named() -> None:
    preset = Preset(
        prompts=(*prompts("a"), *prompts("b", injection_trigger=("swipe", "continue"))),
        prompt_orders=(order(100001, a=True, b=True),),
    )
    assert texts(preset, "swipe") == ["a", "b"]
    profile = compile_of(preset)
    assert [part.text for part in profile.parts] == ["a"]
    assert [(found.code, found.path) for found in profile.diagnostics] == [
        ("PROMPT_TRIGGER_MISMATCH", "/preset/prompts/1")
    ]


def test_prompt_for_a_depth_stays_in_its_place_and_is_named() -> None:
    preset = Preset(
        prompts=(
            *prompts("a", injection_position=InjectionPosition.IN_CHAT, injection_depth=10**400),
            *prompts("b"),
        ),
        prompt_orders=(order(100001, a=True, b=True),),
    )
    profile = compile_of(preset)
    assert [part.text for part in profile.parts] == ["a", "b"]
    assert [(found.code, found.path) for found in profile.diagnostics] == [
        ("PROMPT_DEPTH_NOT_EXECUTED", "/preset/prompts/0")
    ]


@pytest.mark.parametrize(
    ("role", "asked"),
    [("", "system"), ("system", "system"), ("assistant", "assistant"), ("model", "assistant"),
     ("user", "user"), ("other", "user")],
)  # fmt: skip
def test_role_stands_in_the_source(role: str, asked: str) -> None:
    preset = Preset(prompts=prompts("main", role=role))
    (part,) = compile_of(preset).parts
    assert [source.role for source in part.sources] == [asked]


def test_prompt_without_a_name_is_named_after_its_place() -> None:
    preset = Preset(prompts=(*prompts("main", enabled=True), Prompt(content="x", enabled=True)))
    assert [part.sources[0].identifier for part in compile_of(preset).parts] == ["main", "prompt-2"]
