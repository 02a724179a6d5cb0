"""Areas `macros` and `public_reports/macro`: texts through the macro engines.

`macros`: the text and the stores afterwards, with SillyTavern's new engine (`new`) and its old one
(`legacy`); `env` is merged over the file's defaults; and the same result twice. Of the reports the
new engine's text is compared.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tavern_compiler import (
    Expansion,
    GroupMember,
    HostFacts,
    InstructTexts,
    MacroChat,
    MacroContext,
    MacroMessage,
    MacroProfile,
    MacroSettings,
    Variables,
    expand_macros,
)
from tests.conformance._cases import Case
from tests.conformance._findings import Findings

_INSTRUCT = {
    "story_prefix": "story_string_prefix",
    "story_suffix": "story_string_suffix",
    "user_prefix": "input_sequence",
    "user_suffix": "input_suffix",
    "assistant_prefix": "output_sequence",
    "assistant_suffix": "output_suffix",
    "system_prefix": "system_sequence",
    "system_suffix": "system_suffix",
    "first_assistant_prefix": "first_output_sequence",
    "last_assistant_prefix": "last_output_sequence",
    "first_user_prefix": "first_input_sequence",
    "last_user_prefix": "last_input_sequence",
    "stop": "stop_sequence",
    "user_filler": "user_alignment_message",
    "system_instruction_prefix": "last_system_sequence",
}
"""Our attribute to the key of an instruct template."""


class _Dice:
    """The recorded numbers, the last one again and again."""

    def __init__(self, numbers: float | Sequence[float]) -> None:
        self._numbers = [numbers] if isinstance(numbers, int | float) else list(numbers)

    def __call__(self, _: str) -> float:
        return self._numbers.pop(0) if len(self._numbers) > 1 else self._numbers[0]


def load(area: str, document: Any) -> Iterator[Case]:
    """Read the texts, each with the file's defaults beside it."""
    for fields in document["cases"]:
        given = {**document["about"]["defaults"], **fields["env"]}
        yield Case(area, fields["id"], {**fields, "given": given})


def check(case: Case, findings: Findings) -> None:
    """Compare one text in both engines."""
    # What the old engine leaves behind is recorded only where it is not what the new one leaves.
    after = case.fields.get("variables_after", case.fields["given"]["variables"])
    for profile, place, suffix in (
        (MacroProfile.NEW, "new", ""),
        (MacroProfile.LEGACY, "legacy", "_legacy"),
    ):
        found = _expand(case, profile)
        findings.same(place, found.text, case.fields[f"expected{suffix}"])
        after = case.fields.get(f"variables_after{suffix}", after)
        ours = {"local": found.variables.local, "global": found.variables.shared}
        findings.same(f"{place}/variables", ours, after, ordered=False)
        findings.require(f"{place}/twice", found == _expand(case, profile), "another result")


def _expand(case: Case, profile: MacroProfile) -> Expansion:
    context = context_of(case.fields["given"])
    return expand_macros(case.fields["input"], context, MacroSettings(profile=profile))


def context_of(given: Mapping[str, Any]) -> MacroContext:
    """Build the context that an environment of the recording program describes."""
    metadata = given["chat_metadata"]
    depth = given["depth_prompt"]
    return MacroContext(
        user=given["user"],
        char=given["char"],
        description=given["description"],
        personality=given["personality"],
        scenario=metadata.get("scenario") or given["scenario"],
        persona=given["persona"],
        message_examples=metadata.get("mes_example") or given["mes_example"],
        system_prompt=metadata.get("system_prompt") or given["system_prompt"],
        post_history_instructions=given["post_history_instructions"],
        depth_prompt=depth["prompt"] if depth else "",
        creator_notes=given["creator_notes"],
        character_version=given["character_version"],
        greeting=given["first_mes"],
        alternate_greetings=tuple(given["alternate_greetings"]),
        card=given["replace_character_card"],
        user_override=given["name1_override"],
        char_override=given["name2_override"],
        group=_group(given),
        group_override=given["group_override"],
        original=given["original"],
        dynamic={name: _text(value) for name, value in given["dynamic_macros"].items()
                 if value is not None},
        chat=_chat(given),
        host=_host(given),
        variables=Variables(
            local=given["variables"]["local"], shared=given["variables"]["global"]
        ),
        now=datetime.fromisoformat(given["now"]).astimezone(UTC),
        dice=_Dice(given["random"]),
    )  # fmt: skip


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _group(given: Mapping[str, Any]) -> tuple[GroupMember, ...] | None:
    group = given["group"]
    if group is None:
        return None
    names = {one["avatar"]: one["name"] for one in given["characters"] or ()}
    muted = group.get("disabled_members", ())
    return tuple(
        GroupMember(name=names[avatar], muted=avatar in muted)
        for avatar in group["members"]
        if avatar in names
    )


