"""The first session waits for nothing that could be read while the host boots."""

import threading
from collections.abc import Sequence

import pytest

from tavern_loader.app import host_methods
from tavern_loader.service import bound_books
from tavern_matcher import Index, MatchSettings, NamedBook, compile_index
from tests.step_scene import STORAGE, StepScene, Wanted, world


def test_what_new_sessions_begin_with_is_read_before_the_first(
    scene: StepScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = scene.add(world({"key": ["hill"], "content": "It is high."}))
    scene.bind(world_book_ids=(book,))
    made: list[int] = []

    def noted(books: Sequence[NamedBook], settings: MatchSettings) -> Index:
        made.append(threading.get_ident())
        return compile_index(books, settings)

    monkeypatch.setattr(bound_books, "compile_index", noted)
    warm(scene)
    assert "It is high." in scene.session().say("the hill").parts
    assert len(made) == 1
    assert made[0] != threading.get_ident()


def test_a_damaged_store_is_told_to_no_one_before_a_session_needs_it(
    scene: StepScene, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = scene.home / STORAGE
    folder.mkdir(exist_ok=True)
    (folder / "session-templates.json").write_text("{", encoding="utf-8")
    warm(scene)
    assert capfd.readouterr().err == ""


def warm(scene: StepScene) -> None:
    """Begin a new process, and wait until it says that it is warm."""
    is_warm = threading.Event()
    scene.app = host_methods(scene.home, scene.host, warmed=is_warm.set)
    scene.app.methods["initialize"]({"protocol": 1, "config": {}}, Wanted())
    assert is_warm.wait(10)
