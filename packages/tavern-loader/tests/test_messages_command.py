"""`tavern-loader compile --messages`: options, and what is printed."""

import json

import pytest

from tavern_loader import cli

Capture = pytest.CaptureFixture[bytes]
TIME = ("--time", "2024-12-24T18:05")


def run(*arguments: str) -> int:
    return cli.main(["compile", "--messages", *arguments])


def test_the_list_says_how_tokens_were_counted(capsysbinary: Capture) -> None:
    assert run(*TIME) == 0
    report = capsysbinary.readouterr().out.decode()
    assert report.startswith("Sample set ferry\n")
    assert "tokens (an estimate: 0.3 for a character of ASCII, 0.6 for another)" in report
    assert "\n  assistant " in report


def test_the_document_is_json(capsysbinary: Capture) -> None:
    assert run("--sample", "teahouse", "--json", *TIME) == 0
    document = json.loads(capsysbinary.readouterr().out)
    assert document["messages"][-1]["role"] == "system"
    assert document["tokens"]["counted_with"].startswith("an estimate")


def test_the_time_is_the_machines_unless_it_is_given(capsysbinary: Capture) -> None:
    assert run("--input", "{{isodate}}", "--json", *TIME) == 0
    told = json.loads(capsysbinary.readouterr().out)["messages"]
    assert any(one["content"] == "2024-12-24" for one in told)
    assert run("--input", "{{isodate}}", "--json") == 0
    now = json.loads(capsysbinary.readouterr().out)["messages"]
    assert not any("{{isodate}}" in one["content"] for one in now)


@pytest.mark.parametrize("rules", ["safe", "st-1.19"])
def test_rules_are_those_of_the_repaired_or_the_strict_profile(
    rules: str, capsysbinary: Capture
) -> None:
    assert run("--rules", rules, *TIME) == 0
    assert b"Messages: " in capsysbinary.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--time", "soon"], "a date and time like"),
        (["--time", "99999-01-01"], "a date and time like"),
        (["--rules", "odd"], "--rules"),
    ],
)
def test_wrong_arguments_end_with_2(
    arguments: list[str], complaint: str, capsysbinary: Capture
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(*arguments)
    assert ended.value.code == 2
    assert complaint in capsysbinary.readouterr().err.decode()


@pytest.mark.parametrize("arguments", [["--no-scripts"], list(TIME)])
def test_options_of_messages_do_nothing_by_themselves(
    arguments: list[str], capsysbinary: Capture
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["compile", *arguments])
    assert ended.value.code == 2
    assert "only with --messages" in capsysbinary.readouterr().err.decode()
