"""Cases of the vector files: where they are found, how they are named, which bytes they describe.

Knows the layout of the files and nothing of any package.
"""

import json
import struct
import zipfile
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from attrs import field, frozen

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@frozen
class Case:
    """One case of one area."""

    area: str
    """Folder and file, or folder and the case's own area: `formats/card_json`."""
    id: str
    """As in the file; made of the area and a number or key where the file names none."""
    fields: Mapping[str, Any] = field(repr=False)

    @property
    def recommended(self) -> str | None:
        """What the vectors say we should do; None where a case does not say."""
        return self.fields.get("recommended")

    def oracle(self, name: str) -> Mapping[str, Any] | None:
        """Give the record of one program; None where it was not asked."""
        found: Mapping[str, Any] | None = self.fields.get("oracles", {}).get(name)
        return found

    def data(self) -> bytes:
        """Give the bytes of the input."""
        if "input_text" in self.fields:
            return encode(self.fields["input_text"])
        if "input_b64" in self.fields:
            return b64decode(self.fields["input_b64"])
        recipe = self.fields["input_gen"]
        return RECIPES[recipe["kind"]](recipe)


def encode(text: str) -> bytes:
    """Encode as the recording programs did: half a surrogate pair becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")


def json_of(data: bytes) -> Any:
    """Read JSON without our code: U+FFFD for bad bytes, no byte order mark, the last key wins."""
    return json.loads(data.decode("utf-8", "replace").removeprefix("\ufeff"))


# --- generated inputs ------------------------------------------------------------------------


def _card(**edits: Any) -> bytes:
    """Write a minimal card of version 2."""
    data = {
        "name": "Ada",
        "description": "Desc",
        "personality": "Pers",
        "scenario": "Scen",
        "first_mes": "Hi",
        "mes_example": "",
        "creator_notes": "",
        "system_prompt": "",
        "post_history_instructions": "",
        "alternate_greetings": [],
        "tags": [],
        "creator": "",
        "character_version": "",
        "extensions": {},
        **edits,
    }
    document = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
    return json.dumps(document).encode()


def _nest(recipe: Mapping[str, Any]) -> bytes:
    """Nest by text: the standard writer would run out of stack."""
    depth = recipe["depth"]
    nested = b"[" * depth + b"]" * depth
    return _card(extensions={"deep": "@"}).replace(b'"@"', nested)


def _png(recipe: Mapping[str, Any]) -> bytes:
    card = _card(description="x" * recipe.get("bytes", 0))
    others = [text_chunk(b"k%d" % at, b"v") for at in range(recipe.get("n", 0))]
    return png_of(*others, text_chunk(b"chara", b64encode(card)))


def _zip(recipe: Mapping[str, Any]) -> bytes:
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for at in range(recipe["n"]):
            target.writestr(f"files/{at}", b"x")
        target.writestr("card.json", _card())
    return archive.getvalue()


RECIPES: Mapping[str, Callable[[Mapping[str, Any]], bytes]] = {
    "nest": _nest,
    "hugestr": lambda recipe: _card(description="x" * recipe["bytes"]),
    "manykeys": lambda recipe: _card(extensions={f"k{at}": at for at in range(recipe["n"])}),
    "pngbig": _png,
    "pngmany": _png,
    "zipmany": _zip,
}
"""Kinds of `input_gen`: each writes a minimal card with one thing in excess."""


def chunk(kind: bytes, body: bytes) -> bytes:
    """Write one PNG chunk."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def text_chunk(keyword: bytes, text: bytes) -> bytes:
    """Write a `tEXt` chunk."""
    return chunk(b"tEXt", keyword + b"\0" + text)


def png_of(*chunks: bytes, after: tuple[bytes, ...] = ()) -> bytes:
    """Write a PNG of one pixel with further chunks before and after its image data."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixel = chunk(b"IDAT", zlib.compress(b"\0\0"))
    return b"".join((PNG_SIGNATURE, header, *chunks, pixel, *after, chunk(b"IEND", b"")))


# --- files -----------------------------------------------------------------------------------


@frozen
class Unreadable:
    """A file of the vectors that could not be taken apart into cases."""

    area: str
    reason: str
    known: bool = False
    """True where a loader of its own should have understood it."""


def load_folder(folder: Path, loaders: Mapping[str, "Loader"]) -> Iterator[Case | Unreadable]:
    """Read every vector file below a folder, in the order of their names.

    `loaders` names, by area, the files that are no list of cases in the usual form.
    """
    for path in sorted(folder.glob("*/*.json")):
        area = f"{path.parent.name}/{path.stem}"
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            yield from list(loaders.get(area, listed_cases)(area, document))
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            yield Unreadable(area, f"{type(fault).__name__}: {fault}", area in loaders)


Loader = Callable[[str, Any], Iterator[Case]]


def listed_cases(area: str, document: Any) -> Iterator[Case]:
    """Read the usual form: `cases`, or a bare list of them, each with an `id` of its own."""
    for fields in document if isinstance(document, list) else document["cases"]:
        yield Case(area, fields["id"], fields)


def named_vectors(area: str, document: Any) -> Iterator[Case]:
    """Read `vectors`, each with a `name` within its file."""
    name = area.rpartition("/")[2]
    for fields in document["vectors"]:
        yield Case(area, f"{name}/{fields['name']}", fields)


def numbered_pairs(area: str, document: Any) -> Iterator[Case]:
    """Read cases that are bare pairs: input and expected value."""
    name = area.rpartition("/")[2]
    for at, (given, expected) in enumerate(document["cases"]):
        yield Case(area, f"{name}/{at}", {"given": given, "expected": expected})


def keyed_values(area: str, document: Any) -> Iterator[Case]:
    """Read one object of facts: a case for every key."""
    name = area.rpartition("/")[2]
    for key, value in document.items():
        yield Case(area, f"{name}/{key}", {"key": key, "expected": value, "all": document})


def by_own_area(area: str, document: Any) -> Iterator[Case]:
    """Read a bare list whose cases say their area themselves."""
    folder = area.partition("/")[0]
    for fields in sorted(document, key=lambda fields: fields["area"]):
        yield Case(f"{folder}/{fields['area']}", fields["id"], fields)
