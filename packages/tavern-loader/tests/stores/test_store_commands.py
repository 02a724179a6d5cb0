"""The commands on the stores: tables for people, documents for programs, exit codes."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tavern_loader import cli
from tavern_loader.adapters import session_logs
from tavern_loader.adapters.session_logs import LoggedHost
from tavern_loader.adapters.stored_bytes import TRACE_RECORDS
from tavern_loader.domain.log_messages import messages_of
from tavern_loader.errors import HostError
from tavern_loader.service.reading import SourceFile
from tests.trace_scenario import VECTORS, case

Capture = pytest.CaptureFixture[bytes]
FIRST = "60c4706e-c4ee-4d0e-a1ea-10b7e369022f"


class Shell:
    """Runs commands on the stores of one home."""

    def __init__(self, home: Path, capture: Capture) -> None:
        self.home = home
        self._capture = capture

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command; gives exit code, output and errors."""
        try:
            code = cli.main([*arguments, "--dsh-home", str(self.home)])
        except SystemExit as end:
            code = int(end.code or 0)
        told = self._capture.readouterr()
        return code, told.out.decode(), told.err.decode()

    def text(self, *arguments: str) -> str:
        code, out, err = self.run(*arguments)
        assert (code, err) == (0, "")
        return out

    def json(self, *arguments: str) -> Any:
        return json.loads(self.text(*arguments, "--json"))

    def keep(self, *paths: Path) -> dict[str, str]:
        """Import files and give the ids by name."""
        told = self.json("import", *map(str, paths))
        return {one["name"]: one["id"] for file in told["files"] for one in file["resources"]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def shell(home: Path, capsysbinary: Capture) -> Shell:
    return Shell(home, capsysbinary)


@pytest.fixture
def paths(tmp_path: Path, files: dict[str, SourceFile]) -> dict[str, Path]:
    made = {}
    for name, file in files.items():
        made[name] = tmp_path / file.name
        made[name].write_bytes(file.data)
    return made


@pytest.fixture
def kept(shell: Shell, paths: dict[str, Path]) -> dict[str, str]:
    """Keep one resource of each kind; ids by name."""
    names = ("preset", "character", "world-book", "personas")
    return shell.keep(*(paths[name] for name in names))


def test_import_says_what_each_file_is(shell: Shell, paths: dict[str, Path]) -> None:
    told = shell.text("import", *map(str, paths.values()))
    words = [line.split()[:2] for line in told.splitlines()]
    assert words[:7] == [
        ["file", "is"],
        ["Plain.json", "chat-completion-preset"],
        ["Maren.json", "character-card"],
        ["Nell.png", "character-card"],
        ["River.json", "world-book"],
        ["backup.json", "personas"],
        ["card.json", "character-card"],
    ]


def test_a_file_that_cannot_be_kept_does_not_keep_the_others_out(
    shell: Shell, paths: dict[str, Path], tmp_path: Path
) -> None:
    bad = tmp_path / "notes.txt"
    bad.write_text("hello")
    code, out, _ = shell.run("import", str(bad), str(paths["preset"]), str(tmp_path / "gone"))
    assert code == 1
    assert "not kept: notes.txt: NOT_KEPT" in out
    assert "FILE_NOT_FOUND" in out
    assert [one["name"] for one in shell.json("list")["resources"]] == ["Plain"]


def test_a_store_that_fails_keeps_no_other_resource_out(
    shell: Shell, paths: dict[str, Path], home: Path
) -> None:
    (home / "pmp-dsh-tavern").mkdir(parents=True)
    (home / "pmp-dsh-tavern" / "world-books").write_text("no folder")
    code, out, err = shell.run("import", str(paths["world-book"]), str(paths["preset"]))
    assert code == 1
    assert [line.split()[0] for line in out.splitlines()] == ["file", "Plain.json"]
    assert re.fullmatch(r"tavern-loader: error: .*River\.json: STORE_UNWRITABLE: .*\n", err)


def test_list_shows_what_is_kept(shell: Shell, kept: dict[str, str]) -> None:
    assert shell.text("list", "character").splitlines()[1].split()[:4] == [
        "character",
        "Maren",
        "2",
        "greetings",
    ]
    listed = shell.json("list")
    assert [(one["kind"], one["name"], one["id"]) for one in listed["resources"]] == [
        ("preset", "Plain", kept["Plain"]),
        ("character", "Maren", kept["Maren"]),
        ("world-book", "River", kept["River"]),
        ("user", "Ann", kept["Ann"]),
    ]
    assert listed["problems"] == []
    assert shell.run("list", "nothing")[0] == 2


def test_list_of_nothing_and_of_damage(shell: Shell, home: Path, kept: dict[str, str]) -> None:
    path = home / "pmp-dsh-tavern" / "users" / f"{kept['Ann']}.json"
    path.write_bytes(b"[]")
    told = shell.text("list", "user")
    assert told.startswith("nothing\n")
    assert "USER_DOCUMENT_INVALID" in told
    assert shell.json("list")["problems"][0]["code"] == "USER_DOCUMENT_INVALID"


def test_show_gives_facts_to_people_and_the_document_to_programs(
    shell: Shell, kept: dict[str, str]
) -> None:
    told = shell.text("show", "Maren")
    assert "source.format" in told
    assert "Rows the ferry" not in told
    assert shell.json("show", kept["Maren"])["data"]["description"] == "Rows the ferry."
    code, _, err = shell.run("show", "nobody")
    assert (code, err) == (
        1,
        (
            "tavern-loader: error: RESOURCE_NOT_FOUND: there is no resource of this name or id;"
            " there are: “Plain”, “Maren”, “River”, “Ann”\n"
        ),
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "rivr"), "no resource of this name or id; there are: “River”, "),
        (("export", "Mar"), "no resource of this name or id; there are: “Maren”, "),
        (("delete", "River", "Anne"), "no resource of this name or id; there are: “Ann”, "),
        (("show", "Maren", "--kind", "user"), "no user of this name or id; there are: “Ann”\n"),
        (
            ("bind", "--default", "--preset", "plane"),
            "no preset of this name or id; there are: “Plain”\n",
        ),
        (("bind", "--books-of-user", "Bob"), "no user of this name or id; there are: “Ann”\n"),
        (
            ("bind", "--default", "--world-book", "x" * 100_000),
            "no world-book of this name or id; there are: “River”\n",
        ),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_ones(
    shell: Shell, kept: dict[str, str], arguments: tuple[str, ...], said: str
) -> None:
    code, out, err = shell.run(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("tavern-loader: error: RESOURCE_NOT_FOUND: there is ")
    assert said in err
    assert len(shell.json("list")["resources"]) == len(kept)


def test_at_most_ten_names_are_told_the_nearest_first(
    shell: Shell, paths: dict[str, Path], tmp_path: Path
) -> None:
    assert shell.run("show", "x")[2].endswith("of this name or id; none is kept\n")
    for number in range(14):
        (tmp_path / f"Book {number:02}.json").write_bytes(paths["world-book"].read_bytes())
    shell.keep(*sorted(tmp_path.glob("Book *.json")))
    err = shell.run("show", "Bok 13")[2]
    assert err.count("“") == 10
    assert err.partition("there are: ")[2].startswith("“Book 13”, ")
    assert err.endswith(", and 4 more\n")
    same = [shell.keep(tmp_path / "Book 01.json")["Book 01"] for _ in range(11)]
    err = shell.run("show", "Book 01")[2]
    assert "RESOURCE_AMBIGUOUS: 12 resources are meant: world-book " in err
    assert sum(known_as in err for known_as in same) >= 9


def test_export_writes_a_file_and_delete_takes_the_resource_away(
    shell: Shell, kept: dict[str, str], paths: dict[str, Path], tmp_path: Path
) -> None:
    target = tmp_path / "out.json"
    assert shell.text("export", "River", "--output", str(target)).startswith(str(target))
    assert json.loads(target.read_bytes()) == json.loads(paths["world-book"].read_bytes())
    code, out, _ = shell.run("export", "Plain", "--output", "-")
    assert (code, json.loads(out)) == (0, json.loads(paths["preset"].read_bytes()))
    assert shell.run("export", "Plain", "--form", "png")[0] == 2
    assert shell.text("delete", "River", "Ann") == (
        f"deleted: world-book {kept['River']}\ndeleted: user {kept['Ann']}\n"
    )
    assert [one["name"] for one in shell.json("list")["resources"]] == ["Plain", "Maren"]


def test_an_export_stays_in_its_folder(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    book = tmp_path / "book.json"
    book.write_text(json.dumps({"name": "../a/b", "entries": {}}))
    shell.keep(book)
    assert shell.text("export", "../a/b").startswith("_a_b.json: ")
    assert (tmp_path / "_a_b.json").exists()


def test_bind_gives_a_session_and_all_new_ones_their_resources(
    shell: Shell, kept: dict[str, str]
) -> None:
    bound = shell.json(
        *("bind", "--session", "s1", "--preset", "Plain", "--character", "Maren"),
        *("--world-book", "River", "--greeting", "1", "--lore-channel", "late"),
    )
    assert bound["selection"]["characterCardId"] == kept["Maren"]
    assert bound["selection"]["character"]["greetingIndex"] == 1
    assert (bound["loreChannel"], bound["available"]) == ("late", True)
    assert shell.json("bind", "--session", "s1") == bound
    told = shell.text("bind", "--session", "s1", "--preset", "none", "--world-book", "none")
    assert [line.split()[:2] for line in told.splitlines()] == [
        ["bound", "name"],
        ["character", "Maren"],
        ["greeting", "1"],
        ["lore", "late"],
    ]
    assert shell.text("bind", "--session", "s2") == "nothing is bound\n"
    shell.text("bind", "--default", "--user", "Ann")
    assert shell.json("bind", "--session", "s2")["selection"]["userId"] == kept["Ann"]


def test_sessions_that_are_gone_can_be_forgotten(
    shell: Shell, home: Path, kept: dict[str, str]
) -> None:
    assert kept
    for session_id in ("s1", "s2", "s3"):
        shell.text("bind", "--session", session_id, "--preset", "Plain")
    keep_log(home, "s1", as_log(SPOKEN))
    assert shell.json("forget", "--session", "s3", "--session", "s9") == {"forgotten": ["s3"]}
    assert shell.text("forget", "--gone") == "1 of 2 sessions forgotten\ns2\n"
    assert shell.text("bind", "--session", "s1").splitlines()[1].split()[1] == "Plain"
    assert shell.run("forget")[0] == 2


def test_books_are_bound_to_their_owners(shell: Shell, kept: dict[str, str]) -> None:
    told = shell.json("bind", "--books-of-character", "Maren", "--world-book", "River")
    assert told == {
        "owner": "character",
        "ownerId": kept["Maren"],
        "worldBookIds": [kept["River"]],
    }
    assert "River" in shell.text("bind", "--books-of-character", "Maren")
    assert (
        shell.text("bind", "--books-of-character", "Maren", "--world-book", "none")
        == "no world books\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--session", "s", "--default"),
        ("--session", "a b", "--preset", "Plain"),
        ("--session", "s", "--character", "Maren", "--greeting", "9"),
        ("--books-of-user", "Ann", "--preset", "Plain"),
    ],
)
def test_wrong_arguments_of_bind_end_with_2(
    shell: Shell, kept: dict[str, str], arguments: tuple[str, ...]
) -> None:
    assert kept
    assert shell.run("bind", *arguments)[0] == 2


