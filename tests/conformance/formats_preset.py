"""Areas of chat-completion presets and the text-completion family.

`oai_migrate`: the migrated settings, key order included.
`oai_prompts`: the completed preset: identifiers in order, prompts that are not SillyTavern's own,
the order of character id 100001, which prompts it switches on and with which text, all orders, and
the keys left of an older preset. An identifier that SillyTavern draws is compared by its place.
`pm_import`: the preset after the import, from which SillyTavern starts at its defaults.
In both, the texts SillyTavern ships for a default prompt are prose we do not carry: ours is empty
there, a difference with a place of its own (`default-text`).
`oai_settings_map`: every key is known, as connection setting or not; the private ones are the same
set; values of `names_behavior` and of the post-processing setting are read without remark.
`master_import`: which kind of file, or which valid sections.
`preset_save`: the text of the file, byte for byte, and its name. What SillyTavern's server answers
to requests that name no preset or no known service has no counterpart.

The parsers also round trip every input they accept, with declared types.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tavern_format import (
    CONNECTION_SETTINGS,
    DEFAULT_PROMPTS,
    GLOBAL_ORDER_ID,
    KNOWN_SETTINGS,
    PRIVATE_SETTINGS,
    ContextPreset,
    Diagnostic,
    FormatError,
    InstructPreset,
    MasterPreset,
    Parsed,
    ReasoningPreset,
    SystemPromptPreset,
    TextCompletionPreset,
    complete_prompts,
    dump_preset,
    dump_prompt_export,
    dump_text_preset,
    merge_prompt_export,
    migrate_settings,
    parse_preset,
    parse_prompt_export,
    parse_text_preset,
    safe_file_name,
)
from tavern_format.detection import master_sections
from tests.conformance._cases import Case, json_of
from tests.conformance._findings import Findings, NotComparable
from tests.conformance._outcome import Outcome, attempt, require_types
from tests.conformance._phrases import View
from tests.conformance._recommended import check_recommended

_OWN = [prompt["identifier"] for prompt in DEFAULT_PROMPTS]
_LEGACY = {
    **dict.fromkeys(
        ("preset", "textgen", "text-completion", "text-completion preset", "textgen preset"),
        TextCompletionPreset,
    ),
    "instruct": InstructPreset,
    "context": ContextPreset,
    "sysprompt": SystemPromptPreset,
    "reasoning": ReasoningPreset,
}


def check_migration(case: Case, findings: Findings) -> None:
    """Compare renamed settings."""
    record = case.fields["oracles"]["st_migrate"]
    document = json_of(case.data())
    outcome = attempt(lambda: Parsed(migrate_settings(document)))
    check_recommended(findings, case.recommended, View(outcome, "result" in record))
    findings.same("st", outcome.value, record["result"])
    _check_preset_round_trip(findings, case.data())


def _check_preset_round_trip(findings: Findings, data: bytes) -> Outcome:
    outcome = attempt(lambda: parse_preset(data))
    if outcome.accepted:
        require_types(findings, outcome.value)
        findings.same("round-trip", json_of(dump_preset(outcome.value)), json_of(data))
    return outcome


class _Names:
    """Makes identifiers as the record spells those that SillyTavern draws."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, _: int) -> str:
        self.count += 1
        return f"<uuid{self.count - 1}>"


def check_prompts(case: Case, findings: Findings) -> None:
    """Compare a preset as SillyTavern completes it."""
    data = case.data()
    record = case.fields["oracles"]["st_promptManager"]
    remarks: list[Diagnostic] = []
    document = json_of(data)

    def complete() -> Parsed[Any]:
        found = complete_prompts(document, remarks.append, make_identifier=_Names())
        return Parsed(found, (*parse_preset(data).diagnostics, *remarks))

    outcome = attempt(complete)
    view = View(outcome, "error" not in record, document=document, data=data)
    check_recommended(findings, case.recommended, view)
    _check_preset_round_trip(findings, data)
    if outcome.accepted and "error" not in record:
        _check_completed(findings, document, outcome.value, record)


def _check_completed(findings: Findings, before: Any, done: Any, record: Any) -> None:
    prompts = {prompt["identifier"]: prompt for prompt in reversed(done["prompts"])}
    order = _global_order(done)
    left = [key for key in done if key in before]
    findings.same("st/after_legacy_migration_keys", left, record["after_legacy_migration_keys"])
    identifiers = [prompt["identifier"] for prompt in done["prompts"]]
    findings.same("st/prompt_ids", identifiers, record["prompt_ids"])
    custom = [prompt for prompt in done["prompts"] if prompt["identifier"] not in _OWN]
    findings.same("st/custom_prompts", custom, record["custom_prompts"])
    findings.same("st/order_100001", order, record["order_100001"])
    findings.same("st/prompt_order_groups", done["prompt_order"], record["prompt_order_groups"])
    _same_text(findings, "main", prompts["main"]["content"], record["main_content"])
    enabled = [[line["identifier"], prompts[line["identifier"]].get("content")]
               for line in order if line["enabled"] is True]  # fmt: skip
    findings.same("st/enabled", [line[0] for line in enabled], [
        line[0] for line in record["enabled_in_order"]
    ])  # fmt: skip
    for (identifier, ours), (_, theirs) in zip(enabled, record["enabled_in_order"], strict=False):
        _same_text(findings, identifier, ours, theirs)
    _check_typed_order(findings, done, record)


