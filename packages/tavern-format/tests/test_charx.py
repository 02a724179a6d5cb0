"""CHARX, and the bounded zip reader under it."""

import copy
import io
import pickle
import struct
import zipfile
import zlib
from base64 import b64encode

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavern_format.charx import (
    Charx,
    read_charx,
    read_data_uri,
    resolve_asset,
    write_charx,
)
from tavern_format.diagnostics import Diagnostic
from tavern_format.errors import CarrierError, FormatError, LimitExceededError
from tavern_format.limits import DEFAULT_LIMITS, Limits

CARD = b'{"spec": "chara_card_v3", "data": {"name": "Ada"}}'
ICON = ("assets/icon.png", b"\x89PNG icon")


def archive(*files: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Build with the standard library, so that our reader meets another's writer."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as opened:
        for name, content in files:
            opened.writestr(zipfile.ZipInfo(name), content, method)
    return target.getvalue()


def read(data: bytes, limits: Limits = DEFAULT_LIMITS) -> tuple[Charx, list[str]]:
    found: list[Diagnostic] = []
    opened = read_charx(data, limits, found.append)
    return opened, codes_of(found)


def codes_of(found: list[Diagnostic]) -> list[str]:
    return [remark.code for remark in found]


def code_of(data: bytes, limits: Limits = DEFAULT_LIMITS) -> str:
    with pytest.raises(FormatError) as caught:
        read(data, limits)
    return caught.value.code


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_card_and_all_other_files_are_offered(method: int) -> None:
    files = (("module.risum", b"\x01"), ("x_meta/1.json", b"{}"), ICON)
    opened, codes = read(archive(("card.json", CARD), *files, method=method))
    assert (opened.card, dict(opened.files), opened.prefix) == (CARD, dict(files), b"")
    assert list(opened.files) == [name for name, _ in files]
    assert "card.json" not in opened.files
    assert len(opened.files) == 3
    assert codes == []


def test_content_is_not_in_the_representation() -> None:
    opened, _ = read(archive(("card.json", CARD), ICON))
    assert repr(opened) == "Charx(files=ZipFiles(['assets/icon.png']))"


@pytest.mark.parametrize("prefix", [b"\xff\xd8\xff\xe0 picture", b"x" * 100_000, b"PK\x03\x04 no"])
def test_an_archive_behind_a_picture_is_found(prefix: bytes) -> None:
    opened, codes = read(prefix + archive(("card.json", CARD), ICON))
    assert (opened.card, opened.prefix, codes) == (CARD, prefix, [])
    assert opened.files["assets/icon.png"] == ICON[1]


def test_offsets_that_count_from_the_file_are_read_too() -> None:
    target = io.BytesIO(b"picture")
    target.seek(0, io.SEEK_END)
    with zipfile.ZipFile(target, "a") as opened:
        opened.writestr("card.json", CARD)
    assert read(target.getvalue())[0].prefix == b"picture"


def test_bytes_after_the_archive_are_remarked() -> None:
    opened, codes = read(archive(("card.json", CARD)) + b"garbage PK\x05\x06" + bytes(40))
    assert (opened.card, codes) == (CARD, ["ZIP_TRAILING_DATA"])


def test_an_archive_comment_is_no_garbage() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as opened:
        opened.writestr("card.json", CARD)
        opened.comment = b"made by PK\x05\x06"
    assert read(target.getvalue()) == (read(target.getvalue())[0], [])


def test_the_first_of_two_files_of_one_name_counts() -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        data = archive(("card.json", CARD), ("card.json", b"{}"))
    opened, codes = read(data)
    assert (opened.card, codes) == (CARD, ["ZIP_NAME_REPEATED"])


@pytest.mark.parametrize(
    "name", ["../up", "a/../../up", "/abs", "C:/drive", "c:up", "..\\up", "\\abs", "a/..", "."]
)
def test_a_name_that_leads_outside_costs_only_its_file(name: str) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as built:
        entry = zipfile.ZipInfo("placeholder")
        entry.filename = name
        built.writestr(entry, b"evil")
        built.writestr("card.json", CARD)
    opened, codes = read(target.getvalue())
    assert (opened.card, dict(opened.files), codes) == (CARD, {}, ["ZIP_NAME_UNSAFE"])


def test_backward_slashes_and_dots_in_names_are_made_plain() -> None:
    data = archive(("./card.json", CARD), ("a\\b\\c.png", b"1"), ("d//./e.png", b"2"))
    opened, codes = read(data)
    assert (dict(opened.files), codes) == ({"a/b/c.png": b"1", "d/e.png": b"2"}, [])


def test_folders_are_no_files() -> None:
    assert dict(read(archive(("assets/", b""), ("card.json", CARD)))[0].files) == {}


@pytest.mark.parametrize("name", ["笑.png", "Übung.png"])
def test_names_in_utf_8_need_no_flag(name: str) -> None:
    data = archive(("card.json", CARD), (name, b"1"))
    unflagged = data.replace(b"\x14\x00\x00\x08", b"\x14\x00\x00\x00")
    assert unflagged != data
    for each in (data, unflagged):
        assert list(read(each)[0].files) == [name]


def test_names_in_the_old_code_page_are_read() -> None:
    data = archive(("card.json", CARD), ("xx.png", b"1")).replace(b"xx.png", b"\x81x.png")
    assert list(read(data)[0].files) == ["üx.png"]


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        (("other.txt",), False),
        (("sub/card.json",), True),
        (("mycard.json",), True),
        (("__MACOSX/card.json",), False),
        ((), False),
    ],
)
def test_only_a_card_at_the_root_is_taken(names: tuple[str, ...], hint: bool) -> None:  # noqa: FBT001
    with pytest.raises(CarrierError) as caught:
        read(archive(*((name, CARD) for name in names)))
    assert (caught.value.code, caught.value.carrier) == ("CHARX_NO_CARD", "charx")
    assert ("another file" in caught.value.message) is hint


