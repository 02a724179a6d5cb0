"""An API over an empty folder; or, where the real host is asked for, the host's web server."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http_scene import Client, HttpScene

THROUGH_HOST = "TAVERN_DSH_TESTS" in os.environ


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what looks into the application, where there is a host around it."""
    here = Path(__file__).parent
    for item in items:
        names = getattr(item, "fixturenames", ())
        if THROUGH_HOST and item.path.is_relative_to(here) and "client" not in names:
            item.add_marker(pytest.mark.skip(reason="looks into the application itself"))


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[HttpScene]:
    """Give an API whose stores are empty."""
    made = HttpScene(tmp_path)
    yield made
    made.api.close()


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Client:
    """Give a client of an API whose stores are empty."""
    if not THROUGH_HOST:
        scene: HttpScene = request.getfixturevalue("scene")
        return scene.client
    if "scene" in request.fixturenames:
        pytest.skip("looks into the application itself")
    storage, web_client = request.getfixturevalue("host_web")
    shutil.rmtree(storage, ignore_errors=True)
    found: Client = web_client
    return found


@pytest.fixture
def direct() -> None:
    """Mark a test of what the host's web server does by itself, or does not let through."""
    if THROUGH_HOST:
        pytest.skip("the host's web server answers this by itself")


@pytest.fixture(scope="session")
def host_web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Client]]:
    """Start the real host; gives the folder of its stores, and a client of its web server."""
    from tests.dsh._host import DRIVEN, Home
    from tests.dsh._install import find
    from tests.dsh._model import Model
    from tests.dsh._web_client import WebClient

    toolbox = find()
    assert toolbox is not None, "DSH is not installed: python -m tests.dsh._install"
    with Model() as model:
        home = Home(toolbox, tmp_path_factory.mktemp("contract"), model)
        home.install(DRIVEN)
        home.add_driver()
        with home.driven() as running:
            yield home.storage, WebClient(None, port=running.do("port"))
