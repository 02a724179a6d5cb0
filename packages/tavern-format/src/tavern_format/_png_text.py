"""What one text chunk of a PNG holds: keyword, text, and which chunks are a card's.

Owns the layouts of `tEXt`, `zTXt` and `iTXt` and the names that matter to cards; the walk over a
file and its faults are in `png_chunks`. Decompression is bounded by `Limits.png_text_bytes`.

Source: PNG specification (third edition), 11.3.3; Character Card V3 specification, PNG;
SillyTavern 1.19.0, src/character-card-parser.js, read (`tEXt` alone).
"""

import zlib
from collections.abc import Iterable, Iterator

from attrs import frozen

from tavern_format._base64 import decode_node, read_node
from tavern_format._zip import safe_name
from tavern_format.diagnostics import Report, info, warn
from tavern_format.errors import CarrierError, FormatError, LimitExceededError
from tavern_format.limits import Limits

HEADER = b"IHDR"
END = b"IEND"
TEXT = b"tEXt"
COMPRESSED = b"zTXt"
INTERNATIONAL = b"iTXt"
TEXT_TYPES = (TEXT, COMPRESSED, INTERNATIONAL)
"""In the order of preference: SillyTavern reads only the first."""
CARD_KEYWORDS = (b"ccv3", b"chara")
"""In the order of preference, wherever they stand in the file."""
NAIDATA = b"naidata"

_ASSET_PREFIXES = (b"chara-ext-asset_:", b"chara-ext-asset_")
_KEYWORD_MAX_BYTES = 1024
"""Far above the 79 of the specification: readers take longer ones too."""
_JSON_STARTS = (b"{", b"[")
_REMARKS = {
    COMPRESSED: ("PNG_TEXT_COMPRESSED", "a compressed card text: SillyTavern does not read it"),
    INTERNATIONAL: (
        "PNG_TEXT_INTERNATIONAL",
        "an international card text: SillyTavern does not read it",
    ),
}


@frozen
class Chunk:
    """One chunk, a view into the PNG."""

    type: bytes
    """Four letters, as in the file."""
    data: memoryview
    offset_bytes: int
    """Of the chunk's length field, from the start of the file."""
    crc_ok: bool
    """Always true for IEND, whose checksum SillyTavern does not look at either."""


@frozen(kw_only=True)
class CardPayload:
    """One card text, decoded from base64; what it decodes to was not looked at."""

    data: bytes
    keyword: str
    """`ccv3` or `chara`, in lower case."""
    chunk_type: str
    """`tEXt`, `zTXt` or `iTXt`."""
    offset_bytes: int
    """Of the chunk, from the start of the file."""
    irregular_base64: bool
    """The text was not plain base64 (see the PNG_TEXT_BASE64 diagnostic)."""
    holds_bare_json: bool
    """The text was JSON itself, which no reader expects: `data` is then worthless."""


def looks_double_encoded(payload: bytes) -> bool:
    """Tell whether a decoded text is base64 of JSON once more."""
    start = payload[:64].strip()
    return not looks_like_json(start) and looks_like_json(decode_node(start))


def looks_like_json(payload: bytes) -> bool:
    """Tell whether bytes begin as a JSON object or array."""
    return payload[:64].removeprefix(b"\xef\xbb\xbf").lstrip().startswith(_JSON_STARTS)


def keyword_of(chunk: Chunk) -> bytes:
    """Give the keyword of a text chunk; without a separator all of the chunk is the keyword."""
    return bytes(chunk.data[:_KEYWORD_MAX_BYTES]).partition(b"\0")[0]


def is_card_text(chunk: Chunk) -> bool:
    """Tell whether a chunk is a card's text, readable by SillyTavern or not."""
    return chunk.type in TEXT_TYPES and keyword_of(chunk).lower() in CARD_KEYWORDS


def has_blanks_around(keyword: bytes) -> bool:
    """Tell whether only blanks keep a keyword from being a card's."""
    bare = keyword.strip().lower()
    return bare in CARD_KEYWORDS and bare != keyword.lower()


def asset_name(chunk: Chunk, report: Report) -> str | None:
    """Give the name of the asset that a chunk holds; None for any other chunk.

    Names follow the rule of archives, for they become paths as well: one that leads astray is
    PNG_ASSET_UNSAFE and no asset.
    """
    if chunk.type != TEXT:
        return None
    keyword = keyword_of(chunk)
    for prefix in _ASSET_PREFIXES:
        if keyword.startswith(prefix):
            name = safe_name(keyword[len(prefix) :].decode("utf-8", "replace"))
            if name is None:
                message = f"the asset at byte {chunk.offset_bytes} has no safe name; it is left out"
                warn(report, "PNG_ASSET_UNSAFE", "", message)
            return name
    return None


