"""An API over an empty folder; or, where the real host is asked for, the host's web server."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http_scene import Client, HttpScene, Place

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
    hosted: Place = request.getfixturevalue("hosted")
    shutil.rmtree(hosted.folder, ignore_errors=True)
    return hosted.client


@pytest.fixture
def place(request: pytest.FixtureRequest, client: Client) -> Place:
    """Give an API whose stores are empty, and what is around it."""
    if THROUGH_HOST:
        hosted: Place = request.getfixturevalue("hosted")
        return hosted
    scene: HttpScene = request.getfixturevalue("scene")

    def occupy(session: str) -> str:
        scene.host.running.add(session)
        return session

    return Place(client=client, folder=scene.folder, occupy=occupy)


@pytest.fixture(scope="module")
def at_rest(request: pytest.FixtureRequest) -> Iterator[None]:
    """Wait, once a module is through, until no session runs that it let run."""
    hosted: Place | None = request.getfixturevalue("hosted") if THROUGH_HOST else None
    yield
    if hosted is not None:
        hosted.rest()


@pytest.fixture
def direct() -> None:
    """Mark a test of what the host's web server does by itself, or does not let through."""
    if THROUGH_HOST:
        pytest.skip("the host's web server answers this by itself")


@pytest.fixture(scope="session")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Start the real host, and give its API."""
    from tests.dsh._web_client import hosted_place

    with hosted_place(tmp_path_factory.mktemp("contract")) as place:
        yield place
