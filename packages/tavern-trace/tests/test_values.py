"""Values cannot be changed, and travel between processes as what they are."""

import copy
import pickle
from typing import Any

import pytest

from tavern_trace import dump_record, json_stringify, record_from_json, verify


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own bytes


CHANGES: dict[str, Any] = {
    "set": lambda found: found.__setitem__("x", 1),
    "delete": lambda found: found.__delitem__("id"),
    "clear": lambda found: found.clear(),
    "pop": lambda found: found.pop("id"),
    "popitem": lambda found: found.popitem(),
    "setdefault": lambda found: found.setdefault("x", 1),
    "update": lambda found: found.update(x=1),
    "or": lambda found: found.__ior__({"x": 1}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_object_of_a_record_cannot_be_changed(change: str, given: Any) -> None:
    record = record_from_json(given.sample("record_1_assembled"))
    before = dump_record(record)
    with pytest.raises(TypeError, match="cannot be changed"):
        CHANGES[change](record.audit)
    assert dump_record(record) == before


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_record_and_reading_can_be_copied(again: Any, given: Any) -> None:
    record = record_from_json({**given.sample("record_3_with_failure_ref"), "later": {"x": [1]}})
    found = verify(record, given.history("session_demo"))
    assert again(record) == record
    assert again(found) == found
    assert again(given.history("session_demo")) == given.history("session_demo")
    assert dump_record(again(record)) == dump_record(record)
    assert json_stringify(again(record).audit) == json_stringify(record.audit)
