"""The audit of a step: which decisions are in it, what it says of books, budget and diagnostics."""

from typing import Any

import pytest

from tavern_compiler import CompilerError
from tavern_loader.service.audit import audit_of
from tavern_loader.service.compiling import StepResult
from tests.step_scene import ModelSession, StepScene, card, preset, world

BOOK = world(
    *({"key": [f"nothing{n}"], "content": "Never."} for n in range(5)),
    {"key": ["bell"], "keysecondary": ["fair"], "content": "It rings.", "position": 4},
    {"key": ["bell"], "content": "", "comment": "empty"},
    {"key": ["bell"], "content": "Out.", "position": 7, "outletName": "o"},
    {"key": ["bell"], "content": "Maybe.", "probability": 100, "group": "g", "position": 1},
)


@pytest.fixture
def session(scene: StepScene) -> ModelSession:
    scene.bind(
        world_book_ids=(scene.add(BOOK, "River.json"),),
        character_id=scene.add(card()),
        preset_id=scene.add(preset({"identifier": "main", "content": "x"}, temperature=1)),
    )
    return scene.session().say("Hello.")


def result_of(session: ModelSession, text: str = "A bell at the fair!") -> StepResult:
    session.insert(text)
    session.begin_turn()
    session.assemble()
    service = session.scene.app.service
    assert service is not None
    run = service.steps.latest(session.id)
    assert run is not None
    assert run.result is not None
    return run.result


def rows(audit: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for book in audit["worldBooks"]["resources"] for row in book["decisions"]]


def test_entries_that_fired_come_first_in_an_audit(session: ModelSession) -> None:
    audit = audit_of(result_of(session), max_decisions=5)
    assert [(row["entryId"], row["decision"]) for row in rows(audit)] == [
        ("5", "included"),
        ("6", "rejected"),
        ("7", "rejected"),
        ("8", "included"),
        ("0", "rejected"),
    ]
    assert len(rows(audit_of(result_of(session)))) == 9


def test_a_decision_says_where_an_entry_wants_to_stand_and_stands(session: ModelSession) -> None:
    first = rows(audit_of(result_of(session)))[0]
    assert first == {
        "resourceId": first["resourceId"],
        "entryId": "5",
        "entryName": "",
        "decision": "included",
        "reason": "secondary-keys-match",
        "primaryKeys": ["bell"],
        "secondaryKeys": ["fair"],
        "primaryMatches": ["bell"],
        "secondaryMatches": ["fair"],
        "secondaryLogic": "and_any",
        "groupName": None,
        "groupWeight": 100,
        "groupOverride": False,
        "probability": 100,
        "probabilityRoll": None,
        "tokenCost": first["tokenCost"],
        "requestedPosition": "at_depth",
        "appliedPosition": "after",
        "approximatePosition": True,
    }


def test_an_entry_that_fired_and_is_not_sent_says_why(session: ModelSession) -> None:
    found = {row["entryId"]: row for row in rows(audit_of(result_of(session)))}
    assert [
        (row["decision"], row["reason"], row["appliedPosition"], row["approximatePosition"])
        for row in (found["6"], found["7"])
    ] == [
        ("rejected", "empty-content", None, False),
        ("rejected", "outlet-unsupported", None, True),
    ]


def test_a_book_says_what_of_it_is_active(session: ModelSession) -> None:
    audit = audit_of(result_of(session))
    (book,) = audit["resources"]["worldBooks"]
    assert (book["name"], book["entryCount"], book["matchedEntryCount"]) == ("River", 9, 4)
    assert book["activeEntryIds"] == audit["activeLoreEntries"]
    assert audit["worldBooks"]["resources"][0]["resource"] == book
    assert audit["composition"]["callConfigFields"] == ["temperature"]


def test_the_fingerprint_is_that_of_the_text(session: ModelSession) -> None:
    prints = [audit_of(result_of(session, text))["fingerprint"] for text in ("Bell.", "Bell?", "x")]
    assert prints[0] == prints[1] != prints[2]


def test_lore_has_a_share_of_the_models_context(session: ModelSession) -> None:
    assert result_of(session).match.budget.limit_tokens is None
    session.log("request/context", contextWindow=8)
    assert result_of(session).match.budget.limit_tokens == 2
    session.log("request/context", contextWindow="?")
    assert result_of(session).match.budget.limit_tokens is None
    session.scene.config = {"worldBook": {"defaultTokenBudget": 3}}
    session.scene.restart()
    session.sync()
    assert result_of(session).match.budget.limit_tokens == 3


def test_a_preview_of_a_live_session_has_its_share(session: ModelSession) -> None:
    session.log("request/context", contextWindow=8)
    service = session.scene.app.service
    assert service is not None
    selection = session.scene.installation.library.selection(session.id)
    shown = service.steps.preview(session.id, selection)
    assert shown.match.budget.limit_tokens == 2


def test_the_share_stays_after_a_restart_and_in_a_fork(session: ModelSession) -> None:
    session.log("request/context", contextWindow=8)
    session.say("Bell.")
    session.scene.restart()
    session.open("resume")
    assert result_of(session).match.budget.limit_tokens == 2
    fork = session.fork("fork", session.seq)
    assert result_of(fork).match.budget.limit_tokens == 2


def test_a_preview_changes_nothing(session: ModelSession) -> None:
    service = session.scene.app.service
    assert service is not None
    selection = session.scene.installation.library.selection(session.id)
    shown = service.steps.preview(session.id, selection)
    assert [part.text for part in shown.profile.parts] == ["x", "Maren runs the night ferry."]
    assert service.steps.preview("nobody", selection).given.chat_id == "nobody"
    service.steps.max_profile_bytes = 1
    with pytest.raises(CompilerError):
        service.steps.preview(session.id, selection)
