"""An API over an empty folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http_scene import Client, HttpScene


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[HttpScene]:
    """Give an API whose stores are empty."""
    made = HttpScene(tmp_path)
    yield made
    made.api.close()


@pytest.fixture
def client(scene: HttpScene) -> Client:
    """Give a client of that API."""
    return scene.client
