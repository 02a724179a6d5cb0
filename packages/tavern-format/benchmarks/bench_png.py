"""How much reading a card's PNG costs over a bare walk of its chunks.

Run as a script: `python bench_png.py [card.png ...]`. Without a path it builds a PNG of its own.
The bare walk (signature, lengths, checksums) is written here; both run alternately in one process,
and the medians are compared. Goal: the whole of `parse_card` within three times the bare walk.
The peer tavern-card 0.1.1 is timed along: it checks no checksum and reads no book.
"""

import json
import random
import struct
import sys
import zlib
from pathlib import Path

from _timing import Action, interleaved, print_ratios
from tavern_card import parse_png_card

from tavern_format import parse_card
from tavern_format._base64 import decode_node, encode
from tavern_format.limits import DEFAULT_LIMITS
from tavern_format.png_chunks import empty_png, iter_card_payloads, walk_chunks, write_card_chunks

ROUNDS = 201
PICTURE_BYTES = 500_000
PAYLOAD_BYTES = 2 * 1024 * 1024


def bare_walk(data: bytes) -> int:
    view = memoryview(data)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    offset, count = 8, 0
    while offset < len(data):
        length, kind = struct.unpack_from(">I4s", data, offset)
        end = offset + 8 + length
        assert zlib.crc32(view[offset + 4 : end]) == int.from_bytes(view[end : end + 4])
        offset, count = end + 4, count + 1
        if kind == b"IEND":
            break
    return count


def built_png() -> bytes:
    noise = random.Random(1).randbytes(PICTURE_BYTES)  # noqa: S311 - pixels, not secrets
    pieces = [noise[at : at + 8192] for at in range(0, len(noise), 8192)]
    chunks = b"".join(
        struct.pack(">I4s", len(piece), b"IDAT") + piece + zlib.crc32(b"IDAT" + piece).to_bytes(4)
        for piece in pieces
    )
    png = empty_png()
    fields = dict.fromkeys(
        ("description", "personality", "scenario", "first_mes"), "Some text. " * 90
    )
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Ada", **fields}}
    text = json.dumps(card).encode()
    return write_card_chunks(png[:-12] + chunks + png[-12:], text, text)


def compare(label: str, data: bytes) -> None:
    def ignore(_: object) -> None:
        pass

    actions: dict[str, Action] = {
        "bare walk": lambda: bare_walk(data),
        "walk_chunks": lambda: walk_chunks(data, DEFAULT_LIMITS, ignore),
        "first card text": lambda: next(iter_card_payloads(data, DEFAULT_LIMITS, ignore)),
        "parse_card": lambda: parse_card(data),
        "tavern-card 0.1.1": lambda: parse_png_card(data),
    }
    print(f"{label}: {len(data):,} bytes, {bare_walk(data)} chunks, {ROUNDS} rounds")
    print_ratios(interleaved(actions, ROUNDS))


def base64_speed() -> None:
    text = encode(random.Random(2).randbytes(PAYLOAD_BYTES))  # noqa: S311 - a payload, no secret
    broken = b"\n".join(text[at : at + 76] for at in range(0, len(text), 76))
    for label, case in (("plain", text), ("with line breaks", broken)):
        taken_s = interleaved({label: lambda: decode_node(case)}, 11)[label]  # noqa: B023
        print(f"base64 of {PAYLOAD_BYTES:,} bytes, {label}: {taken_s * 1e3:.2f} ms")


def main() -> None:
    compare("built PNG", built_png())
    for path in sys.argv[1:]:
        compare(Path(path).name, Path(path).read_bytes())
    base64_speed()


if __name__ == "__main__":
    main()
