"""PNG as a carrier of cards."""

import copy
import json
import pickle
import struct
import zlib
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavern_format.diagnostics import Diagnostic
from tavern_format.errors import CarrierError, FormatError, LimitExceededError
from tavern_format.limits import DEFAULT_LIMITS, Limits
from tavern_format.png_chunks import (
    PNG_SIGNATURE,
    CardPayload,
    Chunk,
    PngAssets,
    empty_png,
    iter_card_payloads,
    looks_double_encoded,
    looks_like_json,
    read_card_payloads,
    read_naidata,
    read_png_assets,
    walk_chunks,
    write_card_chunks,
)

CASES: list[Any] = json.loads(
    (Path(__file__).parent / "cases" / "png_cards.json").read_text("utf-8")
)["cases"]
IHDR = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
TINY = attrs.evolve(DEFAULT_LIMITS, png_text_bytes=1000, png_chunks=10)


def chunk(kind: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I4s", len(body), kind) + body + zlib.crc32(kind + body).to_bytes(4)


def png(*chunks: bytes) -> bytes:
    return b"".join((PNG_SIGNATURE, chunk(b"IHDR", IHDR), *chunks, chunk(b"IEND")))


def text(keyword: str, payload: bytes) -> bytes:
    return chunk(b"tEXt", keyword.encode() + b"\0" + b64encode(payload))


def listed_chunk(kind: str, keyword: str, payload: str) -> bytes:
    encoded, head = b64encode(payload.encode()), keyword.encode()
    match kind:
        case "tEXt":
            return chunk(b"tEXt", head + b"\0" + encoded)
        case "zTXt":
            return chunk(b"zTXt", head + b"\0\0" + zlib.compress(encoded))
        case "zTXt!":
            return chunk(b"zTXt", head + b"\0\0" + zlib.compress(encoded)[:-5])
        case "iTXt":
            return chunk(b"iTXt", head + b"\0\0\0en\0title\0" + encoded)
        case "iTXt+z":
            return chunk(b"iTXt", head + b"\0\1\0en\0title\0" + zlib.compress(encoded))
        case _:
            return chunk(kind.removeprefix("raw:").encode(), head + payload.encode())


def damaged(data: bytes, damage: str) -> bytes:
    how, _, amount = damage.partition("-")
    match how:
        case "no":
            return data[:8] + data[8 + 12 + len(IHDR) :]
        case "crc":
            return data[:30] + bytes([data[30] ^ 1]) + data[31:]
        case "trailing":
            return data + b"more"
        case "cut":
            return data[: -int(amount)]
        case "length":
            return data[:33] + int(amount).to_bytes(4) + data[37:]
        case _:
            return data


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_card_texts_are_found_and_ranked(case: dict[str, Any]) -> None:
    data = damaged(png(*(listed_chunk(*parts) for parts in case["chunks"])), case.get("damage", ""))
    found: list[Diagnostic] = []
    try:
        payloads = read_card_payloads(data, DEFAULT_LIMITS, found.append)
        outcome: Any = [[read.keyword, read.chunk_type, read.data.decode()] for read in payloads]
    except CarrierError as fault:
        outcome = fault.code
    assert outcome == case.get("payloads", case.get("error"))
    assert [remark.code for remark in found] == case["diagnostics"]


def test_a_payload_tells_where_it_comes_from() -> None:
    data = png(text("Chara", b"A"))
    assert read_card_payloads(data, DEFAULT_LIMITS, _fail) == (
        CardPayload(
            data=b"A",
            keyword="chara",
            chunk_type="tEXt",
            offset_bytes=33,
            irregular_base64=False,
            holds_bare_json=False,
        ),
    )


def test_json_that_was_never_encoded_is_told_apart() -> None:
    data = png(chunk(b"tEXt", b'chara\0{"name": "A"}'))
    (payload,) = read_card_payloads(data, DEFAULT_LIMITS, _ignore)
    assert payload.holds_bare_json
    assert payload.irregular_base64


def test_a_later_text_is_decoded_only_when_asked_for() -> None:
    bomb = chunk(b"zTXt", b"chara\0\0" + zlib.compress(bytes(5000)))
    payloads = iter_card_payloads(png(bomb, text("ccv3", b"A")), TINY, _ignore)
    assert next(payloads).data == b"A"
    found: list[Diagnostic] = []
    assert len(read_card_payloads(png(bomb, text("ccv3", b"A")), TINY, found.append)) == 1
    assert [remark.code for remark in found] == ["PNG_TEXT_COMPRESSED", "PNG_TEXT_UNREADABLE"]


@pytest.mark.parametrize(
    "body",
    [
        chunk(b"zTXt", b"chara\0\0" + zlib.compress(bytes(50_000_000))),
        chunk(b"iTXt", b"chara\0\1\0\0\0" + zlib.compress(bytes(50_000_000))),
        chunk(b"iTXt", b"chara\0\0\0\0\0" + b"A" * 1001),
        chunk(b"tEXt", b"chara\0" + b"A" * 1001),
    ],
    ids=["zTXt", "iTXt", "iTXt plain", "tEXt"],
)
def test_a_text_beyond_the_limit_is_refused_before_it_is_expanded(body: bytes) -> None:
    with pytest.raises(LimitExceededError) as caught:
        read_card_payloads(png(body), TINY, _ignore)
    assert (caught.value.limit, caught.value.actual) == ("png_text_bytes", 1001)


def test_a_text_at_the_limit_is_read() -> None:
    body = chunk(b"zTXt", b"chara\0\0" + zlib.compress(b"QUJD" * 250))
    (payload,) = read_card_payloads(png(body), TINY, _ignore)
    assert payload.data == b"ABC" * 250


def test_too_many_chunks_are_refused() -> None:
    data = png(*[chunk(b"prVt")] * 9)
    with pytest.raises(LimitExceededError) as caught:
        walk_chunks(data, TINY, _ignore)
    assert (caught.value.limit, caught.value.actual) == ("png_chunks", 11)
    assert len(walk_chunks(png(*[chunk(b"prVt")] * 8), TINY, _ignore)) == 10


def test_chunks_are_views_with_their_place() -> None:
    data = png(chunk(b"prVt", b"abc"))
    assert walk_chunks(data, DEFAULT_LIMITS, _fail) == (
        Chunk(b"IHDR", memoryview(IHDR), 8, crc_ok=True),
        Chunk(b"prVt", memoryview(b"abc"), 33, crc_ok=True),
        Chunk(b"IEND", memoryview(b""), 48, crc_ok=True),
    )


def test_a_png_without_one_whole_chunk_has_nothing_to_list() -> None:
    with pytest.raises(CarrierError) as caught:
        walk_chunks(PNG_SIGNATURE + chunk(b"IHDR", IHDR)[:-1], DEFAULT_LIMITS, _fail)
    assert (caught.value.code, caught.value.offset_bytes) == ("PNG_TRUNCATED", 8)


def test_iend_with_data_ends_the_png_like_any_other() -> None:
    data = png(text("chara", b"A"))[:-12] + chunk(b"IEND", b"zz")
    assert bytes(walk_chunks(data, DEFAULT_LIMITS, _fail)[-1].data) == b"zz"
    assert write_card_chunks(data, b"B").endswith(chunk(b"IEND"))


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (b"", "it is empty"),
        (b'\xef\xbb\xbf {"spec": 1}', "it looks like JSON"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "it is a WebP"),
        (b"GIF89a", "it is a GIF"),
        (b"\xff\xd8\xff\xe0", "it is a JPEG"),
        (b"PK\x03\x04", "it is a zip archive"),
        (b"\x89PNG\n\x1a\n\0", "its signature is damaged"),
        (b"anything", "not a PNG"),
    ],
)
def test_what_is_no_png_is_named(data: bytes, hint: str) -> None:
    with pytest.raises(CarrierError, match=hint) as caught:
        read_card_payloads(data, DEFAULT_LIMITS, _ignore)
    assert (caught.value.code, caught.value.carrier) == ("PNG_SIGNATURE", "png")