def _check_typed_order(findings: Findings, done: Any, record: Any) -> None:
    """Read the completed preset: the model's switches are SillyTavern's."""
    preset = parse_preset(json.dumps(done).encode()).value
    switched = [line.identifier for line in preset.order or () if line.enabled]
    findings.same("st/switches", switched, [line[0] for line in record["enabled_in_order"]])


def _global_order(preset: Any) -> Any:
    wanted = str(GLOBAL_ORDER_ID)
    groups = (group for group in preset["prompt_order"] if str(group["character_id"]) == wanted)
    return next(groups)["order"]


def _same_text(findings: Findings, identifier: str, ours: Any, theirs: Any) -> None:
    if identifier in _OWN and ours == "" and theirs:
        findings.add("default-text", f"{identifier}: no text, where SillyTavern ships one")
        return
    findings.same(f"st/content/{identifier}", ours, theirs)


def check_export(case: Case, findings: Findings) -> None:
    """Compare the import of a prompt-manager export into a default preset."""
    data = case.data()
    record = case.fields["oracles"]["st_promptManager_import"]
    before = complete_prompts({}, lambda _: None)
    export = json_of(data)
    remarks: list[Diagnostic] = []
    outcome = attempt(
        lambda: Parsed(merge_prompt_export(before, export, remarks.append), tuple(remarks))
    )
    taken = any(kind == "success" for kind, _ in record.get("toasts", ()))
    check_recommended(findings, case.recommended, View(outcome, taken, document=export, data=data))
    parsed = attempt(lambda: parse_prompt_export(data))
    if outcome.accepted:
        findings.require("parse", parsed.accepted, f"merged, but {parsed.summary()}")
    if parsed.accepted:
        require_types(findings, parsed.value)
        findings.same("round-trip", json_of(dump_prompt_export(parsed.value)), export)
    if "error" in record:
        return
    after = outcome.value if outcome.accepted else before
    identifiers = [prompt["identifier"] for prompt in after["prompts"]]
    findings.same("st/prompt_ids", identifiers, record["prompt_ids"])
    findings.same("st/order", _global_order(after), record["order"])
    main = next(prompt for prompt in after["prompts"] if prompt["identifier"] == "main")
    _same_text(findings, "main", main["content"], record["main_content"])


def check_settings(case: Case, findings: Findings) -> None:
    """Compare one table of SillyTavern's settings."""
    expected = case.fields["expected"]
    check = _TABLES.get(case.fields["key"])
    if check is None:
        findings.add("table", f"unknown table {case.fields['key']}")
        return
    check(findings, expected)


def _check_known(findings: Findings, table: Any) -> None:
    findings.same("known", sorted(KNOWN_SETTINGS), sorted(table))
    connection = sorted(key for key, (_, _, _, is_connection) in table.items() if is_connection)
    findings.same("connection", sorted(CONNECTION_SETTINGS), connection)


def _check_private(findings: Findings, table: Any) -> None:
    findings.same("private", sorted(PRIVATE_SETTINGS), sorted(table))


def _check_values(findings: Findings, table: Any, key: str) -> None:
    for name, value in table.items():
        parsed = parse_preset(json.dumps({key: value}).encode())
        codes = [found.code for found in parsed.diagnostics if found.path == f"/{key}"]
        findings.same(f"values/{name}", [parsed.value.raw[key], codes], [value, []])


_TABLES: Mapping[str, Callable[[Findings, Any], None]] = {
    "settingsToUpdate": _check_known,
    "sensitiveFields": _check_private,
    "names": partial(_check_values, key="names_behavior"),
    "post": partial(_check_values, key="custom_prompt_post_processing"),
}


def check_master(case: Case, findings: Findings) -> None:
    """Compare what a file of the text-completion family is taken for."""
    data = case.data()
    wanted = case.fields["oracles"]["st_detect"]
    kind, _, name = wanted["outcome"].partition(" ")
    outcome = attempt(lambda: parse_text_preset(data))
    taken = kind == "legacy" or bool(wanted.get("sections"))
    check_recommended(findings, case.recommended, View(outcome, taken, data=data))
    document = json_of(data)
    if kind == "legacy":
        findings.same("st", type(outcome.value).__name__, _LEGACY[name].__name__)
    elif "sections" in wanted:
        ours = list(master_sections(document)) if isinstance(document, dict) else []
        findings.same("st/sections", ours, wanted["sections"])
        findings.require("st", isinstance(outcome.value, MasterPreset) is taken, "another kind")
    if outcome.accepted:
        require_types(findings, outcome.value)
        findings.same("round-trip", json_of(dump_text_preset(outcome.value)), document)


def check_saving(case: Case, findings: Findings) -> None:
    """Compare the file that a preset becomes."""
    record = case.fields["oracles"]["st_http"]
    given = record["input"]
    if "file_text" not in record:
        reason = "an answer of the server"
        raise NotComparable(reason)
    findings.same("st/name", safe_file_name(given["name"]), json.loads(record["body"])["name"])
    try:
        ours = dump_preset(parse_preset(json.dumps(given["preset"]).encode()).value, indent=4)
    except FormatError as fault:
        findings.add("not-a-preset", f"refused ({fault.code}), where SillyTavern saves anything")
        return
    findings.same("st/file_text", ours.decode(), record["file_text"])
