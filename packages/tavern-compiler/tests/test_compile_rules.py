"""Where the two profiles of a compile differ: the plugin as it is, and repaired."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tavern_compiler import (
    CharacterOptions,
    CompileInput,
    CompileProfile,
    LoreEntry,
    MacroContext,
    Profile,
    User,
    call_config_json,
    compile_profile,
)
from tavern_compiler.rules import RULES
from tavern_format import Position, parse_card, parse_preset

FILE = json.loads((Path(__file__).parent / "cases" / "compile_repairs.json").read_text("utf-8"))
CASES = FILE["cases"]


def compiled(case: Mapping[str, Any], profile: CompileProfile) -> Profile:
    document = {"prompts": case.get("prompts"), **case.get("settings", {})}
    if "order" in case:
        order = [{"identifier": name, "enabled": True} for name in case["order"]]
        document["prompt_order"] = [{"character_id": 100001, "order": order}]
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": case.get("card")}
    limit = {"max_profile_bytes": case["limit"]} if "limit" in case else {}
    lore = (
        LoreEntry(book="b", uid=str(uid), **{"position": Position.BEFORE, **entry})
        for uid, entry in enumerate(case.get("lore", ()))
    )
    return compile_profile(
        CompileInput(
            preset=parse_preset(json.dumps(document).encode()).value if "prompts" in case else None,
            character=parse_card(json.dumps(card).encode()).value if "card" in case else None,
            user=User(name="Bo", description=case["user"]) if "user" in case else None,
            lore=tuple(lore),
            options=CharacterOptions(greeting_index=case.get("greeting_index", 0)),
            profile=profile,
            macros=MacroContext(dice=lambda _: case["dice"]) if "dice" in case else MacroContext(),
            **limit,
        )
    )


VIEWS: Mapping[str, Callable[[Profile], object]] = {
    "texts": lambda done: [part.text for part in done.parts],
    "codes": lambda done: [found.code for found in done.diagnostics],
    "sources": lambda done: [[one.field for one in part.sources] for part in done.parts],
    "names": lambda done: [part.name.rpartition(":")[2] for part in done.parts],
    "roles": lambda done: [one.role for part in done.parts for one in part.sources],
    "call": lambda done: call_config_json(done.call_config),
}


@pytest.mark.parametrize("profile", CompileProfile)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_fault_of_the_plugin_is_kept_by_one_profile_and_repaired_by_the_other(
    case: Mapping[str, Any], profile: CompileProfile
) -> None:
    done = compiled(case, profile)
    assert VIEWS[case.get("view", "texts")](done) == case[profile]


def test_every_rule_that_differs_has_a_case() -> None:
    safe, plugin = (RULES[profile] for profile in CompileProfile)
    names = {name for name in dir(safe) if not name.startswith("_")}
    differing = {name for name in names if getattr(safe, name) != getattr(plugin, name)}
    assert {name for case in CASES for name in case["rules"]} == differing


def test_the_profiles_differ_in_every_case() -> None:
    same = [case["id"] for case in CASES if case["safe"] == case["dsh-tavern"]]
    assert same == ["variables-without-a-card"]
