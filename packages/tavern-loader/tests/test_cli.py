"""The command line: files in, text out, exit codes, and one clear line for what cannot be used."""

import io
import json
import sys
from pathlib import Path

import pytest

from tavern_loader import cli

CARD = '{"name": "Ada", "description": "{{user}} 龙"}'


Capture = pytest.CaptureFixture[bytes]


def run(*arguments: str) -> int:
    return cli.main(["compile", *arguments])


def out(capsysbinary: Capture) -> str:
    return capsysbinary.readouterr().out.decode()


def test_without_files_the_sample_set_is_used(capsysbinary: Capture) -> None:
    assert run() == 0
    assert out(capsysbinary).startswith("Sample set ferry\n")


def test_sample_set_is_chosen_and_changed(capsysbinary: Capture) -> None:
    assert run("--sample", "teahouse", "--input", "山神", "--user", "Li", "--json") == 0
    document = json.loads(out(capsysbinary))
    assert [used["name"] for used in document["files"] if used["role"] == "input"] == ["Li"]
    fired = [entry["title"] for entry in document["entries"] if entry["fired"]]
    assert fired == ["空桌", "山神庙", "猫", "断桥", "青雾山"]


def test_document_shows_whole_decisions(tmp_path: Path, capsysbinary: Capture) -> None:
    base = {"key": ["🦊 fox"], "content": "x", "position": 4, "group": "den", "selective": True}
    world = {"0": base | {"uid": 0, "groupOverride": True, "probability": 100},
             "1": base | {"uid": 1, "key": ["/f.x/"]}}  # fmt: skip
    path = tmp_path / "den.json"
    path.write_text(json.dumps({"entries": world}), encoding="utf-8")
    assert run("--world", str(path), "--input", "A 🦊 fox", "--json") == 0
    first, second = json.loads(out(capsysbinary))["entries"]
    place = {"place": "input", "place_kind": "message", "in_speaker": False, "secondary": False}
    assert first["matches"] == [
        place | {"key": "🦊 fox", "kind": "phrase-substring", "start_chars": 2,
                 "end_chars": 7, "start_utf16": 2, "end_utf16": 8}
    ]  # fmt: skip
    told = {
        name: first[name]
        for name in ("reason", "cause", "loop", "state", "group", "requested_position")
    }
    assert told == {
        "reason": "primary-key-match",
        "cause": None,
        "loop": 1,
        "state": "INITIAL",
        "group": "den",
        "requested_position": "AT_DEPTH",
    }
    assert (first["applied_position"], second["applied_position"]) == ("AT_DEPTH", None)
    assert (second["reason"], second["cause"]) == ("group-loser", "primary-key-match")
    assert second["matches"][0]["kind"] == "regex"
    unknown = {"tokens", "budget_before_tokens", "budget_after_tokens", "budget_tokens", "draw"}
    assert {name for name in unknown if first[name] is not None} == set()


def test_document_shows_draws_and_thresholds(tmp_path: Path, capsysbinary: Capture) -> None:
    entry = {"uid": 0, "constant": True, "content": "x", "probability": 1, "useProbability": True}
    path = tmp_path / "luck.json"
    path.write_text(json.dumps({"entries": {"0": entry}}), encoding="utf-8")
    assert run("--world", str(path), "--seed", "7", "--json") == 0
    document = json.loads(out(capsysbinary))
    (found,), (draw,) = document["entries"], document["draws"]
    assert (found["reason"], found["cause"]) == ("probability-failed", "constant")
    assert (found["draw"], found["threshold_percent"]) == (draw, 1)


def test_own_files_are_read(tmp_path: Path, capsysbinary: Capture) -> None:
    path = tmp_path / "ada.json"
    path.write_text(CARD, encoding="utf-8")
    persona = tmp_path / "me.txt"
    persona.write_text("\ufeffTired.", encoding="utf-8")
    assert run("--card", str(path), "--user", "Bo", "--persona", str(persona), "--json") == 0
    document = json.loads(out(capsysbinary))
    assert [part["text"] for part in document["parts"]] == ["Tired.", "Bo 龙"]


def test_standard_input_is_read(capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CARD.encode())))
    assert run("--card", "-") == 0
    assert "<stdin>" in out(capsysbinary)


def test_persona_may_be_any_text(capsysbinary: Capture) -> None:
    persona = "x" * 5000
    assert run("--persona", persona, "--json") == 0
    assert persona in out(capsysbinary)


def test_sample_sets_are_listed(capsysbinary: Capture) -> None:
    assert run("--list-samples") == 0
    assert [line.split()[0] for line in out(capsysbinary).splitlines()] == [
        "ferry",
        "teahouse",
    ]


@pytest.mark.parametrize(
    ("option", "content", "code"),
    [
        ("--card", None, "FILE_NOT_FOUND"),
        ("--card", "folder", "FILE_IS_FOLDER"),
        ("--world", CARD.encode(), "WRONG_KIND"),
        ("--card", b"\x89PNG\r\n\x1a\n", "PNG_TRUNCATED"),
        ("--chat", b"\xff\xfe\x00", "ENCODING_NOT_UTF8"),
        ("--persona", b"\xff", "ENCODING_NOT_UTF8"),
        ("--world", b"[" * 100_000, "LIMIT_EXCEEDED"),
    ],
)
def test_file_that_cannot_be_used_costs_one_line(
    option: str,
    content: bytes | str | None,
    code: str,
    tmp_path: Path,
    capsysbinary: Capture,
) -> None:
    path = tmp_path / "given"
    if content == "folder":
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    assert run(option, str(path)) == 1
    output, error = capsysbinary.readouterr()
    (line,) = error.decode().splitlines()
    assert line.startswith("tavern-loader: error: ")
    assert f"given: {code}: " in line
    assert output == b""


def test_file_beyond_the_limit_is_refused_before_it_is_held(
    tmp_path: Path, capsysbinary: Capture
) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as stream:
        stream.truncate(2**40)
    assert run("--card", str(path)) == 1
    assert b"FILE_TOO_LARGE" in capsysbinary.readouterr().err


def test_name_that_no_file_can_have_is_refused(capsysbinary: Capture) -> None:
    assert run("--card", "a\0b") == 1
    assert b"FILE_UNREADABLE" in capsysbinary.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--sample", "ferry", "--card", "x"),
        ("--sample", "nope"),
        ("--card", "-", "--world", "-"),
        ("--width", "0"),
        ("--width", "wide"),
        ("--nope",),
    ],
)
def test_wrong_arguments_get_the_usage(arguments: tuple[str, ...], capsysbinary: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        run(*arguments)
    assert caught.value.code == 2
    assert capsysbinary.readouterr().err.startswith(b"usage: tavern-loader ")
