"""One call of each public function of the four pure packages, and calls that do have effects.

Prints, as JSON, the effects of each: `python -m tests._effects_calls`. A function that is added to
a package is one row in CALLS; its name is the key. What comes lazily must be used up in the row.
"""

import io
import json
import os
import random
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import tavern_compiler as compiler
import tavern_format as fmt
import tavern_matcher as matcher
import tavern_trace as trace
from tests._effects_watch import Watch

Calls = Mapping[str, Callable[[], object]]

BOOK = b'{"entries": {"0": {"uid": 0, "key": ["storm"], "content": "@@depth 1\\nRain."}}}'
CARD = b'{"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Ada"}}'
CHAT = b'{"user_name": "U", "character_name": "C"}\n{"name": "C", "mes": "A storm."}\n'
EXPORT = {
    "version": 1,
    "type": "full",
    "data": {"prompts": [{"identifier": "main", "content": "New"}], "prompt_order": []},
}
FOREIGN_CHAT = b'{"savedsettings": {}, "prompt": "Hi.", "actions": ["Hello."], "gametitle": "x"}'
GROUP = b'{"id": "1", "name": "G", "members": []}'
INSTRUCT = b'{"name": "I", "input_sequence": "In:", "output_sequence": "Out:"}'
PERSONAS = b'{"personas": {"a.png": "Ann"}, "persona_descriptions": {}, "default_persona": null}'
PRESET = b'{"prompts": [{"identifier": "main", "content": "Old"}], "prompt_order": []}'
REPLIES = b'{"version": 2, "name": "R", "qrList": [{"id": 1, "label": "L", "message": "M"}]}'
SCRIPT = b'{"scriptName": "S", "findRegex": "/a/g", "replaceString": "b", "placement": [1]}'