def test_nothing_is_remarked_of_an_archive_without_a_card() -> None:
    found: list[Diagnostic] = []
    with pytest.raises(CarrierError):
        read_charx(archive(("a", b"")) + b"garbage", DEFAULT_LIMITS, found.append)
    assert found == []


@pytest.mark.parametrize(
    ("first", "codes"),
    [("sub/card.json", ["CHARX_OTHER_CARD"]), ("__MACOSX/card.json", []), ("card.json.bak", [])],
)
def test_a_file_that_sillytavern_would_take_instead_is_remarked(
    first: str, codes: list[str]
) -> None:
    opened, remarked = read(archive((first, b"{}"), ("card.json", CARD)))
    assert (opened.card, remarked) == (CARD, codes)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "ZIP_SIGNATURE"),
        (b"hello world", "ZIP_SIGNATURE"),
        (archive(("card.json", CARD))[:60], "ZIP_TRUNCATED"),
        (archive(("card.json", CARD))[:-30], "ZIP_TRUNCATED"),
        (archive(("card.json", CARD))[-22:], "ZIP_DIRECTORY"),
        (b"PK\x05\x06" * 2000, "ZIP_DIRECTORY"),
    ],
)
def test_what_is_no_whole_archive_is_refused(data: bytes, code: str) -> None:
    assert code_of(data) == code


def central_field(data: bytes, offset: int, value: bytes) -> bytes:
    """Change the directory's record of the first file."""
    at = data.index(b"PK\x01\x02") + offset
    return data[:at] + value + data[at + len(value) :]


@pytest.mark.parametrize(
    ("offset", "value", "code"),
    [
        (8, b"\x01\x00", "ZIP_ENCRYPTED"),
        (10, b"\x0e\x00", "ZIP_METHOD"),
        (20, struct.pack("<I", 10), "ZIP_SIZE"),
        (20, struct.pack("<I", 10_000), "ZIP_ENTRY"),
        (24, struct.pack("<I", 5), "ZIP_SIZE"),
        (24, struct.pack("<I", 5_000), "ZIP_SIZE"),
        (42, struct.pack("<I", 7), "ZIP_ENTRY"),
        (42, struct.pack("<I", 0xFFFFFFF0), "ZIP_ENTRY"),
    ],
)
def test_a_card_that_cannot_be_expanded_is_refused(offset: int, value: bytes, code: str) -> None:
    assert code_of(central_field(archive(("card.json", CARD)), offset, value)) == code


def test_a_size_left_to_an_extension_that_is_missing_is_refused() -> None:
    full = struct.pack("<I", 0xFFFF_FFFF)
    limits = attrs.evolve(DEFAULT_LIMITS, zip_ratio=1 << 32, zip_expanded_bytes=1 << 32)
    data = central_field(archive(("card.json", CARD)), 24, full)
    assert code_of(data) == "LIMIT_EXCEEDED"
    assert code_of(data, limits) == "ZIP_SIZE"


def test_damaged_deflate_is_refused() -> None:
    data = archive(("card.json", CARD))
    assert code_of(data[:39] + b"\xff\xff\xff\xff" + data[43:]) == "ZIP_DEFLATE"