def test_base64_of_base64_is_recognised() -> None:
    card = b'{"spec": "chara_card_v2"}'
    assert looks_double_encoded(b64encode(card))
    assert not looks_double_encoded(card)
    assert not looks_double_encoded(b"plain words")
    assert looks_like_json(b"\xef\xbb\xbf\n [1]")


def test_asset_chunks_are_named_by_both_spellings() -> None:
    data = png(
        text("chara-ext-asset_:0", b"zero"),
        text("chara-ext-asset_1", b"one"),
        text("chara-ext-asset_0", b"again"),
        text("chara", b"A"),
    )
    found: list[Diagnostic] = []
    assets = read_png_assets(data, DEFAULT_LIMITS, found.append)
    assert dict(assets) == {"0": b"zero", "1": b"one"}
    assert [remark.code for remark in found] == ["PNG_ASSET_REPEATED"]
    assert repr(assets) == "PngAssets(['0', '1'])"
    assert ("1" in assets, "2" in assets, len(assets)) == (True, False, 2)


def test_writing_replaces_every_older_card_text_and_nothing_else() -> None:
    others = (
        chunk(b"tEXt", b"Software\0x"),
        chunk(b"prVt", b"kept"),
        chunk(b"IDAT", b"pixels")[:-1] + b"?",
        chunk(b"tEXt", b"Comment\0a\0b"),
        text("chara-ext-asset_:0", b"zero"),
        chunk(b"tEXt", b"chara \0kept"),
    )
    old = (
        text("CHARA", b"old"),
        text("ccv3", b"old"),
        listed_chunk("zTXt", "Chara", "old"),
        listed_chunk("iTXt", "ccv3", "old"),
        chunk(b"tEXt", b"chara"),
    )
    mixed = (others[0], old[0], others[1], old[1], others[2], old[2], *others[3:], *old[3:])
    written = write_card_chunks(png(*mixed) + b"trailing", b"new", b"newer")
    assert written == png(*others, text("chara", b"new"), text("ccv3", b"newer"))


