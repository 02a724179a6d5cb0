"""The command shows, verifies and compares, and says in one line what it cannot use."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tavern_trace import TraceStore, dump_store, put, record_from_json
from tavern_trace._columns import cut, table, width
from tavern_trace.cli import main

Output = pytest.CaptureFixture[str]


@pytest.fixture
def store(given: Any) -> str:
    return str(given.VECTORS / "tavern-trace-records.json")


@pytest.fixture
def session(given: Any, tmp_path: Path) -> str:
    document = given.case("session_demo")
    rows = [{"type": "session", **document["meta"]}, *document["events"]]
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_show_lists_all_records(store: str, capsys: Output) -> None:
    assert main(["show", store]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "ID", "TURN", "TRY", "PARTS", "BEGAN", "(UTC)", "STATUS", "CONTENT", "SESSION",
    ]  # fmt: skip
    assert lines[1].split() == [
        "60c4706e", "1.1", "1", "11", "2025-11-30", "10:53:20", "request-observed",
        "reference-only", "session-demo",
    ]  # fmt: skip
    assert len(lines) == 8


def test_show_tells_one_record_with_its_reasons(store: str, capsys: Output) -> None:
    assert main(["show", store, "--id", "60c4"]) == 0
    out = capsys.readouterr().out
    for told in (
        "status   request-observed  content reference-only",
        "sent     deepseek/deepseek-chat, 2 tools, system text verified, in the history",
        "event 3 22..45",
        "worldbook book-1 content",
        "included  primary-key-match  dragon",
        "warning CHARACTER_PHI_APPROXIMATE:",
    ):
        assert told in out
    assert "fox" not in out


def test_show_tells_that_nobody_saw_a_request(store: str, capsys: Output) -> None:
    assert main(["show", store, "--id", "ab76"]) == 0
    assert "sent     nobody saw it" in capsys.readouterr().out


def test_show_tells_a_single_record(given: Any, capsys: Output) -> None:
    assert main(["show", str(given.VECTORS / "detail_failure.json")]) == 0
    out = capsys.readouterr().out
    assert "record   60c4706e-c4ee-4d0e-a1ea-10b7e369022f" in out
    assert "fox" not in out


def test_show_as_json_is_what_is_stored(store: str, given: Any, capsys: Output) -> None:
    assert main(["show", store, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["records"] == given.sample("tavern-trace-records")["records"]
    assert (found["kind"], found["legacy"], found["remarks"]) == ("store", [], [])
    assert main(["show", store, "--json", "--id", "c3c1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [record["id"][:4] for record in found["records"]] == ["c3c1"]


def test_show_reads_earlier_versions(tmp_path: Path, capsys: Output) -> None:
    audit = {"id": "1:1:1", "turn": 1, "step": 1, "attempt": 1, "recordedAt": 7}
    path = tmp_path / "old.json"
    path.write_text(
        json.dumps({"schemaVersion": 1, "sessions": {"s": {"updatedAt": 1, "records": [audit]}}}),
        encoding="utf-8",
    )
    assert main(["show", str(path)]) == 0
    assert "legacy-metadata-only" in capsys.readouterr().out
    row = {"schemaVersion": 3, "id": "o", "sessionId": "s", "contentStatus": "available"}
    path.write_text(json.dumps({"schemaVersion": 3, "records": [row]}), encoding="utf-8")
    assert main(["show", str(path)]) == 0
    assert "available (legacy, proven by nothing)" in capsys.readouterr().out


def test_show_tells_of_rows_it_could_not_read(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "store.json"
    path.write_text('{"schemaVersion":4,"records":[5]}', encoding="utf-8")
    assert main(["show", str(path)]) == 0
    assert capsys.readouterr().out == "no records\nROW_INVALID 0\n"


def test_shown_id_leads_to_one_record(given: Any, tmp_path: Path, capsys: Output) -> None:
    found = TraceStore()
    for record_id in ("record-0001", "record-0002", "r3"):
        document = {**given.sample("record_2_request_observed"), "id": record_id}
        found = put(found, record_from_json(document))
    path = tmp_path / "store.json"
    path.write_bytes(dump_store(found))
    assert main(["show", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["record-0001", "record-0002", "r3"]


def test_nothing_is_cut_on_the_way_to_another_program(
    given: Any, tmp_path: Path, capsys: Output
) -> None:
    document = {**given.sample("record_2_request_observed"), "sessionId": "s" * 200}
    del document["sections"][1]["sources"][0]["resourceId"]
    path = tmp_path / "store.json"
    path.write_bytes(dump_store(put(TraceStore(), record_from_json(document))))
    assert main(["show", str(path)]) == 0
    assert capsys.readouterr().out.endswith("s" * 200 + "\n")
    assert main(["show", str(path), "--id", "60c4"]) == 0
    assert "None" not in capsys.readouterr().out.partition("world book")[0]


def test_wide_letters_stand_in_columns(given: Any, tmp_path: Path, capsys: Output) -> None:
    document = given.sample("record_2_request_observed")
    decisions = document["audit"]["worldBooks"][0]["decisions"]
    decisions[1]["primaryMatches"] = ["龍\x1b[31m"]
    path = tmp_path / "record.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert main(["show", str(path)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    rows = [line for line in out.splitlines() if line.endswith(("Sea", "Dragon", "Lantern"))]
    starts = {width(line[: line.rindex(line.split()[-1])]) for line in rows}
    assert len(starts) == 1


# --- verify ----------------------------------------------------------------------------------


def test_verify_proves_a_record(store: str, session: str, capsys: Output) -> None:
    assert main(["verify", store, "--history", session, "--id", "60c4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["60c4706e", "1.1", "1", "10/10", "1/1", "available", "-"]


def test_verify_fails_where_something_is_not_proven(
    store: str, session: str, capsys: Output
) -> None:
    assert main(["verify", store, "--history", session]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[-2:] == ["reference-unavailable", "unverified"]
    assert lines[6:] == ["60c4706e failed: HTTP_500"]


def test_verify_names_the_part_that_is_not_proven(store: str, session: str, capsys: Output) -> None:
    path = Path(session)
    path.write_text(path.read_text(encoding="utf-8").replace("cwd=", "CWD="), encoding="utf-8")
    assert main(["verify", store, "--history", session, "--id", "60c4"]) == 1
    assert "60c4706e env: hash-mismatch" in capsys.readouterr().out.splitlines()
    path.write_text(path.read_text(encoding="utf-8").replace("HTTP_500", "X"), encoding="utf-8")
    assert main(["verify", store, "--history", session, "--id", "60c4"]) == 1
    assert "60c4706e failure: hash-mismatch" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("as_json", [True, False])
def test_verify_prints_texts_only_when_asked(
    *,
    as_json: bool,
    store: str,
    session: str,
    capsys: Output,
) -> None:
    arguments = ["verify", store, "--history", session, "--id", "60c4"]
    arguments += ["--json"] if as_json else []
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert ("fox" in out, "exploded" in out) == (False, False)
    assert main([*arguments, "--texts"]) == 0
    out = capsys.readouterr().out
    assert ("A fox innkeeper." in out, "exploded" in out) == (True, True)


def test_verify_as_json_is_the_detail(store: str, session: str, given: Any, capsys: Output) -> None:
    main(["verify", store, "--history", session, "--id", "60c4", "--json", "--texts"])
    assert json.loads(capsys.readouterr().out) == [given.sample("detail_failure")["record"]]


# --- diff ------------------------------------------------------------------------------------


@pytest.fixture
def two(given: Any, tmp_path: Path) -> str:
    first = given.sample("record_2_request_observed")
    second = given.sample("record_2_request_observed")
    second["id"] = "next"
    second["sections"][3]["hash"] = "0"
    del second["sections"][9]
    found = TraceStore()
    for document in (first, second):
        document.pop("audit")
        found = put(found, record_from_json(document))
    path = tmp_path / "two.json"
    path.write_bytes(dump_store(found))
    return str(path)


def test_diff_says_what_changed(two: str, capsys: Output) -> None:
    assert main(["diff", two, "60c4", "next"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "since 60c4706e: the first 78 UTF-16 units are equal",
        "- pmp-dsh-tavern:part:0008:worldbook:content",
        "~ pmp-dsh-tavern:part:0002:character:description",
    ]
    assert main(["diff", two, "next", "60c4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "previousId": "next",
        "commonPrefixUtf16": 78,
        "added": ["pmp-dsh-tavern:part:0008:worldbook:content"],
        "removed": [],
        "changed": ["pmp-dsh-tavern:part:0002:character:description"],
    }


def test_diff_says_that_nothing_changed(store: str, capsys: Output) -> None:
    assert main(["diff", store, "60c4", "ab76"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "the parts are the same"


def test_records_without_parts_cannot_be_compared(store: str, capsys: Output) -> None:
    assert main(["diff", store, "60c4", "c3c1"]) == 1
    assert capsys.readouterr().err.endswith(" has no parts: assembly-unavailable\n")


# --- what cannot be used ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "INVALID_JSON: it is empty"),
        (b'{"schemaVersion":4,"records":[', "INVALID_JSON: not JSON at line 1 column 31"),
        (b"[]", "WRONG_SCHEMA: it is no object"),
        (b"{}", "WRONG_SCHEMA: it is no file of traces"),
        (b'{"schemaVersion":4}', "FIELD_INVALID: /id: it is missing"),
        (b'{"schemaVersion":4,"records":5}', "WRONG_SCHEMA: /records: no list"),
        (b'{"record":{"schemaVersion":5}}', "WRONG_SCHEMA: /record: no record of schema 4"),
        (b"\xff", "NOT_UTF8: byte 0 is not UTF-8"),
    ],
)
def test_broken_file_is_one_line(
    content: bytes, fault: str, tmp_path: Path, capsys: Output
) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    assert main(["show", str(path)]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"tavern-trace: {path}: {fault}\n")


def test_missing_file_and_folder_are_one_line(tmp_path: Path, capsys: Output) -> None:
    for path in (tmp_path / "none", tmp_path, ""):
        assert main(["show", str(path)]) == 1
        assert capsys.readouterr().err.count("\n") == 1


def test_file_that_is_too_large_is_not_read_as_json(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as stream:
        stream.truncate(32 * 1024 * 1024 + 1)
    assert main(["show", str(path)]) == 1
    assert capsys.readouterr().err == f"tavern-trace: {path}: more than 33554432 bytes\n"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"\x28\xb5\x2f\xfdxyz", "it is compressed; unpack it first, with zstd -dc"),
        (b"no", "INVALID_JSON: not JSON at line 1 column 1"),
        (b'{"version":3,"id":"other"}', "no record is of session other"),
    ],
)
def test_history_that_cannot_be_used_is_one_line(
    content: bytes, fault: str, store: str, tmp_path: Path, capsys: Output
) -> None:
    path = tmp_path / "history"
    path.write_bytes(content)
    assert main(["verify", store, "--history", str(path)]) == 1
    assert capsys.readouterr().err.endswith(f"{fault}\n")


@pytest.mark.parametrize(
    ("wanted", "told"),
    [("9999", "no record has the id 9999"), ("", "7 records have an id that begins with ''")],
)
def test_id_must_lead_to_one_record(
    wanted: str, told: str, store: str, session: str, capsys: Output
) -> None:
    for arguments in (
        ["diff", store, wanted, "60c4"],
        ["show", store, "--id", wanted],
        ["verify", store, "--history", session, "--id", wanted],
    ):
        assert main(arguments) == 1
        assert capsys.readouterr().err == f"tavern-trace: {told}\n"


@pytest.mark.parametrize(
    "arguments",
    [[], ["show"], ["show", "x", "--what"], ["verify", "x"], ["verify", "-", "--history", "-"]],
)
def test_wrong_arguments_end_with_2(arguments: list[str], capsys: Output) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: tavern-trace" in capsys.readouterr().err


# --- streams ---------------------------------------------------------------------------------


def test_standard_input_stands_for_a_file(
    store: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(Path(store).read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert main(["diff", "-", "60c4", "ab76"]) == 0
    assert "the parts are the same" in capsys.readouterr().out


def test_module_runs_and_survives_a_reader_that_leaves(store: str) -> None:
    command = f'"{sys.executable}" -W error -m tavern_trace show "{store}" --json | head -c 1'
    run = subprocess.run(  # noqa: S602 - a pipe is the point
        command, shell=True, capture_output=True, check=False
    )
    assert (run.stdout, run.stderr) == (b"{", b"")


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ("show - <&-", "standard input is closed"),
        ('show "{store}" >&-', "standard output is closed"),
        pytest.param(
            'show "{store}" >/dev/full',
            "standard output: No space left on device",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it"),
        ),
    ],
)
def test_stream_that_cannot_be_used_is_one_line(arguments: str, fault: str, store: str) -> None:
    command = f'"{sys.executable}" -m tavern_trace {arguments.format(store=store)}'
    run = subprocess.run(  # noqa: S602 - redirections are the point
        command, shell=True, capture_output=True, check=False, text=True
    )
    assert (run.returncode, run.stderr) == (1, f"tavern-trace: {fault}\n")


def test_any_locale_is_fine(store: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tavern_trace", "show", store, "--json"],
        env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, b"")


def test_columns() -> None:
    assert list(table(("A", "N", "TEXT"), [("猫", 1, "x" * 30), ("b", 20, "猫猫")], 20)) == [
        "A    N  TEXT",
        "猫   1  xxxxxxxxxxx…",
        "b   20  猫猫",
    ]
    assert cut("猫猫猫", 4) == "猫…"
    assert width("e\u0301🦊") == 3
