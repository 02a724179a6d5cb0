"""From bytes to a compilation: which file is used for what, and what is said about it."""

import json
from typing import Any

import pytest

from tavern_loader import (
    SAMPLES,
    Compilation,
    CompileRequest,
    InputError,
    SourceFile,
    UsedFile,
    compile_files,
    json_document,
    sample_request,
    text_report,
)
from tavern_loader.layout import width

BOOK = {"entries": {"0": {"uid": 0, "key": ["mill"], "content": "Old mill.", "position": 0}}}
CARD_BOOK = {
    "entries": [
        {
            "id": 0, "keys": ["mill"], "content": "Old mill.", "enabled": True,
            "insertion_order": 100, "position": "before_char", "extensions": {"position": 0},
        }
    ]
}  # fmt: skip


def file(name: str, document: object) -> SourceFile:
    return SourceFile(name=name, data=json.dumps(document).encode())


def card(**data: Any) -> SourceFile:
    document = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Ada", **data}}
    return file("ada.json", document)


def chat(*messages: tuple[str, bool, str]) -> SourceFile:
    rows: list[dict[str, object]] = [{"user_name": "unused", "character_name": "unused"}]
    rows += [{"name": name, "is_user": user, "mes": text} for name, user, text in messages]
    return SourceFile(name="chat.jsonl", data="\n".join(map(json.dumps, rows)).encode())


def texts(done: Compilation) -> list[str]:
    return [part.text for part in done.profile.parts]


def codes(done: Compilation) -> list[tuple[str, str]]:
    return [(remark.source, remark.diagnostic.code) for remark in done.remarks]


def test_nothing_gives_nothing() -> None:
    done = compile_files(CompileRequest())
    assert (done.used, done.books, done.profile.parts) == ((), (), ())


def test_input_is_scanned_as_the_newest_message() -> None:
    request = CompileRequest(worlds=(file("w.json", BOOK),), input_text="To the mill!")
    done = compile_files(request)
    assert texts(done) == ["Old mill."]
    (decision,) = done.match.decisions
    assert decision.matches[0].place == "input"


def test_hidden_messages_are_not_scanned() -> None:
    rows = [
        {"name": "A", "is_user": False, "is_system": True, "mes": "the mill"},
        {"name": "A", "is_user": False, "is_system": False, "mes": "hello"},
    ]
    data = "\n".join(json.dumps(row) for row in [{"user_name": "u"}, *rows]).encode()
    request = CompileRequest(
        worlds=(file("w.json", BOOK),), chat=SourceFile(name="c.jsonl", data=data)
    )
    (decision,) = compile_files(request).match.decisions
    assert (decision.fired, decision.scanned_messages) == (False, 1)


def test_book_of_the_card_is_used_and_named() -> None:
    done = compile_files(CompileRequest(card=card(character_book=CARD_BOOK), input_text="mill"))
    assert texts(done) == ["Old mill."]
    assert done.used == (
        UsedFile(role="card", name="ada.json", detail="Ada (v2, json)"),
        UsedFile(role="card book", name="Ada (card)", detail="1 entry"),
        UsedFile(role="input", name="User", detail="mill"),
    )
    assert ("ada.json", "CARD_BOOK") in codes(done)


def test_book_of_the_card_can_be_left_alone() -> None:
    request = CompileRequest(
        card=card(character_book=CARD_BOOK), input_text="mill", use_card_book=False
    )
    done = compile_files(request)
    assert (texts(done), done.books) == ([], ())
    assert ("ada.json", "CARD_BOOK") in codes(done)


def test_two_books_that_say_the_same_are_one() -> None:
    request = CompileRequest(
        card=card(character_book=CARD_BOOK),
        worlds=(file("mill.json", BOOK), file("copy.json", BOOK)),
        input_text="mill",
    )
    done = compile_files(request)
    assert [named.name for named in done.books] == ["mill"]
    assert texts(done) == ["Old mill."]
    repeated = [remark for remark in codes(done) if remark[1] == "BOOK_REPEATED"]
    assert repeated == [("copy.json", "BOOK_REPEATED"), ("ada.json", "BOOK_REPEATED")]


def test_books_of_one_name_are_told_apart() -> None:
    other = {"entries": {"0": {"uid": 0, "key": ["x"], "content": "X"}}}
    request = CompileRequest(worlds=(file("w.json", BOOK), file("w.json", other)))
    assert [named.name for named in compile_files(request).books] == ["w", "w (2)"]


def test_link_to_a_world_that_was_not_given_is_named() -> None:
    linked = card(extensions={"world": "Elsewhere"})
    assert ("ada.json", "CARD_WORLD_LINK") in codes(compile_files(CompileRequest(card=linked)))


