"""The two tricks of the decoder, held against the plain way."""

from typing import Any

import pytest

from tavern_format import Entry
from tavern_format._fields import holds_only, marshal_marks

VALUES: list[Any] = [True, False, None, 0, 1, 1.0, "", "T", "N", [], {}, [True], -1, 2**40, "é"]


@pytest.mark.parametrize(
    "types", [frozenset({bool}), frozenset({type(None)}), frozenset({bool, type(None)})]
)
@pytest.mark.parametrize("filler", [[], [True] * 300, [None] * 300, [False, None, True] * 100])
@pytest.mark.parametrize("value", VALUES)
def test_marshal_tells_types_as_a_loop_does(
    types: frozenset[type], filler: list[Any], value: Any
) -> None:
    marks = marshal_marks(types)
    assert marks is not None
    column = [*filler, value, *filler]
    assert holds_only(column, marks) is all(type(item) in types for item in column)


def test_only_singletons_have_marks() -> None:
    assert marshal_marks(frozenset({bool, int})) is None
    assert marshal_marks(frozenset()) is None


def test_a_draft_becomes_the_very_model() -> None:
    from tavern_format import parse_world_book

    (entry,) = parse_world_book(b'{"entries":{"0":{"uid":0,"key":[]}}}').value.entries
    assert type(entry) is Entry
    with pytest.raises(AttributeError):
        entry.order = 1  # type: ignore[misc]
