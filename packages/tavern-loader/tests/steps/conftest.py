"""A host in miniature over an empty folder."""

from pathlib import Path

import pytest

from tests.step_scene import StepScene


@pytest.fixture
def scene(tmp_path: Path) -> StepScene:
    """Give a home without resources, served by an app."""
    return StepScene(tmp_path)
