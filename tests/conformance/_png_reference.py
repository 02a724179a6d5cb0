"""A second, plain reader of the card texts in a PNG, to hold ours against."""

import json
import struct
import zlib
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from attrs import frozen

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ASSET = b"chara-ext-asset_"
_ORDER = [(keyword, kind) for keyword in ("ccv3", "chara") for kind in (b"tEXt", b"zTXt", b"iTXt")]


@frozen
class CardText:
    """One text chunk with a card's keyword."""

    keyword: str
    kind: bytes
    text: bytes
    """Decoded from base64."""

    def document(self) -> Any:
        """Read the JSON; None where it is none."""
        with suppress(ValueError):
            return json.loads(self.text.decode("utf-8", "replace").removeprefix("\ufeff"))
        return None


def card_texts(png: bytes) -> list[CardText]:
    """List the card texts, in the order of the file."""
    found = []
    for kind, body in chunks(png):
        keyword, _, rest = body.partition(b"\0")
        name = keyword.lower().decode("latin-1")
        if name in ("ccv3", "chara") and kind in (b"tEXt", b"zTXt", b"iTXt"):
            found.append(CardText(name, kind, decode_base64(_text(kind, rest))))
    return found


def preferred(texts: list[CardText]) -> list[CardText]:
    """Give the first of each keyword and kind, best first: `ccv3`, and `tEXt` of each keyword."""
    firsts = {(text.keyword, text.kind): text for text in reversed(texts)}
    return [firsts[rank] for rank in _ORDER if rank in firsts]


def asset_names(png: bytes) -> list[str]:
    """List the names of the asset chunks."""
    names = (body.partition(b"\0")[0] for kind, body in chunks(png) if kind == b"tEXt")
    return [
        name[len(_ASSET) :].decode("utf-8", "replace").removeprefix(":")
        for name in names
        if name.startswith(_ASSET)
    ]


def decode_base64(text: bytes) -> bytes:
    """Decode as Node does: up to the first `=`, other characters passed over."""
    symbols = text.partition(b"=")[0].replace(b"-", b"+").replace(b"_", b"/")
    symbols = bytes(byte for byte in symbols if byte in _ALPHABET)
    symbols = symbols[:-1] if len(symbols) % 4 == 1 else symbols
    return b64decode(symbols + b"=" * (-len(symbols) % 4))


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """List type and body of each whole chunk before IEND."""
    at = 8
    while at + 12 <= len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        if kind == b"IEND" or at + 12 + length > len(png):
            return
        yield kind, png[at + 8 : at + 8 + length]
        at += 12 + length


def _text(kind: bytes, rest: bytes) -> bytes:
    with suppress(zlib.error):
        if kind == b"zTXt":
            return zlib.decompress(rest[1:])
        if kind == b"iTXt":
            flags, body = rest[:1], rest[2:].split(b"\0", 2)[-1]
            return zlib.decompress(body) if flags == b"\1" else body
    return rest if kind == b"tEXt" else b""
