"""Recorded samples, histories that belong to them, and the facts they were made of."""

from types import ModuleType

import pytest

from tests import trace_scenario


@pytest.fixture
def given() -> ModuleType:
    """Give the recorded scenario: `sample`, `case`, `history`, `capture`, and what they take."""
    return trace_scenario
