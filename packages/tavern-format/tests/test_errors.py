"""Errors keep their facts wherever they are carried."""

import copy
import pickle
from collections.abc import Callable

import pytest

from tavern_format import (
    CarrierError,
    FormatError,
    LimitExceededError,
    MalformedResourceError,
    UnsupportedVersionError,
)

FAULTS: list[FormatError] = [
    FormatError("CODE", "message"),
    MalformedResourceError("CODE", "message", path="/a", offset_bytes=3),
    UnsupportedVersionError("CODE", "message", spec="v1"),
    LimitExceededError(limit="entries", actual=2, maximum=1, unit="entries"),
    CarrierError("CODE", "message", carrier="png", offset_bytes=8),
]


def test_every_class_of_the_tree_is_here() -> None:
    assert {type(fault) for fault in FAULTS} == {FormatError, *FormatError.__subclasses__()}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
@pytest.mark.parametrize(
    "carried",
    [copy.copy, copy.deepcopy, lambda fault: pickle.loads(pickle.dumps(fault))],  # noqa: S301
)
def test_an_error_is_carried_whole(
    fault: FormatError, carried: Callable[[FormatError], FormatError]
) -> None:
    again = carried(fault)
    assert again is not fault
    assert type(again) is type(fault)
    assert (str(again), again.args, vars(again)) == (str(fault), fault.args, vars(fault))