def test_a_wrong_checksum_is_remarked_for_the_card_and_refused_for_a_file() -> None:
    files = archive(("card.json", CARD), ICON, method=zipfile.ZIP_STORED)
    opened, codes = read(central_field(files, 16, bytes(4)))
    assert (opened.card, codes) == (CARD, ["ZIP_CRC"])
    damaged, _ = read(files.replace(b"PNG icon", b"PNG icom"))
    with pytest.raises(CarrierError) as caught:
        damaged.files["assets/icon.png"]
    assert caught.value.code == "ZIP_CRC"
    with pytest.raises(KeyError):
        damaged.files["card.json"]


def test_one_encrypted_file_does_not_hide_the_card() -> None:
    files = archive(ICON, ("card.json", CARD), method=zipfile.ZIP_STORED)
    opened, codes = read(central_field(files, 8, b"\x01\x00"))
    assert (opened.card, codes) == (CARD, ["ZIP_ENCRYPTED"])


def test_a_directory_that_ends_early_is_remarked() -> None:
    data = archive(("card.json", CARD), ICON)
    at = data.rindex(b"PK\x01\x02")
    opened, codes = read(data[:at] + b"xx" + data[at + 2 :])
    assert (opened.card, dict(opened.files), codes) == (CARD, {}, ["ZIP_DIRECTORY"])


def test_sixty_four_bit_sizes_are_read() -> None:
    """As streaming writers make them: the extension is used although nothing is large."""
    body = zlib.compress(CARD)[2:-4]
    name, full = b"card.json", 0xFFFF_FFFF
    local = struct.pack(
        "<4s5H3I2H", b"PK\x03\x04", 45, 0, 8, 0, 0, zlib.crc32(CARD), full, full, len(name), 0
    )
    extra = struct.pack("<HH3Q", 1, 24, len(CARD), len(body), 0)
    central = struct.pack(
        "<4s6H3I", b"PK\x01\x02", 45, 45, 0, 8, 0, 0, zlib.crc32(CARD), full, full
    )
    central += struct.pack("<5H2I", len(name), len(extra) + 6, 0, 0, 0, 0, full) + name
    central += struct.pack("<HH2s", 0x7855, 2, b"ux") + extra
    start = len(local) + len(name) + len(body)
    end64 = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, len(central), start)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, start + len(central), 1)
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, full, full, 0)
    data = local + name + body + central + end64 + locator + end
    opened, codes = read(b"picture" + data)
    assert (opened.card, opened.prefix, codes) == (CARD, b"picture", [])


def test_limits_hold_before_anything_is_expanded() -> None:
    bomb = archive(("card.json", CARD), ("zeros", bytes(3_000_000)))
    for name, allowed in (("zip_entries", 1), ("zip_expanded_bytes", 100_000), ("zip_ratio", 100)):
        limits = attrs.evolve(DEFAULT_LIMITS, **{name: allowed})
        with pytest.raises(LimitExceededError) as caught:
            read(bomb, limits)
        assert (caught.value.limit, caught.value.actual > allowed) == (name, True)
    exact = len(CARD) + 3_000_000
    assert read(bomb, attrs.evolve(DEFAULT_LIMITS, zip_expanded_bytes=exact, zip_entries=2))


def test_a_file_that_lies_about_its_size_expands_no_further() -> None:
    data = central_field(archive(("card.json", bytes(50_000_000))), 24, struct.pack("<I", 10))
    assert code_of(data) == "ZIP_SIZE"


def test_what_is_written_is_read_again_whole() -> None:
    files = {"module.risum": b"\x01", "a/b.PNG": b"pixels" * 100, "笑.txt": b"text" * 100}
    written = write_charx(CARD, files, b"\xff\xd8\xff picture")
    opened, codes = read(written)
    assert (opened.card, dict(opened.files), opened.prefix) == (
        CARD,
        files,
        b"\xff\xd8\xff picture",
    )
    assert codes == []
    assert write_charx(opened.card, opened.files, opened.prefix) == written


def test_other_readers_accept_what_is_written() -> None:
    files = {"a.png": b"pixels" * 100, "a.txt": b"text" * 100}
    with zipfile.ZipFile(io.BytesIO(write_charx(CARD, files))) as opened:
        assert opened.testzip() is None
        told = [(each.filename, each.compress_type, each.date_time) for each in opened.infolist()]
    day = (1980, 1, 1, 0, 0, 0)
    assert told == [("card.json", 8, day), ("a.png", 0, day), ("a.txt", 8, day)]


@pytest.mark.parametrize("path", ["", "../a", "/a", "a//b", "a\\b", "C:a", "card.json", "a\0"])
def test_a_path_no_reader_would_take_is_not_written(path: str) -> None:
    with pytest.raises(ValueError, match="path in an archive"):
        write_charx(CARD, {path: b""})


