"""Areas of small JSON documents: regex scripts, personas, quick replies, groups.

`regex_migrate`: the scripts SillyTavern imports are the named ones we read, in order, each as it
was in the file, and after its start-up migration each is `migrate_regex_script` of it, key order
included. Their ids are new ones, and not compared.
`persona_restore`: the merged objects and the default persona (key order apart); what SillyTavern
warns about missing pictures is not compared. The record starts from one persona of its own.
`qr_migrate`: the whole set that SillyTavern loads, key order included.
`group`: the group that its server makes (ids of its own apart), the order of its keys after an
edit, and that files have an indent of four.

The parsers also round trip every input they accept, with declared types; where an old form is
converted on reading, what is written is the converted form.
"""

import json
from typing import Any

from tavern_format import (
    RegexScripts,
    dump_group,
    dump_personas,
    dump_quick_replies,
    dump_regex_scripts,
    migrate_regex_script,
    new_group,
    parse_group,
    parse_personas,
    parse_quick_replies,
    parse_regex_scripts,
    restore_personas,
)
from tests.conformance._cases import Case, json_of
from tests.conformance._findings import Findings
from tests.conformance._outcome import Outcome, attempt, require_types
from tests.conformance._phrases import View
from tests.conformance._recommended import check_recommended
from tests.conformance.formats_book import json_or_none

_FIRST_PERSONA = "a.png"
"""The persona that the recorded installation had before each restore."""
_GROUP_ID = "<ID>"


def check_regex(case: Case, findings: Findings) -> None:
    """Compare the import of regex scripts, and their migration."""
    data = case.data()
    record = case.fields["oracles"]["st_import_then_migrate"]
    outcome = attempt(lambda: parse_regex_scripts(data))
    document = json_or_none(data)
    # A complaint may be about one script of many: only without any import is it a refusal.
    taken = True if record["imported"] or not _complains(record) else None
    check_recommended(
        findings, case.recommended, View(outcome, taken, document=document, data=data)
    )
    ours = _named(outcome.value) if outcome.accepted else []
    findings.same("st/imported", _without_ids(ours), _without_ids(record["imported"]))
    migrated = [migrate_regex_script(script) for script in ours]
    theirs = record["after_startup_migration"]
    findings.same("st/migrated", _without_ids(migrated), _without_ids(theirs))
    if outcome.accepted:
        require_types(findings, outcome.value)
        findings.same("round-trip", json_of(dump_regex_scripts(outcome.value)), document)


def _complains(record: Any) -> bool:
    return any(kind == "error" for kind, _ in record["toasts"])


def _named(found: RegexScripts) -> list[Any]:
    """List the scripts that have a name: SillyTavern imports no others."""
    return [script.origin.raw for script in found.scripts if script.name and script.origin]


def _without_ids(scripts: list[Any]) -> list[Any]:
    return [{key: value for key, value in raw.items() if key != "id"} for raw in scripts]


def check_personas(case: Case, findings: Findings) -> None:
    """Compare a restored backup of personas."""
    data = case.data()
    record = case.fields["oracles"]["st_restore"]
    after = record["after"]
    outcome = attempt(lambda: parse_personas(data))
    taken = any(kind == "success" for kind, _ in record["toasts"])
    document = json_of(data)
    view = View(outcome, taken, document=document, data=data)
    check_recommended(findings, case.recommended, view)
    before = {
        key: {_FIRST_PERSONA: after[key][_FIRST_PERSONA]}
        for key in ("personas", "persona_descriptions")
    }
    backup = document if outcome.accepted else {}
    restored = restore_personas({**before, "default_persona": None}, backup)
    findings.same("st", restored, after, ordered=False)
    if outcome.accepted:
        require_types(findings, outcome.value)
        findings.same("round-trip", json_of(dump_personas(outcome.value)), document)


def check_quick_replies(case: Case, findings: Findings) -> None:
    """Compare a set of quick replies as SillyTavern loads it."""
    data = case.data()
    record = case.fields["oracles"]["st_loadSets"]
    outcome = attempt(lambda: parse_quick_replies(data))
    check_recommended(findings, case.recommended, View(outcome, "sets" in record, data=data))
    if outcome.accepted and "sets" in record:
        require_types(findings, outcome.value)
        written = json_of(dump_quick_replies(outcome.value))
        findings.same("st", [written], record["sets"])


def check_group(case: Case, findings: Findings) -> None:
    """Compare a new group."""
    record = case.fields["oracles"]["st_http"]
    ours = new_group(record["input"], group_id=_GROUP_ID)
    findings.same("st", ours, record["created"])
    keys = record["after_edit_keys"]
    findings.same("st/after_edit_keys", list(ours), keys[: len(ours)])
    edited = {**ours, **dict.fromkeys(keys[len(ours) :], 1)}
    text = json.dumps(edited, indent=4, ensure_ascii=False)
    outcome: Outcome = attempt(lambda: parse_group(text.encode()))
    require_types(findings, outcome.value)
    findings.same("round-trip", dump_group(outcome.value, indent=4).decode(), text)
    findings.require("st/indent4", record["indent4"], "another indent")
