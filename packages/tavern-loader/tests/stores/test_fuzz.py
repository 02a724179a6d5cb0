"""Documents with anything in them: what is kept may be odd, and the worst is an error of ours."""

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tavern_format import CharacterCard, Severity, dump_card
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.selection import Selection
from tavern_loader.errors import LoaderError
from tavern_loader.installation import Installation, open_installation
from tavern_loader.service.catalog import Form
from tavern_loader.service.reading import SourceFile

pytestmark = pytest.mark.fuzz
BUDGET = settings(
    max_examples=int(os.environ.get("TAVERN_FUZZ_EXAMPLES", "20")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.just(10**400),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "x", "0", "\ud83c", "character-book-v2", "100001"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["id", "name", "raw", "data", "entries", "x"]), inner, max_size=3
        ),
    ),
    max_leaves=6,
)
CARD = CharacterCard(name="Otto", description="{{x}}", alternate_greetings=("Hi",))
BOOK = {"name": "B", "entries": {"0": {"uid": 0, "key": ["k"], "content": "c"}}}
CARD_BOOK = {"entries": [{"id": 1, "keys": ["k"], "extensions": {"position": 4}}]}
PRESET = {
    "temperature": 1,
    "stop": ["x"],
    "prompts": [{"identifier": "main", "content": "m"}],
    "prompt_order": [{"character_id": 100001, "order": [{"identifier": "main"}]}],
}


class Still:
    """The same time and the same names in every run: what is drawn depends on them."""

    count = 0

    def now_ms(self) -> int:
        return 0

    def new(self) -> str:
        self.count += 1
        return f"{self.count:08d}-0000-4000-8000-000000000000"


def as_file(value: Any) -> SourceFile:
    return SourceFile(name="x.json", data=json.dumps(value).encode())


def filled(root: Path) -> tuple[Installation, Selection]:
    """Fill every store."""
    still = Still()
    opened = open_installation(root, still, still)
    card = SourceFile(name="o.json", data=dump_card(CARD))
    files = (card, as_file(BOOK), as_file(CARD_BOOK), as_file(PRESET))
    character, book, other, preset = (opened.importing.take(file).resources[0].id for file in files)
    user = opened.importing.new_user("Ann", "d").id
    chosen = Selection(
        preset_id=preset, character_id=character, user_id=user, world_book_ids=(book, other)
    )
    opened.library.set_selection("s", chosen)
    opened.templates.save("T", chosen)
    opened.catalog.select_preset(preset)
    return opened, chosen


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """List every place of a document."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from places(item, (*path, at))


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    inner = document
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    return document


def bound_ids(chosen: Selection) -> dict[Kind, tuple[str, ...]]:
    return {
        Kind.PRESET: (chosen.preset_id or "",),
        Kind.CHARACTER: (chosen.character_id or "",),
        Kind.USER: (chosen.user_id or "",),
        Kind.WORLD_BOOK: chosen.world_book_ids,
    }


def use(opened: Installation, chosen: Selection) -> None:
    """Do everything that reads the stores; each by itself."""
    library, catalog = opened.library, opened.catalog
    acts: list[Callable[[], object]] = [
        partial(library.resolve, chosen),
        partial(library.ensure_selection, "s"),
        partial(library.ensure_selection, "new", "s"),
        library.defaults,
        partial(opened.templates.preview, chosen),
        opened.templates.all,
        *(partial(catalog.listing, kind) for kind in Kind),
    ]
    for kind, ids in bound_ids(chosen).items():
        for one in ids:
            acts.append(partial(catalog.exported, kind, one))
            acts.append(partial(catalog.edit, kind, one, {"name": "New"}))
    (character,) = bound_ids(chosen)[Kind.CHARACTER]
    acts.append(partial(catalog.exported, Kind.CHARACTER, character, Form.PNG))
    acts.append(partial(catalog.replace_regex_scripts, Kind.CHARACTER, character, []))
    acts.append(partial(catalog.replace_embedded_book, character, {"entries": []}))
    acts.append(partial(catalog.delete, Kind.CHARACTER, character))
    for act in acts:
        with contextlib.suppress(LoaderError, ValueError):
            act()


@pytest.fixture(autouse=True)
def unflushed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the disk out of it."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@BUDGET
@given(data=st.data())
def test_odd_stores_are_errors_of_ours_at_worst(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "stores"
        _, chosen = filled(root)
        paths = sorted(root.rglob("*.json"))
        path = data.draw(st.sampled_from(paths))
        document = json.loads(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            where = data.draw(st.sampled_from(list(places(document))))
            document = put(document, where, data.draw(VALUES))
        path.write_text(json.dumps(document))
        use(open_installation(root), chosen)


@BUDGET
@given(value=VALUES, kind=st.sampled_from(list(Kind)))
def test_odd_edits_are_refused_or_kept(value: Any, kind: Kind) -> None:
    with tempfile.TemporaryDirectory() as folder:
        opened, chosen = filled(Path(folder) / "stores")
        document_id = bound_ids(chosen)[kind][0]
        for patch in (
            value if isinstance(value, dict) else {"name": value},
            {"prompts": [value], "entries": [value], "sampling": value, "settings": value},
            {"book": value},
        ):
            with contextlib.suppress(LoaderError, ValueError):
                opened.catalog.edit(kind, document_id, patch)
        found = opened.library.resolve(chosen)
        errors = [one for one in found.diagnostics if one.diagnostic.severity is Severity.ERROR]
        assert errors == []
