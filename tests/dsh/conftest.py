"""The host for the tests, or the reason why there is none."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dsh._host import DRIVEN, Driven, Home
from tests.dsh._install import Toolbox, find
from tests.dsh._model import Model

REASON = "needs the real host: run `nox -s dsh`"
SWITCH = "TAVERN_DSH_TESTS"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the host unless it is asked for: it takes minutes."""
    here = Path(__file__).parent
    wanted = SWITCH in os.environ
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.dsh)
            if not wanted:
                item.add_marker(pytest.mark.skip(reason=REASON))


@pytest.fixture(scope="session")
def toolbox() -> Toolbox:
    found = find()
    assert found is not None, "DSH is not installed: python -m tests.dsh._install"
    return found


@pytest.fixture(scope="session")
def model() -> Iterator[Model]:
    with Model() as running:
        yield running


@pytest.fixture
def home(toolbox: Toolbox, model: Model, tmp_path: Path) -> Home:
    """Give a home with nothing in it."""
    return Home(toolbox, tmp_path, model)


@pytest.fixture(scope="module")
def fault_home(toolbox: Toolbox, model: Model, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Give a home whose bridge speaks to the fault host."""
    home = Home(toolbox, tmp_path_factory.mktemp("faults"), model)
    home.install(DRIVEN)
    home.add_driver()
    command, _ = home.fault_python()
    home.settings(DRIVEN, python=command, callTimeoutMs=2500)
    return home


@pytest.fixture(scope="module")
def faulty(fault_home: Home) -> Iterator[Driven]:
    """Give a running host whose bridge speaks to the fault host."""
    with fault_home.driven() as running:
        yield running