@pytest.mark.parametrize(
    ("messages", "input_text", "greets"),
    [
        ((), "", True),
        ((), "hi", True),
        ((("Bo", True, "hi"),), "", True),
        ((("Bo", True, "hi"),), "again", False),
        ((("Ada", False, "Welcome."),), "hi", False),
    ],
)
def test_greeting_is_a_part_only_while_the_chat_opens(
    messages: tuple[tuple[str, bool, str], ...],
    input_text: str,
    greets: bool,  # noqa: FBT001
) -> None:
    request = CompileRequest(
        card=card(first_mes="Welcome."), chat=chat(*messages) if messages else None,
        input_text=input_text,
    )  # fmt: skip
    done = compile_files(request)
    assert texts(done) == ["Welcome."] * greets
    assert (("compiling", "CHARACTER_FIELD_NOT_SENT") in codes(done)) is not greets


@pytest.mark.parametrize(
    ("asked", "messages", "name"),
    [
        ("Zoe", (("Bo", True, "hi"),), "Zoe"),
        ("", (("Al", True, "hi"), ("Bo", True, "ho"), ("Ada", False, "x")), "Bo"),
        ("", (("Ada", False, "x"),), "User"),
    ],
)
def test_user_is_named_as_asked_or_as_in_the_chat(
    asked: str, messages: tuple[tuple[str, bool, str], ...], name: str
) -> None:
    request = CompileRequest(
        card=card(description="{{user}}"), chat=chat(*messages), user_name=asked
    )
    assert texts(compile_files(request)) == [name]


def test_macros_in_keys_and_sources_are_expanded() -> None:
    entry = {"uid": 0, "key": ["{{char}} sings"], "content": "!", "matchCharacterDescription": True}
    request = CompileRequest(
        card=card(description="{{char}} sings."),
        worlds=(file("w.json", {"entries": {"0": entry}}),),
        input_text="x",
    )
    (decision,) = compile_files(request).match.decisions
    assert (decision.fired, decision.matches[0].place) == (True, "character_description")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"card": file("f", BOOK)}, "WRONG_KIND"),
        ({"worlds": (card(),)}, "WRONG_KIND"),
        ({"preset": card()}, "WRONG_KIND"),
        ({"chat": card()}, "WRONG_KIND"),
        ({"card": file("f", [])}, "CARD_NOT_FOUND"),
        ({"worlds": (SourceFile(name="f", data=b""),)}, "EMPTY_INPUT"),
        ({"preset": SourceFile(name="f", data=b"{")}, "JSON_TRUNCATED"),
    ],
)
def test_file_that_cannot_be_used_is_named(given: dict[str, Any], code: str) -> None:
    with pytest.raises(InputError) as caught:
        compile_files(CompileRequest(**given))
    assert caught.value.code == code
    assert str(caught.value).startswith(f"{caught.value.file}: {code}: ")


def test_odd_file_is_used_and_its_remarks_are_kept() -> None:
    done = compile_files(CompileRequest(card=card(tags="river")))
    assert [source for source, code in codes(done) if code == "FIELD_TYPE"] == ["ada.json"]


def test_revision_is_the_hash_of_the_document() -> None:
    done = compile_files(CompileRequest(card=file("a.json", {"name": "A", "description": "D"})))
    (source,) = done.profile.parts[0].sources
    # sha256 of {"name":"A","description":"D"}
    assert (source.resource_id, source.resource_revision) == (
        "a.json",
        "5c2d19024c88a1b22248f8b0a0e8782905acbc558fd54697ba06f38c0069ab64",
    )


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("cells", [40, 80, 100])
def test_report_keeps_within_its_width(name: str, cells: int) -> None:
    report = text_report(compile_files(sample_request(name)), cells)
    assert [line for line in report.splitlines() if width(line) > cells] == []


def test_report_names_every_part_entry_and_remark() -> None:
    done = compile_files(sample_request("ferry"))
    report = text_report(done, 200, title="Title")
    assert report.startswith("Title\n")
    for part in done.profile.parts:
        assert part.name.removeprefix("pmp-dsh-tavern:part:") in report
    for decision in done.match.decisions:
        assert f"“{decision.title}”" in report
    for remark in done.remarks:
        assert remark.diagnostic.code in report


def test_report_of_nothing_says_so() -> None:
    quiet = compile_files(CompileRequest())
    assert "Parts: none" in text_report(quiet)


def test_document_is_json() -> None:
    document = json_document(compile_files(sample_request("teahouse")))
    assert json.loads(json.dumps(document)) == document
    assert [key for key in document if not document[key]] == ["draws"]


def test_chances_follow_from_the_seed() -> None:
    entries = {
        str(uid): {
            "uid": uid,
            "key": ["mill"],
            "content": f"{uid}.",
            "position": 0,
            "probability": 50,
        }
        for uid in range(40)
    }
    world = file("w.json", {"entries": entries})

    def fired(seed: str) -> list[bool]:
        request = CompileRequest(worlds=(world,), input_text="The mill.", seed=seed)
        document = json_document(compile_files(request))
        assert len(document["draws"]) == 40
        assert all(draw["purpose"].startswith("chance/1/w") for draw in document["draws"])
        return [entry["fired"] for entry in document["entries"]]

    assert fired("a") == fired("a")
    assert fired("a") != fired("b")
    assert 5 < sum(fired("a")) < 35
