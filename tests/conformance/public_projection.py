"""The `preset` cases of `public_reports`: a preset by itself, or run against a chat.

A case with `prompts` and `history` lists blocks in their order, all of them on. It is projected
with the profile `safe`, since SillyTavern's own result is what was reported; `messages` are
role and text of all messages, `contains` and `count` how often a text is there. A list of sections
has no depth: there every block at a depth has to be named as not executed. A `policy` is a block
with a switch of its own: neither sections nor messages may have its text unless it is on.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tavern_compiler import (
    CompileInput,
    ProjectionInput,
    ProjectionProfile,
    ProjectionTools,
    compile_profile,
    project_messages,
)
from tavern_format import ChatMessage, Preset, parse_preset
from tests.conformance import public_reports
from tests.conformance._cases import Case
from tests.conformance._findings import Findings

_IN_CHAT = 1


def check(case: Case, findings: Findings) -> None:
    """Compare a case of either kind."""
    given = case.fields["input"]
    if "preset" in given:
        public_reports.check_preset(case, findings)
        return
    if "policy" in given:
        _check_policy(case, findings)
        return
    preset = _preset(given)
    projected = project_messages(
        ProjectionInput(preset=preset, chat=tuple(_chat(given))),
        count_tokens=len,
        tools=ProjectionTools(profile=ProjectionProfile.SAFE),
    )
    messages = [[one.role, one.content] for one in projected.messages]
    _check_demands(case.fields["expected"], messages, findings)
    for one in projected.dropped:
        findings.add("dropped", one.identifier)
    at_depth = [
        f"/preset/prompts/{at}"
        for at, prompt in enumerate(given["prompts"])
        if prompt.get("injection_position") == _IN_CHAT
    ]
    sections = compile_profile(CompileInput(preset=preset))
    named = [one.path for one in sections.diagnostics if one.code == "PROMPT_DEPTH_NOT_EXECUTED"]
    findings.same("sections", named, at_depth)


def _check_policy(case: Case, findings: Findings) -> None:
    policy = case.fields["input"]["policy"]
    block = {"identifier": "policy", "content": policy["text"], "enabled": policy.get("enabled")}
    line = {"identifier": "policy", "enabled": policy.get("enabled")}
    document = {
        "prompts": [block],
        "prompt_order": [{"character_id": 100001, "order": [line]}],
    }
    preset = parse_preset(json.dumps(document).encode()).value
    wanted = case.fields["expected"][f"sections_with_{policy['text']}"]
    parts = compile_profile(CompileInput(preset=preset)).parts
    findings.same("sections", sum(policy["text"] in part.text for part in parts), wanted)
    tools = ProjectionTools(profile=ProjectionProfile.SAFE)
    given = ProjectionInput(preset=preset)
    messages = project_messages(given, count_tokens=len, tools=tools).messages
    findings.same("messages", sum(policy["text"] in one.content for one in messages), wanted)


def _check_demands(
    expected: Mapping[str, Any], messages: list[list[str]], findings: Findings
) -> None:
    texts = Counter(content for _, content in messages)
    for key, wanted in expected.items():
        if key == "messages":
            findings.same(key, messages, wanted)
        elif key == "contains":
            findings.require(key, texts[wanted], f"{wanted} is not sent")
        elif key == "count":
            findings.same(key, texts[expected["contains"]], wanted)
        else:
            findings.add(key, "nobody knows how to compare this")


def _preset(given: Mapping[str, Any]) -> Preset:
    lines = [{"identifier": one["identifier"], "enabled": True} for one in given["prompts"]]
    document = {
        "new_chat_prompt": "",
        "prompts": given["prompts"],
        "prompt_order": [{"character_id": 100001, "order": lines}],
    }
    return parse_preset(json.dumps(document).encode()).value


def _chat(given: Mapping[str, Any]) -> Iterator[ChatMessage]:
    for role, text in given["history"]:
        yield ChatMessage(name=role, is_user=role == "user", text=text)
