"""An audit takes over what its tables name, cut to their limits, and nothing else."""

from typing import Any

import pytest

from tavern_trace import CaptureIdentity, CompiledProfile, json_stringify, new_audit

IDENTITY = CaptureIdentity(record_id="r", session_id="s", turn=2, step=3, attempt=4, at_ms=5)


def audit_of(audit: dict[str, Any], **facts: Any) -> Any:
    return new_audit(CompiledProfile(system_text="", audit=audit, **facts), IDENTITY)


def decision(**facts: Any) -> Any:
    audit = audit_of({"worldBooks": {"resources": [{"id": "b", "decisions": [facts]}]}})
    return audit["worldBooks"][0]["decisions"][0]


def test_audit_of_nothing_is_complete() -> None:
    audit = audit_of({})
    assert (audit["id"], audit["captureId"], audit["status"]) == ("2:3:4", "r", "awaiting-header")
    assert audit["assembly"] == {
        "fingerprint": None,
        "profileSection": "pmp-dsh-tavern:profile",
        "profileOrder": 10,
        "systemPromptMode": "append",
        "systemCharacters": 0,
        "systemFingerprint": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "callConfig": {},
    }
    assert audit["activation"]["kind"] == "durable-history-only"
    assert audit["resources"] == {
        "preset": None, "characterCard": None, "userProfile": None, "worldBooks": (),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("key", "limit"),
    [("entryName", 160), ("reason", 120), ("entryId", 120), ("groupName", 200)],
)
def test_text_is_cut_with_an_ellipsis(key: str, limit: int) -> None:
    assert decision(**{key: "x" * limit})[key] == "x" * limit
    assert decision(**{key: "x" * (limit + 1)})[key] == "x" * limit + "…"


def test_length_counts_in_utf16_and_may_cut_a_pair_as_javascript_does() -> None:
    assert decision(entryName="🦊" * 80)["entryName"] == "🦊" * 80
    assert decision(entryName="a" + "🦊" * 80)["entryName"] == "a" + "🦊" * 79 + "\ud83e…"


def test_message_is_cut() -> None:
    audit = audit_of({"diagnostics": [{"message": "m" * 400, "code": "C", "entryId": 7}]})
    assert audit["diagnostics"] == (
        {"code": "C", "severity": "", "message": "m" * 320 + "…", "resourceId": None,
         "entryId": "7"},
    )  # fmt: skip


def test_lists_are_cut() -> None:
    assert decision(primaryKeys=[str(at) for at in range(20)])["primaryKeys"] == tuple(
        str(at) for at in range(16)
    )
    assert decision(primaryKeys=["k" * 200, 5, None])["primaryKeys"] == ("k" * 160 + "…",)
    audit = audit_of(
        {
            "selection": {"worldBookIds": [f"b{at}" for at in range(300)]},
            "diagnostics": [{"code": "C"}] * 70,
            "activation": {"claimEventSeqs": [1, 2, "x", 3, 4, 5]},
            "resources": {"worldBooks": [{"id": str(at)} for at in range(40)] + [5]},
        }
    )
    assert len(audit["selection"]["worldBookIds"]) == 200
    assert len(audit["diagnostics"]) == 64
    assert audit["activation"]["claimEventSeqs"] == (2, 3, 4, 5)
    assert len(audit["resources"]["worldBooks"]) == 32


def test_decisions_are_limited_over_all_books() -> None:
    book = {"resource": {"id": "b"}, "decisions": [{"entryId": at} for at in range(50)]}
    audit = audit_of({"worldBooks": {"resources": [book] * 20}})
    assert [len(one["decisions"]) for one in audit["worldBooks"]] == [50, 50, 28] + [0] * 13


@pytest.mark.parametrize(
    ("facts", "key", "expected"),
    [
        ({"decision": "included"}, "decision", "included"),
        ({"decision": "later"}, "decision", "rejected"),
        ({"groupWeight": float("inf")}, "groupWeight", None),
        ({"groupWeight": True}, "groupWeight", None),
        ({"groupWeight": 2.5}, "groupWeight", 2.5),
        ({"groupOverride": 1}, "groupOverride", False),
        ({"entryId": 1.0}, "entryId", "1"),
        ({"entryId": None}, "entryId", None),
        ({"secondaryLogic": ""}, "secondaryLogic", None),
    ],
)
def test_odd_value_is_made_regular(facts: dict[str, Any], key: str, expected: Any) -> None:
    found = decision(**facts)[key]
    assert json_stringify(found) == json_stringify(expected)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("session-explicit-then-user-then-preset-then-character", True),
        ("session-explicit-then-user", True),
        ("any", False),
        (5, False),
    ],
)
def test_order_of_books_is_a_known_one(order: Any, expected: bool) -> None:  # noqa: FBT001
    found = audit_of({"worldBookSelection": {"order": order}})["worldBookSelection"]["order"]
    assert found == (order if expected else None)


def test_only_the_four_settings_of_a_call_are_taken() -> None:
    config = {"temperature": 1, "top_p": 0.5, "stop": ["x"]}
    audit = audit_of({}, call_config=config, system_prompt_mode="replace")
    assert audit["assembly"]["callConfig"] == {"temperature": 1, "stop": ("x",)}
    assert audit["assembly"]["systemPromptMode"] == "replace"


def test_texts_of_resources_stay_behind() -> None:
    user = {"id": "u", "name": "Bo", "description": "BODY", "avatar": "BODY"}
    audit = audit_of({"resources": {"user": user}, "later": "BODY", "activation": {"x": "BODY"}})
    assert "BODY" not in json_stringify(audit)
    assert audit["resources"]["userProfile"]["name"] == "Bo"