@pytest.mark.parametrize("paths", [["a" * 0x10000], [f"{n}.png" for n in range(0xFFFF)]])
def test_more_than_the_zip_format_can_hold_is_not_written(paths: list[str]) -> None:
    with pytest.raises(ValueError, match="too large for the zip format"):
        write_charx(CARD, dict.fromkeys(paths, b""))


NAMES = {"a.png", "b/c.png", "笑.png", "0"}


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("embeded://a.png", "a.png"),
        ("embedded://b/c.png", "b/c.png"),
        (" EMBEDED://a.png ", "a.png"),
        ("__asset:0", "0"),
        ("embeded:///a.png", "a.png"),
        ("embeded://./x/../a.png", "a.png"),
        ("embeded://b\\c.png", "b/c.png"),
        ("embeded://笑.png", "笑.png"),
        ("embeded://../a.png", None),
        ("embeded://x/../../a.png", None),
        ("embeded://missing.png", None),
        ("embeded://", None),
        ("ccdefault:", None),
        ("https://example.invalid/a.png", None),
        ("data:image/png;base64,QQ==", None),
        ("a.png", None),
        (None, None),
        (7, None),
    ],
)
def test_asset_addresses_lead_to_files_of_the_archive_only(
    uri: object, expected: str | None
) -> None:
    assert resolve_asset(uri, NAMES) == expected


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("data:image/png;base64,QUJD", ("image/png", b"ABC")),
        (" DATA:Image/PNG;charset=x; Base64,QU%4AD ", ("image/png", b"ABC")),
        ("data:image/png;base64,QU JD\n", ("image/png", b"ABC")),
        ("data:text/plain,a%20b%zz%2", ("text/plain", b"a b%zz%2")),
        ("data:,é", ("", "é".encode())),
        ("data:image/png;base64", None),
        ("https://example.invalid/", None),
        (None, None),
    ],
)
def test_data_addresses_are_decoded(uri: object, expected: tuple[str, bytes] | None) -> None:
    assert read_data_uri(uri, DEFAULT_LIMITS) == expected


def test_a_data_address_beyond_the_limit_is_refused() -> None:
    limits = attrs.evolve(DEFAULT_LIMITS, zip_expanded_bytes=1000)
    uri = "data:image/png;base64," + b64encode(bytes(2000)).decode()
    with pytest.raises(LimitExceededError) as caught:
        read_data_uri(uri, limits)
    assert caught.value.limit == "zip_expanded_bytes"


SEEDS = [
    archive(("card.json", CARD), ICON),
    archive(("card.json", CARD), ICON, method=zipfile.ZIP_STORED),
    b"\xff\xd8\xff" + write_charx(CARD, dict([ICON]), b"picture"),
]
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 8), st.binary(max_size=8)), min_size=1, max_size=4
)


@pytest.mark.fuzz
@given(st.sampled_from(SEEDS), EDITS)
def test_damage_raises_nothing_but_format_errors(
    data: bytes, edits: list[tuple[float, int, bytes]]
) -> None:
    for share, removed, inserted in edits:
        at = int(share * len(data))
        data = data[:at] + inserted + data[at + removed :]
    try:
        opened, _ = read(data, Limits(zip_expanded_bytes=1_000_000))
        contents = dict(opened.files)
    except FormatError:
        return
    again, _ = read(write_charx(opened.card, contents, opened.prefix))
    assert (again.card, dict(again.files)) == (opened.card, contents)


@given(
    st.dictionaries(
        st.from_regex("[a-z]{1,3}(/[a-z]{1,3})?[.](png|txt)", fullmatch=True),
        st.binary(max_size=50),
        max_size=5,
    )
)
def test_any_files_survive_writing_and_reading(files: dict[str, bytes]) -> None:
    opened, codes = read(write_charx(CARD, files))
    assert (opened.card, dict(opened.files), list(opened.files), codes) == (
        CARD,
        files,
        list(files),
        [],
    )


def test_files_are_copied_and_pickled_unexpanded() -> None:
    data = archive(("card.json", CARD), ICON, ("bad.txt", b"damaged"), method=zipfile.ZIP_STORED)
    files = read(data.replace(b"damaged", b"DAMAGED"))[0].files
    assert copy.copy(files) is files
    assert copy.deepcopy({"files": files})["files"] is files
    again = pickle.loads(pickle.dumps(files))  # noqa: S301
    assert list(again) == ["assets/icon.png", "bad.txt"]
    assert again["assets/icon.png"] == ICON[1]
    with pytest.raises(CarrierError, match="ZIP_CRC"):
        again["bad.txt"]
    assert "card.json" not in again
