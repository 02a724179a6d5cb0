import json
import os
import threading
from pathlib import Path

import pytest

from tavern_loader.adapters import atomic_json
from tavern_loader.adapters.atomic_json import (
    LEFT_BEHIND_S,
    StorageLock,
    dump_object,
    load_object,
    remove_file,
    remove_left_behind,
    write_file,
)
from tavern_loader.errors import StoreError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_private_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"
    write_file(path, b"one")
    write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert names(path.parent) == ["a.json"]


def test_a_failed_replacement_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    write_file(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left") as raised:
        write_file(path, b"new")
    assert raised.value.code == "STORE_UNWRITABLE"
    assert (path.read_bytes(), names(tmp_path)) == (b"old", ["a.json"])


def test_removing_what_is_not_there_is_no_fault(tmp_path: Path) -> None:
    write_file(tmp_path / "a", b"")
    assert (remove_file(tmp_path / "a"), remove_file(tmp_path / "a")) == (True, False)


def test_only_old_temporary_files_are_cleared_away(tmp_path: Path) -> None:
    for name in ("a.json.1.x.tmp", "b.json.2.y.tmp", "c.json"):
        (tmp_path / name).write_bytes(b"")
    now_s = (tmp_path / "a.json.1.x.tmp").stat().st_mtime + LEFT_BEHIND_S + 1
    os.utime(tmp_path / "b.json.2.y.tmp", (now_s, now_s))
    remove_left_behind(tmp_path, now_s)
    assert names(tmp_path) == ["b.json.2.y.tmp", "c.json"]
    remove_left_behind(tmp_path / "missing", now_s)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not JSON"),
        (b'{"a": ', "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"a": NaN}', "not JSON"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b'{"a": ' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_object_is_refused_without_quoting_it(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        load_object(data)


@pytest.mark.parametrize("value", ["\ud83c", "猫", "a\u2028b", 1.5, None, [], {}])
def test_any_json_value_comes_back(value: object) -> None:
    data = dump_object({"value": value})
    assert load_object(data) == {"value": value}
    assert data.endswith(b"}\n")
    data.decode("utf-8")


def test_small_documents_are_indented_and_large_ones_are_not() -> None:
    assert dump_object({"a": [1]}) == b'{\n  "a": [\n    1\n  ]\n}\n'
    large = dump_object({"a": ["x" * 1000] * 300})
    assert large.count(b"\n") == 1


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        dump_object({"a": float("nan")})


def test_a_lock_can_be_held_within_itself(tmp_path: Path) -> None:
    lock = StorageLock(tmp_path / "new")
    with lock.held(), lock.held():
        assert names(tmp_path / "new") == [atomic_json.LOCK_FILE]


def test_another_lock_on_the_folder_is_waited_for_and_then_given_up(tmp_path: Path) -> None:
    """Two locks on one file stand for two processes."""
    with StorageLock(tmp_path).held():
        with pytest.raises(StoreError) as raised, StorageLock(tmp_path, timeout_s=0.05).held():
            pass
        assert raised.value.code == "STORE_BUSY"
    with StorageLock(tmp_path, timeout_s=0.05).held():
        pass


def test_threads_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "n.json"
    write_file(path, b'{"n": 0}')
    lock = StorageLock(tmp_path)

    def count() -> None:
        for _ in range(10):
            with lock.held():
                number = json.loads(path.read_bytes())["n"]
                write_file(path, json.dumps({"n": number + 1}).encode())

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert json.loads(path.read_bytes()) == {"n": 40}