def test_active_shows_what_would_be_sent_and_why(shell: Shell, kept: dict[str, str]) -> None:
    shell.text(
        *("bind", "--session", "s1", "--preset", "Plain", "--character", "Maren"),
        *("--world-book", "River"),
    )
    told = shell.text("active", "--session", "s1", "--input", "Call the ferry")
    assert "“Ferry” fired because its key “ferry”" in told
    assert "its history is not at hand: this session has no log" in told
    assert "lore system (as bound): the first" in told
    found = shell.json("active", "--session", "s1", "--input", "Call the ferry")
    texts = [part["text"] for part in found["compiled"]["parts"]]
    assert texts == ["Write.", "The ferry is slow.", "Rows the ferry.", "Come aboard."]
    assert [entry["reason"] for entry in found["compiled"]["entries"]] == ["primary-key-match"]
    bound, other = found["prefixes"]
    assert (bound["loreChannel"], bound["isBound"], other["loreChannel"]) == (
        "system",
        True,
        "late",
    )
    assert bound["commonBytes"] < bound["systemBytes"]
    assert other["commonBytes"] == other["systemBytes"]
    quiet = shell.json("active", "--session", "s1")
    assert [entry["fired"] for entry in quiet["compiled"]["entries"]] == [False]
    assert quiet["prefixes"] == []
    assert kept["River"] in found["selection"]["worldBookIds"]
    # Looking binds nothing.
    assert shell.text("bind", "--session", "s9") == "nothing is bound\n"