def test_writing_without_ccv3_leaves_none() -> None:
    written = write_card_chunks(png(text("ccv3", b"old")), b"new")
    assert written == png(text("chara", b"new"))


def test_writing_twice_is_writing_once() -> None:
    once = write_card_chunks(empty_png(), b"{}", b"{}")
    assert write_card_chunks(once, b"{}", b"{}") == once


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (png()[:-12], "PNG_TRUNCATED"),
        (png(chunk(b"IDAT", b"pixels"))[:-20], "PNG_TRUNCATED"),
        (b"GIF89a", "PNG_SIGNATURE"),
        (PNG_SIGNATURE, "PNG_TRUNCATED"),
        (PNG_SIGNATURE + chunk(b"IEND"), "PNG_IHDR_FIRST"),
    ],
)
def test_a_picture_that_is_damaged_is_not_written_into(data: bytes, code: str) -> None:
    with pytest.raises(CarrierError) as caught:
        write_card_chunks(data, b"{}")
    assert caught.value.code == code


def test_an_empty_card_text_is_not_written() -> None:
    with pytest.raises(ValueError, match="empty card text"):
        write_card_chunks(png(), b"")


def test_the_empty_picture_is_a_whole_png() -> None:
    chunks = walk_chunks(empty_png(10, 3), DEFAULT_LIMITS, _fail)
    assert [each.type for each in chunks] == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    assert struct.unpack(">IIBBBBB", chunks[0].data) == (10, 3, 1, 3, 0, 0, 0)
    assert zlib.decompress(chunks[2].data) == bytes(3 * 3)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (png(text("naidata", b'{"a":1}')), b'{"a":1}'),
        (png(text("naidata", b'{"a":1}'))[:-12], b'{"a":1}'),
        (png(text("naidata", b'{"a":1}')[:-1] + b"?"), b'{"a":1}'),
        (PNG_SIGNATURE + text("naidata", b'{"a":1}'), b'{"a":1}'),
        (png(text("naidata", b"1"), text("naidata", b"2")), b"1"),
        (png(text("naidataX", b"1")), None),
        (png(chunk(b"zTXt", b"naidata\0\0" + zlib.compress(b"QQ=="))), None),
        (png(), None),
    ],
    ids=["plain", "no IEND", "checksum", "no IHDR", "first", "other keyword", "zTXt", "none"],
)
def test_a_novelai_picture_needs_neither_checksums_nor_its_end(
    data: bytes, expected: bytes | None
) -> None:
    assert read_naidata(data, DEFAULT_LIMITS, _ignore) == expected