def _chat(given: Mapping[str, Any]) -> MacroChat:
    metadata = given["chat_metadata"]
    file = given["group"]["chat_id"] if given["group"] else given["chat_file"]
    id_hash = metadata.get("chat_id_hash")
    return MacroChat(
        messages=tuple(
            MacroMessage(
                text=one.get("mes", ""),
                is_user=one.get("is_user", False),
                is_system=one.get("is_system", False),
                send_date=one.get("send_date"),
                swipe_index=one.get("swipe_id"),
                swipe_count=len(one["swipes"]) if "swipes" in one else None,
            )
            for one in given["chat"]
        ),
        id=metadata.get("main_chat", file),
        id_hash=id_hash if isinstance(id_hash, int | float) else None,
        pick_seed=metadata.get("pick_reroll_seed"),
        first_included=metadata.get("lastInContextMessageId"),
        first_displayed=given.get("first_displayed"),
    )


def _host(given: Mapping[str, Any]) -> HostFacts:
    text_completion = given["main_api"] != "openai"
    instruct = given.get("instruct") or {}
    template = given.get("context") or {}
    system_prompt = given.get("sysprompt") or {}
    note = given.get("note") or {}
    reasoning = given.get("reasoning") or {}
    return HostFacts(
        model="no_connection" if text_completion else given["model"],
        context_tokens=given["max_context"],
        response_tokens=given["max_response"],
        input_text=given["input_text"],
        text_completion=text_completion,
        collapse_newlines=given.get("collapse_newlines", False),
        instruct=InstructTexts(**{ours: instruct.get(key) or "" for ours, key in _INSTRUCT.items()})
        if instruct.get("enabled")
        else None,
        system_prompt=system_prompt.get("content", "") if system_prompt.get("enabled") else None,
        prefer_card_system_prompt=given["prefer_character_prompt"],
        prefer_card_post_history=given["prefer_character_jailbreak"],
        example_separator=template.get("example_separator", ""),
        chat_start=template.get("chat_start", ""),
        outlets=given["outlets"],
        authors_note=given["chat_metadata"].get("note_prompt", ""),
        char_authors_note=_char_note(given, note),
        default_authors_note=note.get("default", ""),
        reasoning_prefix=reasoning.get("prefix", ""),
        reasoning_suffix=reasoning.get("suffix", ""),
        reasoning_separator=reasoning.get("separator", ""),
    )


def _char_note(given: Mapping[str, Any], note: Mapping[str, Any]) -> str:
    prompts = [one["prompt"] for one in note.get("chara", ()) if one["name"] == given["char"]]
    return prompts[0] if prompts else ""


def check_report(case: Case, findings: Findings) -> None:
    """Compare one text of the public reports; `picks` are the items to pick, by place."""
    given = case.fields["input"]
    text = given.get("text", given.get("new_example_chat_prompt", ""))
    names = {key: given[key] for key in ("user", "char") if key in given}
    context = MacroContext(**names, dice=_PlacedPicks(text, given.get("picks", ())))
    findings.same("expected", {"text": expand_macros(text, context).text}, case.fields["expected"])


class _PlacedPicks:
    """Dice that make each macro pick the item that is asked for."""

    def __init__(self, text: str, picks: Sequence[int]) -> None:
        places = [found.start() for found in re.finditer(r"\{\{random", text)]
        self._numbers = {
            f"random@{place}": (pick + 0.5) / _item_count(text, place)
            for place, pick in zip(places, picks, strict=False)
        }

    def __call__(self, purpose: str) -> float:
        return self._numbers[purpose]


def _item_count(text: str, place: int) -> int:
    """Count the items of a list macro, those of macros inside it left out."""
    own = text[place + 2 :]
    while (inner := re.search(r"\{\{[^{}]*\}\}", own)) is not None:
        own = own.replace(inner[0], "")
    own = own.partition("}}")[0]
    return own.count("::") or own.count(",") + 1