def test_active_names_what_it_shows(shell: Shell, kept: dict[str, str], tmp_path: Path) -> None:
    shell.text(
        *("bind", "--session", "s1", "--preset", "Plain", "--character", "Maren"),
        *("--world-book", "River"),
    )
    told = shell.text("active", "--session", "s1", "--input", "ferry")
    assert not any(known_as in told for known_as in kept.values())
    assert "World book River: 1 of 1 fired" in told
    assert "World book River (in the card): 0 of 0 fired" in told
    assert "River #0" in told
    other = tmp_path / "other" / "River.json"
    other.parent.mkdir()
    other.write_text(json.dumps({"entries": {"0": {"uid": 0, "key": ["x"], "content": "y"}}}))
    other_id = shell.keep(other)["River"]
    shell.text("bind", "--session", "s1", "--world-book", kept["River"], "--world-book", other_id)
    told = shell.text("active", "--session", "s1")
    for known_as in (kept["River"], other_id):
        assert f"World book River ({known_as}): 0 of 1 fired" in told
        assert ["world-book", "River", known_as] in [line.split() for line in told.splitlines()]
    assert kept["Maren"] not in told
    files = shell.json("active", "--session", "s1")["compiled"]["files"]
    books = [(one["name"], one["detail"]) for one in files if one["role"] == "world book"]
    assert books[:2] == [(kept["River"], "River"), (other_id, "River")]


