import json
import struct
import subprocess
import sys
import zlib
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from tavern_format import (
    CharacterCard,
    Entry,
    WorldBook,
    dump_card,
    dump_card_charx,
    dump_card_png,
    dump_world_book,
    parse_card,
    parse_world_book,
)
from tavern_format.cli import CommandError, _write_files, main

FULL = Path("/dev/full")
BOOK = WorldBook(name="B", entries=[Entry(uid=0, keys=("k",), content="text")])
CARD = CharacterCard(name="Ada\x1b[31m", description="D", character_book=BOOK)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "card.json").write_bytes(dump_card(CARD))
    (tmp_path / "card.png").write_bytes(dump_card_png(CARD))
    (tmp_path / "book.json").write_bytes(dump_world_book(BOOK))
    (tmp_path / "odd.json").write_bytes(b'{"entries":{"0":{"uid":0,"key":[],"order":"7"}}}')
    (tmp_path / "info.json").write_bytes(b'{"entries":{"0":{"uid":0}}}')
    (tmp_path / "broken.json").write_bytes(b'{"entries":')
    charx = dump_card_charx(CARD, files={"a/b.txt": b"text", "c.png": b"sound"})
    (tmp_path / "card.charx").write_bytes(charx)
    (tmp_path / "damaged.charx").write_bytes(charx.replace(b"sound", b"SOUND"))
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "a").symlink_to(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "a").write_bytes(b"")
    return tmp_path


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def test_inspect_says_what_a_file_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("inspect", folder / "card.png") == 0
    lines = dict(line.split(":", 1) for line in capsys.readouterr().out.splitlines())
    assert lines["kind"].strip() == "character-card"
    assert lines["container"].strip() == "png"
    assert lines["book entries"].strip() == "1"


def test_names_from_files_cannot_command_the_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("inspect", folder / "card.json")
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert r"Ada\x1b[31m" in out


