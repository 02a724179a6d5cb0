"""The demo: what `python -m tavern_loader compile` prints for the samples and for own files."""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

COMMAND = (sys.executable, "-W", "error", "-m", "tavern_loader", "compile")
SAMPLES = Path(str(files("tavern_loader"))) / "samples"


def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *arguments], input=stdin, capture_output=True, check=False)


def document(*arguments: str, stdin: bytes = b"") -> dict[str, Any]:
    done = run(*arguments, "--json", stdin=stdin)
    assert (done.returncode, done.stderr) == (0, b"")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_english_sample_fires_and_misses_for_each_reason() -> None:
    found = {entry["title"]: entry["reason"] for entry in document()["entries"]}
    assert found == {
        "The river": "constant",
        "Lantern law": "primary-key-match",
        "Drowned chapel": "secondary-keys-match",
        "Chapel fair": "secondary-keys-miss",
        "Cable ferry": "primary-key-match",
        "Sandbars": "primary-key-miss",
        "Weather signs": "primary-key-match",
        "Whisper at the rail": "primary-key-match",
        "Old ending": "disabled",
    }


def test_parts_of_the_english_sample_stand_in_the_order_of_the_preset() -> None:
    parts = document()["parts"]
    fields = [
        source.get("identifier") or source.get("qualified_entry_id") or source["field"]
        for source in (part["sources"][0] for part in parts)
    ]
    assert fields == [
        "main", "style", "ferry.world:0", "ferry.world:1", "ferry.world:2", "description",
        "description", "personality", "scenario", "ferry.world:4", "ferry.world:6",
        "ferry.world:7",
        "messageExample", "pace", "jailbreak", "depthPrompt",
    ]  # fmt: skip
    assert [part["name"].split(":")[2] for part in parts] == [
        f"{ordinal:04}" for ordinal in range(len(parts))
    ]


@pytest.mark.parametrize("sample", ["ferry", "teahouse"])
def test_every_text_of_the_card_is_in_the_parts_or_named(sample: str) -> None:
    found = document("--sample", sample)
    sources = {source["text"] for part in found["parts"] for source in part["sources"]}
    card = json.loads((SAMPLES / f"{sample}.card.json").read_bytes())["data"]
    sent = ("description", "personality", "scenario", "mes_example", "system_prompt",
            "post_history_instructions")  # fmt: skip
    assert [name for name in sent if card[name] and card[name] not in sources] == []
    remarks = " ".join(remark["message"] for remark in found["diagnostics"])
    assert "greeting is not sent" in remarks
    assert "creator_notes" in remarks


def test_table_shows_chinese_in_columns() -> None:
    done = run("--sample", "teahouse", "--width", "100")
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()
    assert "  + “铜铃” fired because its key “铜铃” occurs in message input" in "\n".join(lines)
    header = next(line for line in lines if line.startswith("  name"))
    row = next(line for line in lines if ":user:description" in line)
    assert header.index("from") == row.index("user  ")


def test_own_files_take_the_place_of_the_sample() -> None:
    card, world = SAMPLES / "ferry.card.json", SAMPLES / "teahouse.world.json"
    found = document("--card", "-", "--world", str(world), stdin=card.read_bytes())
    assert [(used["role"], used["name"]) for used in found["files"]] == [
        ("card", "<stdin>"),
        ("world", "teahouse.world"),
    ]
    greeting = [part for part in found["parts"] if part["sources"][0]["field"] == "greeting"]
    assert len(greeting) == 1


def test_reader_that_stops_early_gets_no_traceback() -> None:
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 0)


def test_missing_file_is_one_line_and_exit_code_1() -> None:
    done = run("--card", "no-such-file.png")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == (
        b"tavern-loader: error: no-such-file.png: FILE_NOT_FOUND: there is no such file\n"
    )