def test_lore_behind_the_history_is_shown_apart(shell: Shell, kept: dict[str, str]) -> None:
    assert kept
    shell.text("bind", "--session", "s1", "--world-book", "River", "--lore-channel", "late")
    told = shell.text("active", "--session", "s1", "--input", "ferry")
    assert "Late lore: behind the history" in told
    assert told.splitlines()[-1].split()[-4:] == ["The", "ferry", "is", "slow."]
    found = shell.json("active", "--session", "s1", "--input", "ferry")["compiled"]
    assert (found["parts"], [part["text"] for part in found["late_parts"]]) == (
        [],
        ["The ferry is slow."],
    )


# --- logs ------------------------------------------------------------------------------------


def as_log(session: dict[str, Any]) -> bytes:
    header = {"type": "session", **session["meta"]}
    return b"".join(json.dumps(row).encode() + b"\n" for row in (header, *session["events"]))


def keep_log(home: Path, session_id: str, data: bytes, name: str = "session.jsonl") -> Path:
    folder = home / "sessions" / "--work--" / session_id
    folder.mkdir(parents=True)
    path = folder / name
    path.write_bytes(data)
    return path


SPOKEN: dict[str, Any] = {
    "meta": {"version": 0, "id": "s1", "createdAt": 1},
    "events": [
        {
            "seq": 0,
            "type": "user/message",
            "surfaceOp": "append",
            "data": {
                "role": "user",
                "id": "m1",
                "source": {"kind": "user"},
                "content": [{"type": "text", "text": "I wait for the ferry."}],
            },
        }
    ],
}


def test_active_reads_the_history_of_the_session(
    shell: Shell, home: Path, kept: dict[str, str]
) -> None:
    assert kept
    keep_log(home, "s1", as_log(SPOKEN))
    shell.text("bind", "--session", "s1", "--world-book", "River")
    found = shell.json("active", "--session", "s1")
    assert [entry["fired"] for entry in found["compiled"]["entries"]] == [True]
    assert {"role": "history", "name": "", "detail": "1 messages"} in found["compiled"]["files"]
    assert [entry["budget_tokens"] for entry in found["compiled"]["entries"]] == [None]


def test_active_gives_lore_its_share_of_the_context(
    shell: Shell, home: Path, kept: dict[str, str]
) -> None:
    assert kept
    events = [
        *SPOKEN["events"],
        {"seq": 1, "type": "request/context", "data": {"contextWindow": 9}},
        {"seq": 2, "type": "request/context", "data": {"contextWindow": 8}},
    ]
    keep_log(home, "s1", as_log({**SPOKEN, "events": events}))
    shell.text("bind", "--session", "s1", "--world-book", "River")
    found = shell.json("active", "--session", "s1", "--input", "ferry")["compiled"]
    (entry,) = found["entries"]
    assert (entry["reason"], entry["budget_tokens"]) == ("budget-exceeded", 2)
    assert found["late_parts"] == found["parts"] == []


def test_trace_shows_the_verified_record(shell: Shell, home: Path) -> None:
    root = home / "pmp-dsh-tavern"
    root.mkdir(parents=True)
    (root / TRACE_RECORDS).write_bytes((VECTORS / TRACE_RECORDS).read_bytes())
    assert shell.text("trace", "--session", "other") == "no records of session other\n"
    told = shell.text("trace", "--session", "session-demo", "--id", FIRST[:8])
    assert "nothing can be proven" in told
    keep_log(home, "session-demo", as_log(case("session_demo")))
    told = shell.text("trace", "--session", "session-demo", "--id", FIRST[:8])
    assert f"Record {FIRST}" in told
    assert "texts: available" in told
    sections = next(line for line in told.splitlines() if line.startswith("Sections: "))
    amount = sections.split()[1].rstrip(",")
    assert sections == f"Sections: {amount}, {amount} verified against the session's log"
    found = shell.json("trace", "--session", "session-demo")
    assert found["record"]["id"] == found["records"][-1]["id"]
    assert shell.text("trace", "--session", "session-demo").startswith("record ")
    assert shell.run("trace", "--session", "session-demo", "--id", "zzzz")[0] == 1