@pytest.mark.parametrize("body", [b"!!!", b"e30=\0", b"e30=e30="])
def test_a_novelai_text_must_be_base64(body: bytes) -> None:
    with pytest.raises(CarrierError) as caught:
        read_naidata(png(chunk(b"tEXt", b"naidata\0" + body)), DEFAULT_LIMITS, _fail)
    assert caught.value.code == "PNG_TEXT_BASE64"


def test_a_novelai_picture_cut_before_its_text_is_remarked() -> None:
    found: list[Diagnostic] = []
    cut = png(text("naidata", b'{"a":1}'))[:-20]
    assert read_naidata(cut, DEFAULT_LIMITS, found.append) is None
    assert [remark.code for remark in found] == ["PNG_TRUNCATED"]


SEEDS = [
    png(text("chara", b'{"name":"A"}'), chunk(b"IDAT", b"pixels"), text("ccv3", b'{"name":"B"}')),
    png(listed_chunk("zTXt", "chara", "A"), listed_chunk("iTXt+z", "ccv3", "B")),
    png(text("chara-ext-asset_:0", b"zero"), text("naidata", b"{}")),
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
    limits = Limits(png_text_bytes=100_000, png_chunks=50)
    for read in (_read_all, read_naidata, _read_assets, _write_and_read):
        with suppress(FormatError):
            read(data, limits, _ignore)


def _read_all(data: bytes, limits: Limits, report: Any) -> object:
    return read_card_payloads(data, limits, report)


def _read_assets(data: bytes, limits: Limits, report: Any) -> object:
    return dict(read_png_assets(data, limits, report))


def _write_and_read(data: bytes, limits: Limits, report: Any) -> object:
    written = write_card_chunks(data, b"new", limits=limits)
    payloads = read_card_payloads(written, limits, report)
    assert [payload.data for payload in payloads] == [b"new"]
    return None


def _ignore(_: Diagnostic) -> None:
    pass


def _fail(remark: Diagnostic) -> None:
    pytest.fail(remark.code)


@pytest.mark.parametrize(
    "name",
    [
        "../../evil",
        "a/../../evil",
        "/etc/evil",
        "C:/evil",
        "c:evil",
        "..\\evil",
        "\\evil",
        "\\\\host\\evil",
        "",
        ".",
        "./",
    ],
)
def test_an_asset_name_that_leads_astray_is_no_asset(name: str) -> None:
    found: list[Diagnostic] = []
    data = png(
        text("ccv3", b"{}"),
        text(f"chara-ext-asset_:{name}", b"x"),
        text("chara-ext-asset_ok", b"y"),
    )
    assets = read_png_assets(data, DEFAULT_LIMITS, found.append)
    assert dict(assets) == {"ok": b"y"}
    assert [remark.code for remark in found] == ["PNG_ASSET_UNSAFE"]
    assert "evil" not in found[0].message


def test_asset_names_have_forward_slashes() -> None:
    data = png(text("chara-ext-asset_:a\\b//c", b"x"), text("chara-ext-asset_a/b/c", b"y"))
    found: list[Diagnostic] = []
    assert dict(read_png_assets(data, DEFAULT_LIMITS, found.append)) == {"a/b/c": b"x"}
    assert [remark.code for remark in found] == ["PNG_ASSET_REPEATED"]


def test_assets_are_copied_and_pickled_undecoded() -> None:
    data = png(text("chara-ext-asset_0", b"zero"), text("chara-ext-asset_1", b"x" * 2_000))
    assets = read_png_assets(data, TINY, lambda _: None)
    assert copy.copy(assets) is assets
    assert copy.deepcopy({"files": assets})["files"] is assets
    again = pickle.loads(pickle.dumps(assets))  # noqa: S301
    assert isinstance(again, PngAssets)
    assert (list(again), again["0"]) == (["0", "1"], b"zero")
    with pytest.raises(LimitExceededError):
        again["1"]
