import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tavern_format import CharacterCard, dump_card, dump_card_png
from tavern_loader.installation import Installation, open_installation
from tavern_loader.service.reading import SourceFile


class FixedClock:
    """Stands still until it is told to go on."""

    def __init__(self) -> None:
        self.at_ms = 1_767_323_045_006

    def now_ms(self) -> int:
        return self.at_ms


class CountedIdentities:
    """The same names in every run."""

    def __init__(self) -> None:
        self.count = 0

    def new(self) -> str:
        self.count += 1
        return f"{self.count:08d}-0000-4000-8000-000000000000"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "pmp-dsh-tavern"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def opened(root: Path, clock: FixedClock) -> Installation:
    return open_installation(root, clock, CountedIdentities())


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


BOOK: dict[str, Any] = {
    "entries": {
        "0": {"uid": 0, "key": ["ferry"], "comment": "Ferry", "content": "The ferry is slow."}
    }
}
PRESET: dict[str, Any] = {
    "temperature": 0.7,
    "openai_max_tokens": 300,
    "prompts": [
        {"identifier": "main", "name": "Main", "role": "system", "content": "Write."},
        {"identifier": "worldInfoBefore", "marker": True},
    ],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [
                {"identifier": "main", "enabled": True},
                {"identifier": "worldInfoBefore", "enabled": True},
            ],
        }
    ],
}
CARD: dict[str, Any] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        "name": "Maren",
        "description": "Rows the ferry.",
        "first_mes": "Come aboard.",
        "alternate_greetings": ["Mind the step."],
        "character_book": {"name": "River", "entries": [], "extensions": {}},
        "extensions": {},
        "own": {"kept": True},
    },
}


@pytest.fixture
def files() -> dict[str, SourceFile]:
    """One file of each kind that is kept."""
    return {
        "preset": SourceFile(name="Plain.json", data=as_json(PRESET)),
        "character": SourceFile(name="Maren.json", data=as_json(CARD)),
        "picture": SourceFile(name="Nell.png", data=dump_card_png(CharacterCard(name="Nell"))),
        "world-book": SourceFile(name="River.json", data=as_json(BOOK)),
        "personas": SourceFile(
            name="backup.json",
            data=as_json(
                {
                    "personas": {"a.png": "Ann"},
                    "persona_descriptions": {"a.png": {"description": "A courier."}},
                }
            ),
        ),
        "plain-card": SourceFile(
            name="card.json", data=dump_card(CharacterCard(name="Otto", description="A miller."))
        ),
    }


@pytest.fixture
def keep(opened: Installation, files: dict[str, SourceFile]) -> Callable[[str], str]:
    """Keep one of the files and give the id of its resource."""

    def take(name: str) -> str:
        return opened.importing.take(files[name]).resources[0].id

    return take