def test_trace_of_a_damaged_file_is_no_success(shell: Shell, home: Path) -> None:
    (home / "pmp-dsh-tavern").mkdir(parents=True)
    (home / "pmp-dsh-tavern" / TRACE_RECORDS).write_text("{")
    code, out, err = shell.run("trace", "--session", "one")
    assert (code, out) == (1, "no records of session one\n")
    assert err == "tavern-loader: the trace cannot be used: INVALID_JSON\n"


needs_unpacker = pytest.mark.skipif(
    shutil.which("zstd") is None, reason="packing the log for the test needs zstd"
)


@pytest.mark.parametrize("program", ["node", "zstd"])
@needs_unpacker
def test_a_packed_log_is_read_up_to_its_torn_end(
    home: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not _unpacks(program):
        pytest.skip(f"{program} cannot unpack Zstandard here")
    rows = [row for row in session_logs._PROGRAMS if row[0] == program]
    monkeypatch.setattr(session_logs, "_PROGRAMS", rows)
    lines = as_log(SPOKEN).splitlines(keepends=True)
    frames = [
        subprocess.run(["zstd", "-qc"], input=line, capture_output=True, check=True).stdout  # noqa: S607
        for line in (*lines, b'{"seq": 1, "type": "x", "data": {}}\n')
    ]
    keep_log(home, "s1", b"".join(frames)[:-20], "session.jsonl.zstd")
    log = LoggedHost(home).inspect("s1")
    assert log is not None
    assert log["meta"]["id"] == "s1"
    assert list(log["events"]) == SPOKEN["events"]


def _unpacks(program: str) -> bool:
    if program == "zstd":
        return True
    node = shutil.which("node")
    if node is None:
        return False
    script = "process.exit(typeof require('zlib').zstdDecompressSync === 'function' ? 0 : 1)"
    return subprocess.run([node, "-e", script], check=False).returncode == 0


def test_a_log_nobody_can_unpack_or_read_is_told(
    shell: Shell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = keep_log(home, "s1", b"\x28\xb5\x2f\xfdxxxx", "session.jsonl.zstd")
    monkeypatch.setattr(session_logs, "_PROGRAMS", ())
    host = LoggedHost(home)
    with pytest.raises(HostError, match="SESSION_LOG_PACKED"):
        host.inspect("s1")
    assert "SESSION_LOG_PACKED" in shell.text("active", "--session", "s1")
    path.write_bytes(b"")
    with pytest.raises(HostError, match="SESSION_LOG_UNREADABLE"):
        host.inspect("s1")
    assert (host.inspect("gone"), host.inspect("../../x")) == (None, None)


def event(seq: int, text: str, operation: object = "append") -> dict[str, Any]:
    return {"seq": seq, "surfaceOp": operation, "data": {"role": "user", "content": text}}


def replace(start: int, end: int) -> dict[str, Any]:
    return {"op": "replace", "start": start, "end": end}


@pytest.mark.parametrize(
    ("events", "texts"),
    [
        ([event(0, "a"), event(1, "b")], ["a", "b"]),
        ([event(0, "a"), {"seq": 1, "data": {}}, event(2, "b")], ["a", "b"]),
        ([event(0, "a"), event(1, "b"), event(2, "c"), event(3, "s", replace(0, 1))], ["s", "c"]),
        ([event(0, "a"), event(1, "s", replace(7, 9))], ["a", "s"]),
        ([event(0, "a"), event(1, "s", {"op": "replace"}), event(2, "x", "other")], ["a"]),
        ([{"seq": 0, "surfaceOp": "append", "data": {"message": {"content": "in"}}}], ["in"]),
    ],
)
def test_a_log_gives_the_messages_the_host_would_send(
    events: list[dict[str, Any]], texts: list[str]
) -> None:
    assert [message["content"] for message in messages_of(events)] == texts


def test_commands_load_only_what_they_need() -> None:
    script = (
        "import sys\n"
        "from tavern_loader.cli import main\n"
        "try: main(['list', '--help'])\n"
        "except SystemExit: pass\n"
        "sys.exit('starlette' in sys.modules or 'uvicorn' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
