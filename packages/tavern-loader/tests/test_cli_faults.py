"""The command line where things are missing, closed, full or forbidden: one line, no traceback.

What needs another user or another locale is run as a process of its own.
"""

import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tavern_loader import cli
from tavern_loader.commands import MODULES

Capture = pytest.CaptureFixture[bytes]
BOOK = {"entries": {"0": {"uid": 0, "key": ["ferry"], "comment": "Ferry", "content": "Slow."}}}
SHOWING = (
    ("compile",),
    ("compile", "--messages"),
    ("compile", "--json"),
    ("compile", "--list-samples"),
    ("list",),
    ("list", "--json"),
    ("show", "River"),
    ("export", "River", "--output", "-"),
    ("bind", "--session", "s1"),
    ("forget", "--session", "s9"),
    ("active", "--session", "s1"),
    ("trace", "--session", "s1"),
    ("uninstall",),
    ("import", "nowhere.json"),
)
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
posix = pytest.mark.skipif(os.name != "posix", reason="needs the shell of a POSIX system")
no_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="nothing is forbidden to this user"
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture) -> Path:
    """Make a home with one world book."""
    home = tmp_path / "home"
    monkeypatch.setenv("DSH_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    Path("River.json").write_text(json.dumps(BOOK), encoding="utf-8")
    assert cli.main(["import", "River.json"]) == 0
    capsysbinary.readouterr()
    return home


def shell(line: str, environment: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Run a line in which $T is the program."""
    program = f"{sys.executable} -m tavern_loader"
    done = subprocess.run(
        ["/bin/sh", "-c", line.replace("$T", program)],
        capture_output=True,
        check=False,
        timeout=60,
        env={**os.environ, **(environment or {})},
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def one_line(error: str) -> str:
    """Give the one line that was complained."""
    (line,) = error.splitlines()
    assert line.startswith("tavern-loader: ")
    return line


@pytest.mark.usefixtures("home")
@full
@pytest.mark.parametrize("arguments", SHOWING)
def test_an_output_that_is_full_is_said_in_one_line(
    arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert cli.main(arguments) == 1
        monkeypatch.undo()
    line = one_line(capsysbinary.readouterr().err.decode())
    assert "error: OUTPUT_UNWRITABLE: standard output cannot be written: No space left" in line


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("arguments", SHOWING)
def test_no_output_at_all_is_said_in_one_line(
    arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    with monkeypatch.context() as changed:
        changed.setattr(sys, "stdout", None)
        assert cli.main(arguments) == 1
    line = one_line(capsysbinary.readouterr().err.decode())
    assert line == "tavern-loader: error: OUTPUT_UNWRITABLE: there is no standard output"


@pytest.mark.usefixtures("home")
def test_no_place_for_complaints_changes_no_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        changed.setattr(sys, "stderr", None)
        assert cli.main(["show", "nobody"]) == 1
    closed = io.TextIOWrapper(io.BytesIO())
    closed.close()
    with monkeypatch.context() as changed:
        changed.setattr(sys, "stderr", closed)
        assert cli.main(["show", "nobody"]) == 1


@pytest.mark.usefixtures("home")
def test_no_input_at_all_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert cli.main(["compile", "--card", "-"]) == 1
    line = one_line(capsysbinary.readouterr().err.decode())
    assert "<stdin>: FILE_UNREADABLE: there is no standard input" in line


@pytest.mark.usefixtures("home")
@posix
def test_a_reader_that_has_seen_enough_is_no_fault() -> None:
    for line in ("compile --json", "list", "export River --output -"):
        code, _, error = shell(f"{{ $T {line}; echo $? >&2; }} | head -c 1")
        assert (code, error) == (0, "0\n"), line


@posix
def test_an_interrupt_is_no_traceback(home: Path) -> None:
    # Whoever runs the tests in the background has told all below to ignore interrupts.
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from tavern_loader.cli import main; sys.exit(main(['compile', '--card', '-']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONDEVMODE": "", "DSH_HOME": str(home)},
    )
    assert process.stdin is not None
    # More than a pipe holds: once it is written, the command has loaded all and is reading.
    process.stdin.write(b"[" * 1_000_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in error
    assert b"tavern-loader: interrupted\n" in error


def test_an_interrupt_of_a_command_has_the_code_of_shells(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_end", interrupt)
    assert cli.main(["compile"]) == 130
    assert capsysbinary.readouterr().err == b"tavern-loader: interrupted\n"


@pytest.mark.usefixtures("home")
@posix
@pytest.mark.parametrize("utf8", ["0", "1"])
def test_a_locale_without_letters_changes_no_byte(utf8: str) -> None:
    locale = {"LC_ALL": "C", "PYTHONUTF8": utf8, "PYTHONCOERCECLOCALE": "0"}
    name = "F\u00e4hre \u6e21"
    Path("ferry.json").write_text(json.dumps({**BOOK, "name": name}), encoding="utf-8")
    code, told, error = shell("$T import ferry.json && $T list --json", locale)
    assert (code, error) == (0, "")
    assert name in told
    code, _, error = shell("$T show nobody", locale)
    assert (code, "F\u00e4hre \u6e21" in one_line(error)) == (1, True)
    identity = json.loads(shell("$T list --json", locale)[1])["resources"][0]["id"]
    code, _, error = shell(f"$T export {identity}", locale)
    assert code == 0 or "FILE_UNWRITABLE" in one_line(error)


@pytest.mark.parametrize("name", [name for name in MODULES if name not in {"host", "serve"}])
def test_an_option_that_is_none_ends_with_2(name: str, capsysbinary: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main([name, "--nothing-of-the-kind"])
    assert caught.value.code == 2
    assert capsysbinary.readouterr().err.startswith(b"usage: tavern-loader ")


def test_a_wrong_kind_is_answered_with_the_right_ones(capsysbinary: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["list", "cards"])
    assert caught.value.code == 2
    assert b"there are: preset, character, world-book, user" in capsysbinary.readouterr().err


@pytest.mark.parametrize("option", ["--card", "--world", "--preset", "--chat"])
def test_an_empty_name_of_a_file_is_not_passed_over(option: str, capsysbinary: Capture) -> None:
    assert cli.main(["compile", option, ""]) == 1
    assert "FILE_NOT_FOUND" in one_line(capsysbinary.readouterr().err.decode())


@pytest.mark.usefixtures("home")
def test_a_name_of_two_lines_is_told_in_one(capsysbinary: Capture) -> None:
    assert cli.main(["import", "a\nb"]) == 1
    assert len(capsysbinary.readouterr().out.splitlines()) == 1


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("target", ["folder", "nowhere/x", "", "a\0b"])
def test_a_file_that_cannot_be_written_is_said_in_one_line(
    target: str, capsysbinary: Capture
) -> None:
    Path("folder").mkdir()
    assert cli.main(["export", "River", "--output", target]) == 1
    assert "FILE_UNWRITABLE" in one_line(capsysbinary.readouterr().err.decode())


def test_a_home_of_nobody_is_said_in_one_line(capsysbinary: Capture) -> None:
    for command in ("list", "install", "doctor"):
        assert cli.main([command, "--dsh-home", "~nobody-of-this-name/x"]) == 1
        assert "HOME_NOT_FOUND" in one_line(capsysbinary.readouterr().err.decode())


@pytest.mark.parametrize(
    "arguments",
    [
        ("import", "River.json"),
        ("install",),
        ("uninstall",),
        ("forget", "--gone"),
        ("bind", "--default", "--lore-channel", "late"),
    ],
)
def test_a_file_in_the_place_of_the_home_is_said_in_one_line(
    home: Path, arguments: Sequence[str], capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    place = home / "file"
    place.write_text("mine", encoding="utf-8")
    assert cli.main([*arguments, "--dsh-home", str(place)]) == 1
    one_line(capsysbinary.readouterr().err.decode())
    assert place.read_text(encoding="utf-8") == "mine"


@no_root
@pytest.mark.parametrize("arguments", [("import", "River.json"), ("install",), ("delete", "River")])
def test_a_home_that_cannot_be_written_is_said_in_one_line(
    home: Path, arguments: Sequence[str], capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    folders = [home, *(path for path in home.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    try:
        assert cli.main(arguments) == 1
    finally:
        for folder in folders:
            folder.chmod(0o700)
    assert "STORE_UNWRITABLE" in one_line(capsysbinary.readouterr().err.decode())


@pytest.mark.usefixtures("home")
def test_stores_that_cannot_be_read_are_not_called_empty(
    capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbid(path: object) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "listdir", forbid)
    assert cli.main(["list"]) == 1
    line = one_line(capsysbinary.readouterr().err.decode())
    assert line.endswith("STORE_UNREADABLE: presets cannot be read: Permission denied")


@pytest.mark.usefixtures("home")
def test_no_session_is_gone_while_no_log_can_be_seen(capsysbinary: Capture) -> None:
    assert cli.main(["bind", "--session", "s1", "--world-book", "River"]) == 0
    capsysbinary.readouterr()
    assert cli.main(["forget", "--gone"]) == 1
    line = one_line(capsysbinary.readouterr().err.decode())
    assert "SESSION_LOGS_UNREADABLE: the logs of sessions cannot be listed" in line
    assert cli.main(["bind", "--session", "s1"]) == 0
    assert b"River" in capsysbinary.readouterr().out


@posix
@pytest.mark.parametrize("closed", ["<&-", "</dev/null >&-"])
def test_a_host_that_is_not_there_is_said_in_one_line(closed: str, tmp_path: Path) -> None:
    code, out, error = shell(f"$T host --dsh-home {tmp_path} {closed}")
    assert (code, out) == (1, "")
    assert "LINK_UNUSABLE: there is no bridge" in one_line(error)


def test_an_address_that_is_taken_is_said_once(capsysbinary: Capture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert cli.main(["serve", "--port", str(port)]) == 1
    line = one_line(capsysbinary.readouterr().err.decode())
    assert f"ADDRESS_UNUSABLE: 127.0.0.1 port {port} cannot be opened: " in line
    assert line.count("127.0.0.1") == 1


@pytest.mark.usefixtures("home")
def test_what_is_named_twice_is_deleted_once(capsysbinary: Capture) -> None:
    assert cli.main(["delete", "River", "river"]) == 0
    assert len(capsysbinary.readouterr().out.splitlines()) == 1