def test_inspect_prints_one_json_document(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("inspect", "--json", folder / "book.json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["kind"], facts["name"], facts["entries"]) == ("world-book", "B", 1)


def test_validate_prints_one_line_a_problem(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("validate", folder / "odd.json") == 1
    assert capsys.readouterr().out == (
        "warning FIELD_TYPE /entries/0/order a number is needed here, not a string;"
        " the text is kept\n"
    )
    assert run("validate", folder / "broken.json") == 1
    assert capsys.readouterr().out.startswith("error JSON_TRUNCATED / the JSON text ends early")


def test_validate_passes_a_sound_file_and_an_info(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("validate", folder / "book.json") == 0
    assert capsys.readouterr().out == ""
    assert run("validate", folder / "info.json") == 0
    assert capsys.readouterr().out.startswith("info KEYS_MISSING /entries/0")
    assert run("validate", "--strict", folder / "info.json") == 1


def test_validate_names_the_file_when_there_are_several(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("validate", folder / "book.json", folder / "gone.json") == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{folder / 'gone.json'}: error FILE_UNREADABLE")
    assert run("validate", "--json", folder / "book.json", folder / "odd.json") == 1
    documents: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    assert [len(document["problems"]) for document in documents] == [0, 1]


@pytest.mark.parametrize("target", ["v2", "v3", "png", "charx"])
def test_a_card_is_converted_to_every_form(folder: Path, target: str) -> None:
    out = folder / "out"
    assert run("convert", folder / "card.json", "--to", target, "-o", out) == 0
    assert parse_card(out.read_bytes()).value.name == CARD.name


def test_a_picture_is_kept_and_can_be_chosen(folder: Path) -> None:
    picture = dump_card_png(CharacterCard(name="Other"))
    (folder / "other.png").write_bytes(picture)
    out = folder / "out.png"
    run(
        "convert", folder / "card.json", "--to", "png", "--picture", folder / "other.png", "-o", out
    )
    assert parse_card(out.read_bytes()).value.name == CARD.name


def test_a_book_is_converted_there_and_back(folder: Path) -> None:
    inner, outer = folder / "inner.json", folder / "outer.json"
    assert run("convert", folder / "book.json", "--to", "character-book", "-o", inner) == 0
    assert run("convert", inner, "--to", "world-book", "-o", outer) == 0
    assert parse_world_book(outer.read_bytes()).value.entries[0].keys == ("k",)
    assert run("convert", folder / "card.png", "--to", "world-book", "-o", outer, "--force") == 0
    assert parse_world_book(outer.read_bytes()).value.entries[0].content == "text"


def test_extract_and_embed(folder: Path) -> None:
    out, book, png = folder / "out.json", folder / "out-book.json", folder / "out.png"
    assert run("extract", folder / "card.png", "-o", out) == 0
    assert json.loads(out.read_bytes())["data"]["description"] == "D"
    assert run("extract", folder / "card.png", "--book", "-o", book) == 0
    assert parse_world_book(book.read_bytes()).value.name == "B"
    assert run("embed", out, "--into", folder / "card.png", "-o", png) == 0
    assert parse_card(png.read_bytes()).value.description == "D"
    assert run("embed", out, "--book", folder / "odd.json", "-o", folder / "with.json") == 0
    with_book = parse_card((folder / "with.json").read_bytes()).value.character_book
    assert with_book is not None
    assert with_book.name == "odd"


def test_extract_writes_the_files_of_a_card(folder: Path) -> None:
    charx = dump_card_charx(CARD, files={"assets/icon/main.png": b"\x89PNG"})
    (folder / "card.charx").write_bytes(charx)
    out = folder / "out.json"
    assert run("extract", folder / "card.charx", "--files", folder / "f", "-o", out) == 0
    assert (folder / "f/assets/icon/main.png").read_bytes() == b"\x89PNG"


def test_no_file_of_a_card_is_written_outside_of_the_folder(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    encoded = b64encode(b"x")
    names = ("../../evil", str(folder / "evil"), "..\\evil", "", "inside/good")
    assets = [b"tEXt" + f"chara-ext-asset_:{name}".encode() + b"\0" + encoded for name in names]
    chunks = b"".join(
        struct.pack(">I", len(asset) - 4) + asset + zlib.crc32(asset).to_bytes(4)
        for asset in assets
    )
    plain = dump_card_png(CARD)
    (folder / "evil.png").write_bytes(plain[:-12] + chunks + plain[-12:])
    before = set(folder.rglob("*"))
    target = folder / "d" / "e"
    assert run("extract", folder / "evil.png", "--files", target, "-o", folder / "out") == 0
    new = set(folder.rglob("*")) - before
    assert {str(path.relative_to(folder)) for path in new if path.is_file()} == {
        "out",
        "d/e/inside/good",
    }
    assert run("validate", folder / "evil.png") == 1
    assert capsys.readouterr().out.count("PNG_ASSET_UNSAFE") == 4


def test_no_file_is_written_when_one_would_lie_outside(folder: Path) -> None:
    card = CharacterCard(name="Ada", files={"good": b"x", "../evil": b"y"})
    with pytest.raises(CommandError, match="leads out of the folder"):
        _write_files(folder / "d", card, force=True)
    assert not (folder / "d").exists()
    assert not (folder / "evil").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["convert", "card.json"],
        ["convert", "card.json", "--to", "webp"],
        ["convert", "card.json", "--to", "v2", "--picture", "a.png"],
        ["embed", "card.json"],
        ["embed", "card.json", "--into", "a", "--book", "b"],
        ["frobnicate"],
    ],
)
def test_wrong_arguments_get_the_usage_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert capsys.readouterr().err.startswith("usage: tavern-format")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["inspect", "gone.json"], "gone.json: No such file"),
        (["inspect", "."], ".: Is a directory"),
        (["inspect", "broken.json"], "broken.json: JSON_TRUNCATED"),
        (["convert", "broken.json", "--to", "v2"], "broken.json: JSON_TRUNCATED"),
        (["convert", "book.json", "--to", "v2"], "book.json: only a character card becomes v2"),
        (["convert", "card.json", "--to", "v1"], "card.json: CARD_SPEC"),
        (
            ["convert", "card.json", "--to", "png", "--picture", "book.json"],
            "book.json: PNG_SIGNATURE",
        ),
        (["extract", "book.json"], "book.json: this is no character card"),
        (["embed", "card.json", "--book", "card.json"], "card.json: this is no world book"),
        (["embed", "card.json", "--into", "gone.png"], "gone.png: No such file"),
        (["convert", "card.json", "--to", "v2", "-o", "book.json"], "book.json: exists"),
        (["embed", "card.json", "--into", "book.json"], "book.json: PNG_SIGNATURE"),
        (["convert", "card.json", "--to", "v2", "-o", "no/where"], "no/where: No such file"),
        (["extract", "damaged.charx", "--files", "f"], "damaged.charx: ZIP_CRC"),
        (["extract", "card.charx", "--files", "book.json"], "a/b.txt: Not a directory"),
        (["extract", "card.charx", "--files", "linked"], "a/b.txt: leads out of the folder"),
        (["extract", "card.charx", "--files", "taken"], "a/b.txt: File exists"),
        (["extract", "card.png", "-o", "nul\0"], "null"),
    ],
)
def test_a_fault_is_one_clear_line(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(folder)
    assert main(arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("tavern-format: ")
    assert words in line


def process(*arguments: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "tavern_format", *arguments]
    return subprocess.run(command, input=data, capture_output=True, check=False, timeout=60)


def test_standard_input_and_output_make_a_pipe() -> None:
    png = process("convert", "-", "--to", "png", data=dump_card(CARD))
    back = process("extract", "-", data=png.stdout)
    assert (png.returncode, back.returncode, back.stderr) == (0, 0, b"")
    assert parse_card(back.stdout).value.name == CARD.name
    broken = process("inspect", "-", data=b"{")
    assert (broken.returncode, broken.stdout) == (1, b"")
    assert broken.stderr.startswith(b"tavern-format: standard input: JSON_TRUNCATED")


def test_half_characters_can_be_printed() -> None:
    done = process("inspect", "-", data=b'{"name":"A\\ud800","first_mes":""}')
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\ud800" in done.stdout


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "command", [["inspect", "-"], ["validate", "--json", "-"], ["extract", "-"]]
)
def test_a_full_disk_is_one_clear_line(command: list[str]) -> None:
    with FULL.open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tavern_format", *command],
            input=dump_card(CARD),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(b"tavern-format: standard output: No space left")