def find_card_texts(chunks: Iterable[Chunk], report: Report) -> list[Chunk]:
    """Pick the card texts worth reading, best first: one for each keyword and chunk type."""
    firsts: dict[tuple[bytes, bytes], Chunk] = {}
    seen: set[bytes] = set()
    for chunk in chunks:
        if chunk.type not in TEXT_TYPES:
            continue
        keyword = keyword_of(chunk).lower()
        _remark_chunk(chunk, keyword, report)
        if keyword not in CARD_KEYWORDS:
            continue
        if keyword in seen:
            message = f"a second {keyword.decode()} text at byte {chunk.offset_bytes}; one is read"
            warn(report, "PNG_TEXT_REPEATED", "", message)
        seen.add(keyword)
        firsts.setdefault((keyword, chunk.type), chunk)
    order = [(keyword, kind) for keyword in CARD_KEYWORDS for kind in TEXT_TYPES]
    return [firsts[rank] for rank in order if rank in firsts]


def read_payloads(chunks: Iterable[Chunk], limits: Limits, report: Report) -> Iterator[CardPayload]:
    """Decode card texts one by one, as they are asked for.

    One that cannot be read is remarked (PNG_TEXT_UNREADABLE), or raised when no other can.
    """
    first_fault: FormatError | None = None
    none_read = True
    for chunk in chunks:
        try:
            payload = _payload(chunk, limits, report)
        except FormatError as fault:
            message = f"a card text cannot be read ({fault.code}, byte {chunk.offset_bytes})"
            warn(report, "PNG_TEXT_UNREADABLE", "", message)
            first_fault = first_fault or fault
        else:
            none_read = False
            yield payload
    if none_read and first_fault is not None:
        raise first_fault


def read_naidata_text(chunk: Chunk, limits: Limits) -> bytes:
    """Decode a NovelAI text. Its own reader, unlike Node, refuses what is not base64."""
    decoded = read_node(text_of(chunk, limits))
    if decoded.irregular:
        message = "the NovelAI text is not base64"
        raise CarrierError(
            "PNG_TEXT_BASE64", message, carrier="png", offset_bytes=chunk.offset_bytes
        )
    return decoded.data


def text_of(chunk: Chunk, limits: Limits) -> bytes:
    """Give the text of a text chunk, decompressed.

    Raises CarrierError (PNG_TEXT_COMPRESSION) and LimitExceededError (`png_text_bytes`).
    """
    body = chunk.data[len(keyword_of(chunk)) + 1 :]
    if chunk.type == COMPRESSED:
        return _inflate(chunk, body[1:], limits, method=bytes(body[:1]))
    if chunk.type == INTERNATIONAL:
        flags, rest = bytes(body[:2]), bytes(body[2:])
        text = rest.partition(b"\0")[2].partition(b"\0")[2]  # after language and translated keyword
        if flags[:1] != b"\0":
            return _inflate(chunk, memoryview(text), limits, method=flags[1:])
        body = memoryview(text)
    _require_size(len(body), limits)
    return bytes(body)


def _remark_chunk(chunk: Chunk, keyword: bytes, report: Report) -> None:
    if has_blanks_around(keyword):
        message = f"blanks around the keyword of the text at byte {chunk.offset_bytes}: not read"
        warn(report, "PNG_KEYWORD_BLANKS", "", message)
    if chunk.type == TEXT and b"\0" in bytes(chunk.data[len(keyword) + 1 :]):
        message = f"a NUL in the text at byte {chunk.offset_bytes}: SillyTavern refuses this PNG"
        warn(report, "PNG_TEXT_NUL", "", message)
    if keyword in CARD_KEYWORDS and chunk.type in _REMARKS:
        code, message = _REMARKS[chunk.type]
        info(report, code, "", f"{message} (byte {chunk.offset_bytes})")


def _payload(chunk: Chunk, limits: Limits, report: Report) -> CardPayload:
    text = text_of(chunk, limits)
    keyword = keyword_of(chunk).lower().decode()
    decoded = read_node(text)
    if decoded.irregular:
        message = f"the {keyword} text is not plain base64: what is not base64 was passed over"
        warn(report, "PNG_TEXT_BASE64", "", message)
    return CardPayload(
        data=decoded.data,
        keyword=keyword,
        chunk_type=chunk.type.decode(),
        offset_bytes=chunk.offset_bytes,
        irregular_base64=decoded.irregular,
        holds_bare_json=decoded.irregular and looks_like_json(text),
    )


def _inflate(chunk: Chunk, body: memoryview, limits: Limits, *, method: bytes) -> bytes:
    inflater = zlib.decompressobj()
    try:
        text = inflater.decompress(body, limits.png_text_bytes + 1)
    except zlib.error:
        raise _compression_fault(chunk) from None
    _require_size(len(text), limits)
    if method != b"\0" or not inflater.eof:
        raise _compression_fault(chunk)
    return text


def _compression_fault(chunk: Chunk) -> CarrierError:
    message = "a compressed text is damaged"
    return CarrierError(
        "PNG_TEXT_COMPRESSION", message, carrier="png", offset_bytes=chunk.offset_bytes
    )


def _require_size(size_bytes: int, limits: Limits) -> None:
    if size_bytes > limits.png_text_bytes:
        raise LimitExceededError(
            limit="png_text_bytes", actual=size_bytes, maximum=limits.png_text_bytes, unit="bytes"
        )
