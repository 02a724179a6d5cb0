"""Areas `regex_scripts` and `public_reports/regex-script`: texts through regex scripts.

The scripts are read by tavern-format first, from the JSON of the case. Of mode `run` (one script,
nothing asked about where it runs) the script is put where the call is; of mode `pipeline` the
lists, placement and flags of the call are compared with it. Compared: the text, the variables
afterwards, and the same result twice. Where SillyTavern stops with an error, the text must stay as
it is and a diagnostic of the reader or of the run must say so.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

from tavern_compiler import (
    MacroContext,
    ScriptCall,
    ScriptedText,
    ScriptLists,
    Variables,
    apply_regex_scripts,
)
from tavern_format import Diagnostic, RegexScript, parse_regex_scripts
from tests.conformance._cases import Case
from tests.conformance._findings import Findings, NotComparable

_DEFAULTS: Mapping[str, Any] = {
    "user": "Max",
    "char": "Aria",
    "variables": {"local": {}, "global": {}},
    "random": 0.5,
}
"""`about.defaults` of the file."""
_ANYWHERE = 1
_SWITCHED_OFF = "disabledExtensions"


def check(case: Case, findings: Findings) -> None:
    """Compare one text."""
    fields = case.fields
    if not isinstance(fields["input"], str):
        raise NotComparable("the input is no text")
    done, remarks = _run(fields)
    if "expected_error" in fields:
        findings.same("expected_error/text", done.text, fields["input"])
        findings.require("expected_error", (*remarks, *done.diagnostics), "nothing is said")
    else:
        findings.same("expected", done.text, fields["expected"])
    if "variables_after" in fields:
        ours = {"local": done.variables.local, "global": done.variables.shared}
        findings.same("variables_after", ours, fields["variables_after"], ordered=False)
    findings.require("twice", done == _run(fields)[0], "another result")


def _run(fields: Mapping[str, Any]) -> tuple[ScriptedText, tuple[Diagnostic, ...]]:
    env = {**_DEFAULTS, **fields.get("env", {})}
    lists, remarks = _lists(fields)
    call = _call(fields)
    off = "regex" in env.get(_SWITCHED_OFF, ()) or call is None
    context = _context(env)
    if off or call is None:
        return ScriptedText(text=fields["input"], variables=context.variables), remarks
    return apply_regex_scripts(fields["input"], lists, call, context), remarks


def _lists(fields: Mapping[str, Any]) -> tuple[ScriptLists, tuple[Diagnostic, ...]]:
    if fields["mode"] == "run":
        (script,), remarks = _parsed([fields["script"]])
        return ScriptLists(shared=(_everywhere(script),)), remarks
    shared, first = _parsed(fields.get("scripts", fields.get("global", ())))
    preset, second = _parsed(fields.get("preset", ()))
    character, third = _parsed(fields.get("scoped", fields.get("character", ())))
    lists = ScriptLists(
        shared=shared,
        preset=preset,
        character=character,
        preset_allowed=fields.get("preset_allowed", True),
        character_allowed=fields.get("scoped_allowed", fields.get("character_allowed", True)),
    )
    return lists, (*first, *second, *third)


def _parsed(
    scripts: Sequence[Mapping[str, Any]],
) -> tuple[tuple[RegexScript, ...], tuple[Diagnostic, ...]]:
    found = parse_regex_scripts(json.dumps(list(scripts)).encode())
    return found.value.scripts, found.diagnostics


def _everywhere(script: RegexScript) -> RegexScript:
    return evolve(script, placement=(_ANYWHERE,), markdown_only=False, prompt_only=False)


def _call(fields: Mapping[str, Any]) -> ScriptCall | None:
    """Give the call; None where it does not say what the text is."""
    options = fields.get("options", {})
    placement = _ANYWHERE if fields["mode"] == "run" else fields.get("placement")
    if placement is None:
        return None
    return ScriptCall(
        placement=placement,
        for_display=options.get("isMarkdown", False),
        for_prompt=options.get("isPrompt", False),
        is_edit=options.get("isEdit", False),
        depth=options.get("depth"),
        char_override=options.get("characterOverride"),
    )


def _context(env: Mapping[str, Any]) -> MacroContext:
    number = env["random"]
    return MacroContext(
        user=env["user"],
        char=env["char"],
        variables=Variables(local=env["variables"]["local"], shared=env["variables"]["global"]),
        dice=lambda _: number,
    )


def check_report(case: Case, findings: Findings) -> None:
    """Compare a script of the public reports, once for each variant of it."""
    given = case.fields["input"]
    context = MacroContext(user=given.get("user", "User"))
    texts = []
    for variant in given.get("cases", ({},)):
        names = ("findRegex", "replaceString", "trimStrings")
        own = {name: given[name] for name in names if name in given}
        (script,), _ = _parsed([{"scriptName": case.id, **own, **variant}])
        lists = ScriptLists(shared=(_everywhere(script),))
        done = apply_regex_scripts(given["text"], lists, ScriptCall(placement=_ANYWHERE), context)
        texts.append(done.text)
    ours = {"per_case": texts} if "per_case" in case.fields["expected"] else {"text": texts[0]}
    findings.same("expected", ours, case.fields["expected"])
