"""PNG as a carrier: its chunks, the card texts in them, and a new PNG with other card texts.

Owns the walk over chunks and what is done with a whole PNG; how one text chunk is read is in
`_png_text`. Knows no JSON and nothing of cards but the names of their chunks. Pixels are never
decoded, so an APNG is a PNG like any other.

Source: PNG specification (third edition), chunk layout; Character Card V3 specification, PNG;
SillyTavern 1.19.0, src/character-card-parser.js (read, write), public/scripts/utils.js
(extractDataFromPng).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from struct import Struct
from typing import Any
from zlib import compress, crc32

from attrs import frozen

from tavern_format import _png_text as text
from tavern_format._base64 import decode_node, encode
from tavern_format._png_text import CardPayload, Chunk, looks_double_encoded, looks_like_json
from tavern_format.diagnostics import Report, info, warn
from tavern_format.errors import CarrierError, LimitExceededError
from tavern_format.limits import DEFAULT_LIMITS, Limits

__all__ = [
    "PNG_SIGNATURE",
    "CardPayload",
    "Chunk",
    "PngAssets",
    "empty_png",
    "iter_card_payloads",
    "looks_double_encoded",
    "looks_like_json",
    "read_card_payloads",
    "read_naidata",
    "read_png_assets",
    "walk_chunks",
    "write_card_chunks",
]

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"

_HEAD = Struct(">I4s")
_LENGTH_MAX_BYTES = 0x7FFF_FFFF
_END = b"\0\0\0\0IEND\xaeB`\x82"
_LOOKALIKES: tuple[tuple[str, Callable[[bytes], bool]], ...] = (
    ("it is empty", lambda head: not head),
    ("it looks like JSON", lambda head: head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")),
    ("it is a WebP", lambda head: head[:4] == b"RIFF" and head[8:12] == b"WEBP"),
    ("it is a GIF", lambda head: head[:4] == b"GIF8"),
    ("it is a JPEG", lambda head: head[:3] == b"\xff\xd8\xff"),
    ("it is a zip archive", lambda head: head[:2] == b"PK"),
    ("its signature is damaged", lambda head: b"PNG" in head[:4]),
)


@frozen
class _Walk:
    chunks: tuple[Chunk, ...]
    fault: CarrierError | None
    """Why the walk ended before IEND."""
    trailing_bytes: int
    """After IEND."""


def walk_chunks(data: bytes, limits: Limits, report: Report) -> tuple[Chunk, ...]:
    """List the chunks up to and with IEND, in the order of the file, without copying them.

    A wrong checksum is a PNG_CRC diagnostic (IEND's is not looked at), bytes after IEND are
    PNG_TRAILING_DATA, and a PNG that ends early gives its whole chunks and PNG_TRUNCATED or
    PNG_CHUNK_LENGTH. Raises CarrierError (PNG_SIGNATURE, PNG_IHDR_FIRST, or one of the two when
    not even IHDR is whole) and LimitExceededError (`png_chunks`).
    """
    walk = _walk(data, limits, report)
    if walk.fault is not None and not walk.chunks:
        raise walk.fault
    _report_end(walk, report)
    return walk.chunks


def read_card_payloads(data: bytes, limits: Limits, report: Report) -> tuple[CardPayload, ...]:
    """Give the card texts of a PNG, decoded from base64, best first; never none.

    `ccv3` comes before `chara` wherever they stand, and of one keyword `tEXt` before `zTXt` before
    `iTXt`; of two chunks alike the first counts. SillyTavern reads the first `tEXt` of the better
    keyword and nothing else. Raises as `walk_chunks`, and CarrierError (PNG_NO_CARD,
    PNG_TEXT_COMPRESSION, or PNG_TRUNCATED, PNG_CHUNK_LENGTH where no text came before the end) or
    LimitExceededError (`png_text_bytes`).
    """
    return tuple(iter_card_payloads(data, limits, report))


def iter_card_payloads(data: bytes, limits: Limits, report: Report) -> Iterator[CardPayload]:
    """Give the card texts as `read_card_payloads`, each decoded only when it is asked for.

    The PNG is walked at the call; errors of the texts themselves come while iterating.
    """
    return open_card_png(data, limits, report)[0]


def open_card_png(
    data: bytes, limits: Limits, report: Report
) -> tuple[Iterator[CardPayload], "PngAssets"]:
    """Give the card texts as `iter_card_payloads` and the assets as `read_png_assets`: one walk."""
    walk = _walk(data, limits, report)
    found = text.find_card_texts(walk.chunks, report)
    if not found:
        raise walk.fault or _no_card(walk)
    _report_end(walk, report)
    return text.read_payloads(found, limits, report), _assets(walk.chunks, limits, report)


def read_naidata(data: bytes, limits: Limits, report: Report) -> bytes | None:
    """Give the JSON text of a NovelAI lorebook picture; None when the PNG holds none.

    Neither checksums nor IEND are asked for. Raises CarrierError (PNG_SIGNATURE, PNG_TEXT_BASE64)
    and LimitExceededError.
    """
    walk = _walk(data, limits, _ignore, strict=False)
    for chunk in walk.chunks:
        if chunk.type == text.TEXT and text.keyword_of(chunk) == text.NAIDATA:
            return text.read_naidata_text(chunk, limits)
    if walk.fault is not None:
        warn(report, walk.fault.code, "", walk.fault.message)
    return None


def read_png_assets(data: bytes, limits: Limits, report: Report) -> "PngAssets":
    """Give the asset chunks of RisuAI and V3 cards by name, each decoded when it is asked for.

    The name is what follows `chara-ext-asset_:` or `chara-ext-asset_`, and what follows `__asset:`
    in the card, with forward slashes. Diagnostics: PNG_ASSET_UNSAFE (a name that leads out of a
    folder; it is left out), PNG_ASSET_REPEATED (the first one counts). Raises as `walk_chunks`.
    """
    return _assets(_walk(data, limits, _ignore, strict=False).chunks, limits, report)


def _assets(chunks: Iterable[Chunk], limits: Limits, report: Report) -> "PngAssets":
    assets: dict[str, Chunk] = {}
    for chunk in chunks:
        name = text.asset_name(chunk, report)
        if name is None:
            continue
        if name in assets:
            message = f"a second asset of one name at byte {chunk.offset_bytes} is not read"
            warn(report, "PNG_ASSET_REPEATED", "", message)
        assets.setdefault(name, chunk)
    return PngAssets(assets, limits)


class PngAssets(Mapping[str, bytes]):
    """Assets of a PNG in the order of the file; looking one up decodes its base64."""

    __slots__ = ("_chunks", "_limits")

    def __init__(self, chunks: Mapping[str, Chunk], limits: Limits) -> None:
        """Keep the chunks undecoded."""
        self._chunks = chunks
        self._limits = limits

    def __getitem__(self, name: str) -> bytes:
        """Decode one asset. Raises KeyError, and LimitExceededError (`png_text_bytes`)."""
        return decode_node(text.text_of(self._chunks[name], self._limits))

    def __contains__(self, name: object) -> bool:
        """Look for a name without decoding its asset."""
        return name in self._chunks

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        return iter(self._chunks)

    def __len__(self) -> int:
        """Count the assets."""
        return len(self._chunks)

    def __copy__(self) -> "PngAssets":
        """Give itself: it never changes."""
        return self

    def __deepcopy__(self, _: object) -> "PngAssets":
        """Give itself: it never changes."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the chunks undecoded, as plain bytes: a view cannot be pickled."""
        chunks = {
            name: (chunk.type, bytes(chunk.data), chunk.offset_bytes, chunk.crc_ok)
            for name, chunk in self._chunks.items()
        }
        return _unpickled_assets, (chunks, self._limits)

    def __repr__(self) -> str:
        """Show the names only: content may be large."""
        return f"PngAssets({list(self._chunks)!r})"


def _unpickled_assets(
    chunks: Mapping[str, tuple[bytes, bytes, int, bool]], limits: Limits
) -> PngAssets:
    listed = {
        name: Chunk(kind, memoryview(body), offset_bytes, crc_ok=crc_ok)
        for name, (kind, body, offset_bytes, crc_ok) in chunks.items()
    }
    return PngAssets(listed, limits)


def write_card_chunks(
    png: bytes, chara: bytes, ccv3: bytes | None = None, *, limits: Limits = DEFAULT_LIMITS
) -> bytes:
    """Put new card texts directly before IEND, `chara` and then `ccv3`, as base64.

    Every older card text goes: any keyword case, `tEXt`, `zTXt` or `iTXt`. All other chunks stay
    byte for byte and in order, also those with a wrong checksum; IEND is written empty and what
    followed it is dropped. Raises CarrierError (PNG_*) for a PNG that ends early or does not begin
    as one, LimitExceededError, and ValueError for an empty `chara`.
    """
    if not chara:
        message = "an empty card text cannot be written"
        raise ValueError(message)
    kept = _without_card_texts(png, limits)
    fresh = [_chunk(text.TEXT, b"chara\0" + encode(chara))]
    if ccv3 is not None:
        fresh.append(_chunk(text.TEXT, b"ccv3\0" + encode(ccv3)))
    return b"".join((PNG_SIGNATURE, *kept, *fresh, _END))


def strip_card_chunks(png: bytes, *, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """Take every card text out of a PNG: what is left is the picture. Raises as the writer."""
    return b"".join((PNG_SIGNATURE, *_without_card_texts(png, limits), _END))


def _without_card_texts(png: bytes, limits: Limits) -> list[memoryview]:
    walk = _walk(png, limits, _ignore)
    if walk.fault is not None:
        raise walk.fault
    view = memoryview(png)
    return [
        view[chunk.offset_bytes : chunk.offset_bytes + 12 + len(chunk.data)]
        for chunk in walk.chunks[:-1]
        if not text.is_card_text(chunk)
    ]


def empty_png(width_px: int = 64, height_px: int = 96) -> bytes:
    """Make a plain grey PNG, for cards that have no picture; the same bytes on every machine."""
    row_bytes = 1 + (width_px + 7) // 8
    header = Struct(">IIBBBBB").pack(width_px, height_px, 1, 3, 0, 0, 0)
    pixels = compress(bytes(row_bytes * height_px), 0)  # level 0: equal under every zlib
    chunks = (
        _chunk(text.HEADER, header),
        _chunk(b"PLTE", b"\x80\x80\x80"),
        _chunk(b"IDAT", pixels),
    )
    return b"".join((PNG_SIGNATURE, *chunks, _END))


def _walk(data: bytes, limits: Limits, report: Report, *, strict: bool = True) -> _Walk:
    """Go through the chunks; `strict` checks checksums and asks for IHDR in front.

    A length is compared with what remains before anything is taken: SillyTavern allocates as much
    as the length says.
    """
    view = memoryview(data)
    if view[:8] != PNG_SIGNATURE:
        raise _not_a_png(bytes(view[:16]))
    chunks: list[Chunk] = []
    offset, end = len(PNG_SIGNATURE), len(view)
    while offset + 8 <= end:
        length, kind = _HEAD.unpack_from(view, offset)
        if strict and not chunks and kind != text.HEADER:
            message = "the first chunk is not IHDR"
            raise CarrierError("PNG_IHDR_FIRST", message, carrier="png", offset_bytes=offset)
        if len(chunks) >= limits.png_chunks:
            raise LimitExceededError(
                limit="png_chunks", actual=len(chunks) + 1, maximum=limits.png_chunks, unit="chunks"
            )
        after = offset + 12 + length
        if kind == text.END:
            body = view[offset + 8 : min(after - 4, end)]
            chunks.append(Chunk(kind, body, offset, crc_ok=True))
            return _Walk(tuple(chunks), None, max(0, end - after))
        if after > end:
            return _Walk(tuple(chunks), _overrun(view, offset, length, limits), 0)
        crc_ok = not strict or _crc_fits(view, offset, after)
        if not crc_ok:
            message = f"the checksum of the chunk at byte {offset} is wrong"
            warn(report, "PNG_CRC", "", message)
        chunks.append(Chunk(kind, view[offset + 8 : after - 4], offset, crc_ok=crc_ok))
        offset = after
    message = "the PNG ends before IEND"
    fault = CarrierError("PNG_TRUNCATED", message, carrier="png", offset_bytes=offset)
    return _Walk(tuple(chunks), fault, 0)


def _crc_fits(view: memoryview, offset: int, after: int) -> bool:
    return crc32(view[offset + 4 : after - 4]) == int.from_bytes(view[after - 4 : after])


def _overrun(view: memoryview, offset: int, length: int, limits: Limits) -> CarrierError:
    """Tell a wrong length in a whole file from a file that was cut."""
    whole = view[-len(_END) :] == _END
    if whole or length > min(_LENGTH_MAX_BYTES, limits.input_bytes):
        code, message = "PNG_CHUNK_LENGTH", "a chunk is longer than the rest of the file"
    else:
        code, message = "PNG_TRUNCATED", "the PNG ends inside a chunk"
    return CarrierError(code, message, carrier="png", offset_bytes=offset)


def _not_a_png(head: bytes) -> CarrierError:
    hints = (f" ({hint})" for hint, fits in _LOOKALIKES if fits(head))
    message = f"not a PNG{next(hints, '')}"
    return CarrierError("PNG_SIGNATURE", message, carrier="png", offset_bytes=0)


def _no_card(walk: _Walk) -> CarrierError:
    message = "the PNG holds no character card"
    keywords = [text.keyword_of(chunk) for chunk in walk.chunks if chunk.type in text.TEXT_TYPES]
    if any(map(text.has_blanks_around, keywords)):
        message += " (a keyword differs from `chara` or `ccv3` only by blanks around it)"
    elif text.NAIDATA in keywords:
        message += " (it holds a NovelAI lorebook)"
    elif walk.trailing_bytes:
        message += " (bytes after IEND are not read)"
    return CarrierError("PNG_NO_CARD", message, carrier="png")


def _report_end(walk: _Walk, report: Report) -> None:
    if walk.fault is not None:
        message = f"{walk.fault.message}; what came before was read"
        warn(report, walk.fault.code, "", message)
    if walk.trailing_bytes:
        message = f"{walk.trailing_bytes} bytes after IEND were not read"
        info(report, "PNG_TRAILING_DATA", "", message)


def _chunk(kind: bytes, body: bytes) -> bytes:
    checksum = crc32(body, crc32(kind)).to_bytes(4)
    return b"".join((_HEAD.pack(len(body), kind), body, checksum))


def _ignore(_: object) -> None:
    pass
