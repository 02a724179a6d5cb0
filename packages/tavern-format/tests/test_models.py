"""What holds for every parsed value: copies, pickles, threads."""

import copy
import json
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tavern_format import (
    CharacterCard,
    Entry,
    WorldBook,
    dump_card,
    dump_card_charx,
    dump_card_png,
    parse_card,
    parse_preset,
    parse_world_book,
)

BOOK = json.dumps({"entries": {str(at): {"uid": at, "key": ["k"]} for at in range(200)}}).encode()
CARD = CharacterCard(name="Ada", character_book=WorldBook(entries=[Entry(uid=0, keys=("k",))]))
PRESET = b'{"prompts":[{"identifier":"main"}],"zzz":1}'


@pytest.mark.parametrize(
    ("parse", "data"),
    [
        (parse_card, dump_card(CARD)),
        (parse_card, dump_card_png(CARD)),
        (parse_card, dump_card_charx(CARD, files={"a.txt": b"x"})),
        (parse_world_book, BOOK),
        (parse_preset, PRESET),
    ],
)
@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))],  # noqa: S301
)
def test_a_copy_is_equal_and_is_written_alike(
    parse: Callable[[bytes], Any], data: bytes, copied: Callable[[Any], Any]
) -> None:
    value = parse(data).value
    again = copied(value)
    assert again == value
    assert again.raw == value.raw
    if isinstance(value, CharacterCard):
        assert dump_card(again) == dump_card(value)
        assert dict(again.files) == dict(value.files)


def test_threads_get_the_same_entries() -> None:
    book = parse_world_book(BOOK).value
    seen: list[list[Entry]] = []
    threads = [threading.Thread(target=lambda: seen.append(list(book.entries))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(entries) for entries in seen] == [200] * 8
    assert all(entries == seen[0] for entries in seen)