def byaf() -> bytes:
    """Give the smallest archive of Backyard."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as opened:
        opened.writestr("manifest.json", '{"characters": ["c.json"], "scenarios": ["s.json"]}')
        opened.writestr("c.json", '{"name": "Ada"}')
        opened.writestr("s.json", "{}")
    return target.getvalue()


def drop(_: fmt.Diagnostic) -> None:
    """Take a remark and do nothing with it."""


BYAF = byaf()
card = fmt.parse_card(CARD).value
book = fmt.parse_world_book(BOOK).value
preset = fmt.complete_prompts(json.loads(PRESET), drop)
pattern = fmt.parse_key_regex("/st(o)rm/iu") or sys.exit("no pattern")
index = matcher.compile_index([matcher.NamedBook(name="b", book=book)])
scan = matcher.ScanContext(messages=(matcher.ScanMessage(identity="1", text="A storm."),))
timed = {"sticky": {"b.0": {"hash": 1, "start": 1, "end": 3, "protected": False}}, "cooldown": {}}

said = fmt.ChatMessage(name="User", is_user=True, text="{{char}} {{user}}")
asked = compiler.ProjectionInput(
    preset=fmt.parse_preset(PRESET).value, character=card, chat=(said,)
)
frozen_run = compiler.FrozenRun(inputs=compiler.prompt_inputs(asked))
projected = compiler.project_messages(asked, count_tokens=len)
compiled = compiler.compile_profile(
    compiler.CompileInput(character=card, match=matcher.match(index, scan))
)
captured = compiler.snapshot_of(projected, matcher.match(index, scan).placement)

MACRO_TEXT = (
    "{{user}} {{random::a::b}} {{roll:1d6}} {{pick::a::b}} {{date}} {{idle_duration}} {{unknown}}"
    "{{timeDiff::2024-01-01::March 1, 2024}} {{setvar::x::1}}{{.x++}} {{if .x}}1{{else}}2{{/if}}"
)
macro_context = compiler.MacroContext(now=datetime(2024, 1, 1, tzinfo=UTC), dice=lambda _: 0.5)

TRACE_LOG = (
    b'{"version": 3, "id": "s", "createdAt": 1}\n'
    b'{"seq": 0, "type": "request/header", "data": {"header": {"config": {}}}}\n'
    b'{"seq": 1, "type": "turn/end", "data": {"turn": 1, "reason": {"kind": "error", "error": '
    b'{"code": "X"}}}}\n'
)
OLD_AUDITS = b"""{"schemaVersion": 1, "sessions": {"s": {"records": [
    {"id": "1:1:1", "turn": 1, "step": 1, "attempt": 1}]}}}"""
OLD_RECORDS = b"""{"schemaVersion": 3, "records": [
    {"schemaVersion": 3, "id": "o", "sessionId": "s"}]}"""
named = trace.CaptureIdentity(record_id="r", session_id="s", turn=1, step=1, attempt=1, at_ms=1)
session = trace.load_history(TRACE_LOG)
header = trace.header_facts(session) or sys.exit("no header")
profile = trace.CompiledProfile(system_text="text")
sections = (trace.AssembledText(name="n", text="text"),)
capture = trace.Capture(
    identity=named,
    assembly=trace.OfficialAssembly(sections=sections),
    audit=trace.new_audit(profile, named),
)
record = trace.begin(capture)
request = trace.SentRequest(system="text")
store = trace.put(trace.TraceStore(), record)
old = trace.load_legacy_assemblies(OLD_RECORDS)

scripts = compiler.ScriptLists(shared=fmt.parse_regex_scripts(SCRIPT).value.scripts)

CALLS: Calls = {
    "tavern_compiler.apply_regex_scripts": lambda: compiler.apply_regex_scripts(
        "a banana", scripts, compiler.ScriptCall(placement=1), macro_context
    ),
    "tavern_compiler.audit_to_json": lambda: compiler.audit_to_json(compiled.audit),
    "tavern_compiler.call_config_json": lambda: compiler.call_config_json(compiled.call_config),
    "tavern_compiler.compile_profile": lambda: [
        compiler.compile_profile(
            compiler.CompileInput(preset=asked.preset, character=card, profile=profile)
        ).fingerprint
        for profile in compiler.CompileProfile
    ],
    "tavern_compiler.diff": lambda: compiler.diff(compiler.Profile(), compiled),
    "tavern_compiler.dump_frozen_run": lambda: compiler.dump_frozen_run(frozen_run),
    "tavern_compiler.dump_prompt_snapshot": lambda: compiler.dump_prompt_snapshot(captured),
    "tavern_compiler.expand_macros": lambda: [
        compiler.expand_macros(MACRO_TEXT, macro_context, compiler.MacroSettings(profile=profile))
        for profile in compiler.MacroProfile
    ],
    "tavern_compiler.expand_with": lambda: compiler.expand_with(compiler.MacroContext())(
        "{{user}}", compiler.MacroContext(), None
    ),
    "tavern_compiler.limit_history": lambda: compiler.limit_history(frozen_run.inputs, 1),
    "tavern_compiler.lore_entries": lambda: compiler.lore_entries(
        matcher.match(index, scan).placement
    ),
    "tavern_compiler.parse_frozen_run": lambda: compiler.parse_frozen_run(
        compiler.dump_frozen_run(frozen_run)
    ),
    "tavern_compiler.parse_prompt_snapshot": lambda: compiler.parse_prompt_snapshot(
        compiler.dump_prompt_snapshot(captured)
    ),
    "tavern_compiler.project_messages": lambda: compiler.project_messages(asked, count_tokens=len),
    "tavern_compiler.project_prompt_inputs": lambda: compiler.project_prompt_inputs(
        frozen_run.inputs, asked.preset, count_tokens=len
    ),
    "tavern_compiler.prompt_inputs": lambda: compiler.prompt_inputs(asked),
    "tavern_compiler.rewrite_with": lambda: compiler.rewrite_with(scripts)(
        compiler.TextToRewrite(
            text="a", placement=fmt.Placement.USER_INPUT, scope=compiler.MacroContext()
        )
    ),
    "tavern_compiler.snapshot_of": lambda: compiler.snapshot_of(
        projected, matcher.match(index, scan).placement
    ),
    "tavern_compiler.snapshot_parts": lambda: compiler.snapshot_parts(captured),
    "tavern_format.book_to_json": lambda: fmt.book_to_json(book),
    "tavern_format.card_picture": lambda: fmt.card_picture(card),
    "tavern_format.card_to_json": lambda: fmt.card_to_json(card),
    "tavern_format.classify_key": lambda: fmt.classify_key("/a/i"),
    "tavern_format.classify_script": lambda: fmt.classify_script("/a/i"),
    "tavern_format.complete_prompts": lambda: fmt.complete_prompts(json.loads(PRESET), drop),
    "tavern_format.construct_regex": lambda: fmt.construct_regex("a", "i"),
    "tavern_format.convert_world_book": lambda: fmt.convert_world_book(
        book, fmt.BookSpelling.CHARACTER_BOOK
    ),
    "tavern_format.detect": lambda: fmt.detect(CARD),
    "tavern_format.dump_card": lambda: fmt.dump_card(card),
    "tavern_format.dump_card_charx": lambda: fmt.dump_card_charx(card),
    "tavern_format.dump_card_png": lambda: fmt.dump_card_png(card),
    "tavern_format.dump_chat": lambda: fmt.dump_chat(fmt.parse_chat(CHAT).value),
    "tavern_format.dump_group": lambda: fmt.dump_group(fmt.parse_group(GROUP).value),
    "tavern_format.dump_personas": lambda: fmt.dump_personas(fmt.parse_personas(PERSONAS).value),
    "tavern_format.dump_preset": lambda: fmt.dump_preset(fmt.parse_preset(PRESET).value),
    "tavern_format.dump_prompt_export": lambda: fmt.dump_prompt_export(
        fmt.parse_prompt_export(json.dumps(EXPORT).encode()).value
    ),
    "tavern_format.dump_quick_replies": lambda: fmt.dump_quick_replies(
        fmt.parse_quick_replies(REPLIES).value
    ),
    "tavern_format.dump_regex_scripts": lambda: fmt.dump_regex_scripts(
        fmt.parse_regex_scripts(SCRIPT).value
    ),
    "tavern_format.dump_text_preset": lambda: fmt.dump_text_preset(
        fmt.parse_text_preset(INSTRUCT).value
    ),
    "tavern_format.dump_world_book": lambda: fmt.dump_world_book(book),
    "tavern_format.from_subject": lambda: fmt.from_subject("\ud83c\udf27"),
    "tavern_format.header_from_json": lambda: fmt.header_from_json({"user_name": "U"}),
    "tavern_format.byaf_chats": lambda: fmt.byaf_chats(BYAF, user_name="U"),
    "tavern_format.import_chat": lambda: fmt.import_chat(
        FOREIGN_CHAT, user_name="U", character_name="C"
    ),
    "tavern_format.merge_prompt_export": lambda: fmt.merge_prompt_export(preset, EXPORT, drop),
    "tavern_format.message_from_json": lambda: fmt.message_from_json({"mes": "Hi."}),
    "tavern_format.migrate_quick_replies": lambda: fmt.migrate_quick_replies(
        {"quickReplySlots": [{"label": "L", "mes": "M"}]}
    ),
    "tavern_format.migrate_regex_script": lambda: fmt.migrate_regex_script({"placement": [0, 1]}),
    "tavern_format.migrate_settings": lambda: fmt.migrate_settings({"names_in_completion": True}),
    "tavern_format.new_group": lambda: fmt.new_group({"name": "G"}, group_id="1"),
    "tavern_format.parse_card": lambda: fmt.parse_card(CARD),
    "tavern_format.parse_chat": lambda: fmt.parse_chat(CHAT),
    "tavern_format.parse_group": lambda: fmt.parse_group(GROUP),
    "tavern_format.parse_key_regex": lambda: fmt.parse_key_regex("/a/i"),
    "tavern_format.parse_personas": lambda: fmt.parse_personas(PERSONAS),
    "tavern_format.parse_preset": lambda: fmt.parse_preset(PRESET),
    "tavern_format.parse_prompt_export": lambda: fmt.parse_prompt_export(
        json.dumps(EXPORT).encode()
    ),
    "tavern_format.parse_quick_replies": lambda: fmt.parse_quick_replies(REPLIES),
    "tavern_format.parse_regex_scripts": lambda: fmt.parse_regex_scripts(SCRIPT),
    "tavern_format.parse_resource": lambda: fmt.parse_resource(BOOK),
    "tavern_format.parse_script_regex": lambda: fmt.parse_script_regex("/a/g"),
    "tavern_format.parse_text_preset": lambda: fmt.parse_text_preset(INSTRUCT),
    "tavern_format.parse_world_book": lambda: fmt.parse_world_book(BOOK),
    "tavern_format.pointer": lambda: fmt.pointer("/a", "b/c", 0),
    "tavern_format.read_chat_lines": lambda: list(
        fmt.read_chat_lines(CHAT.splitlines(keepends=True), drop)
    ),
    "tavern_format.restore_personas": lambda: fmt.restore_personas({}, json.loads(PERSONAS)),
    "tavern_format.safe_file_name": lambda: fmt.safe_file_name("a/b: c"),
    "tavern_format.split_decorators": lambda: fmt.split_decorators("@@depth 1\nRain."),
    "tavern_format.split_keys": lambda: fmt.split_keys("a, /b,c/i"),
    "tavern_format.to_subject": lambda: fmt.to_subject("\U0001f327", "utf16"),
    "tavern_format.translate": lambda: fmt.translate(pattern),
    "tavern_matcher.compile_bounded": lambda: matcher.compile_bounded(pattern),
    "tavern_matcher.compile_index": lambda: matcher.compile_index(
        [matcher.NamedBook(name="b", book=book)]
    ),
    "tavern_matcher.explain": lambda: [
        matcher.explain(decision) for decision in matcher.match(index, scan).decisions
    ],
    "tavern_matcher.match": lambda: repr(matcher.match(index, scan).placement),
    "tavern_matcher.state_from_json": lambda: matcher.state_from_json(timed),
    "tavern_matcher.state_to_json": lambda: matcher.state_to_json(matcher.state_from_json(timed)),
    "tavern_matcher.what_if": lambda: matcher.what_if(
        index, scan, matcher.EntryId(book="b", index=0)
    ),
    "tavern_trace.audits_document": lambda: trace.audits_document(store, "s"),
    "tavern_trace.begin": lambda: trace.begin(capture, record),
    "tavern_trace.begin_failed": lambda: trace.begin_failed(named),
    "tavern_trace.capabilities_document": lambda: trace.capabilities_document(store.limits),
    "tavern_trace.changed_since": lambda: trace.changed_since(record, record),
    "tavern_trace.counts": lambda: trace.counts("a\U0001f98a"),
    "tavern_trace.detail_document": lambda: trace.detail_document(
        record, trace.verify(record, session)
    ),
    "tavern_trace.digest": lambda: trace.digest({"a": 1.0}),
    "tavern_trace.dump_record": lambda: trace.dump_record(record),
    "tavern_trace.dump_store": lambda: trace.dump_store(store),
    "tavern_trace.extend_history": lambda: trace.extend_history(
        session, [{"seq": 99, "type": "turn/end", "data": {}, "surfaceOp": "append"}]
    ),
    "tavern_trace.fail": lambda: trace.fail(record, at_ms=2, header=header),
    "tavern_trace.header_facts": lambda: trace.header_facts(session),
    "tavern_trace.history_from_json": lambda: trace.history_from_json(
        {"meta": {"version": 3, "id": "s"}, "events": []}
    ),
    "tavern_trace.index_document": lambda: trace.index_document(store, "s", old),
    "tavern_trace.index_row": lambda: trace.index_row(record),
    "tavern_trace.is_session_id": lambda: trace.is_session_id("s"),
    "tavern_trace.json_stringify": lambda: trace.json_stringify({"a": [1.0, None, "\ud83e"]}),
    "tavern_trace.legacy_detail_document": lambda: trace.legacy_detail_document(old[0]),
    "tavern_trace.load_history": lambda: trace.load_history(TRACE_LOG),
    "tavern_trace.load_legacy_assemblies": lambda: trace.load_legacy_assemblies(OLD_RECORDS),
    "tavern_trace.load_legacy_audits": lambda: trace.load_legacy_audits(OLD_AUDITS),
    "tavern_trace.load_record": lambda: trace.load_record(trace.dump_record(record)),
    "tavern_trace.load_store": lambda: trace.load_store(trace.dump_store(store)),
    "tavern_trace.open_store": lambda: trace.open_store(trace.dump_store(store)),
    "tavern_trace.new_audit": lambda: trace.new_audit(profile, named, privacy="strict"),
    "tavern_trace.next_attempt": lambda: trace.next_attempt(
        [record], session_id="s", turn=1, step=1
    ),
    "tavern_trace.next_audit_status": lambda: trace.next_audit_status(
        trace.AuditStatus.AWAITING_HEADER, trace.TraceEvent.TURN_ENDED
    ),
    "tavern_trace.next_status": lambda: trace.next_status(
        trace.RecordStatus.ASSEMBLED, trace.TraceEvent.TURN_ENDED
    ),
    "tavern_trace.note_parameters": lambda: trace.note_parameters(record, {"attempt": 1}),
    "tavern_trace.observe_failure": lambda: trace.observe_failure(
        record, session, session.events[1]
    ),
    "tavern_trace.observe_header": lambda: trace.observe_header(record, header, at_ms=2),
    "tavern_trace.observe_message": lambda: trace.observe_message(record, at_ms=2),
    "tavern_trace.observe_stream": lambda: trace.observe_stream(record, request, session),
    "tavern_trace.observe_turn_end": lambda: trace.observe_turn_end(record, at_ms=2),
    "tavern_trace.put": lambda: trace.put(store, record),
    "tavern_trace.put_audits": lambda: trace.put_audits(store, "s", [record.audit or {}]),
    "tavern_trace.record_from_json": lambda: trace.record_from_json(trace.record_to_json(record)),
    "tavern_trace.record_to_json": lambda: trace.record_to_json(record),
    "tavern_trace.redact": lambda: trace.redact(record, "strict"),
    "tavern_trace.storage_document": lambda: trace.storage_document(store.limits),
    "tavern_trace.supersede": lambda: trace.supersede(record, at_ms=2),
    "tavern_trace.supersede_excess": lambda: trace.supersede_excess([record] * 129, at_ms=2),
    "tavern_trace.unload": lambda: trace.unload(record, at_ms=2),
    "tavern_trace.verify": lambda: trace.verify(record, session),
}

PLANTED: Calls = {
    "open": lambda: Path(__file__).read_bytes(),
    "os.scandir": lambda: list(os.scandir()),
    "os.urandom": lambda: os.urandom(1),
    "os.getenv": lambda: os.getenv("HOME"),
    "print": lambda: print(end=" "),  # noqa: T201
    "random.random": lambda: random.random() + 1,  # noqa: S311
    "socket.__new__": lambda: socket.socket().close(),
    "subprocess.Popen": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
    "time.time": lambda: time.time() + 1,
}
"""Each has at least the effect that is its key."""


if __name__ == "__main__":
    watch = Watch()
    found = {
        table: {name: watch.effects(call) for name, call in calls.items()}
        for table, calls in {"calls": CALLS, "planted": PLANTED}.items()
    }
    print(json.dumps(found))  # noqa: T201
