"""The central directory of a zip archive: where it is, and what it says of each file.

Owns the layout of the records; what may be believed of them is the business of `_zip`. The
directory is read here and not by `zipfile`, which differs between Python versions, reads all of it
before a limit can be asked, and refuses a whole archive for one bad name.

Source: PKWARE APPNOTE 6.3, 4.3.
"""

from collections.abc import Iterator
from struct import Struct

from attrs import frozen

from tavern_format.errors import CarrierError

LOCAL = Struct("<4s5H3I2H")
LOCAL_MARK = b"PK\x03\x04"
CENTRAL = Struct("<4s6H3I5H2I")
CENTRAL_MARK = b"PK\x01\x02"
TAIL = Struct("<4s4H2IH")
TAIL_MARK = b"PK\x05\x06"
FULL_16, FULL_32 = 0xFFFF, 0xFFFF_FFFF
"""A field of all ones: the value stands in the 64-bit extension."""

_TAIL64 = Struct("<4sQ2H2I4Q")
_TAIL64_MARK = b"PK\x06\x06"
_TAIL64_MAX_BYTES = 4096
"""How far the 64-bit end record is looked for: it may carry data of the writer's own."""
_LOCATOR_BYTES = 20
_EXTRA = Struct("<2H")
_EXTRA_64 = 1
_TAIL_CANDIDATES = 1_000
"""Places looked at for the end record: a file full of its mark must not be slow."""


@frozen(kw_only=True)
class ZipEntry:
    """One file as the central directory tells of it; the sizes are claims."""

    method: int
    flags: int
    crc: int
    stored_bytes: int
    expanded_bytes: int
    offset_bytes: int
    """Of the local header, from the start of the input."""


@frozen
class Directory:
    """Where the directory lies; all places from the start of the input."""

    start: int
    end: int
    base: int
    """What to add to every offset in the directory."""
    count: int
    """Files, as the end record says."""
    tail_end: int
    """Where the archive ends."""


def find_directory(blob: bytes) -> Directory:
    """Find the last end record that has a directory before it, one with files if there is any.

    Raises CarrierError (ZIP_SIGNATURE, ZIP_TRUNCATED, ZIP_DIRECTORY).
    """
    at = blob.rfind(TAIL_MARK)
    if at < 0:
        raise _no_archive(blob)
    empty: Directory | None = None
    for _ in range(_TAIL_CANDIDATES):
        found = _directory_before(blob, at)
        if found is not None and found.start < found.end:
            return found
        empty = empty or found
        at = blob.rfind(TAIL_MARK, 0, at + len(TAIL_MARK) - 1)
        if at < 0:
            break
    if empty is None:
        raise fault("ZIP_DIRECTORY", "the archive has no readable directory", None)
    return empty


def _no_archive(blob: bytes) -> CarrierError:
    if LOCAL_MARK in blob:
        return fault("ZIP_TRUNCATED", "the archive has no end", len(blob))
    return fault("ZIP_SIGNATURE", "not a zip archive" if blob else "the input is empty", 0)


def _directory_before(blob: bytes, at: int) -> Directory | None:
    if at + TAIL.size > len(blob):
        return None
    _, _, _, _, count, size, offset, comment_bytes = TAIL.unpack_from(blob, at)
    tail_end = min(at + TAIL.size + comment_bytes, len(blob))
    end = at
    if count == FULL_16 or FULL_32 in (size, offset):
        locator = max(at - _LOCATOR_BYTES, 0)
        end64 = blob.rfind(_TAIL64_MARK, max(locator - _TAIL64_MAX_BYTES, 0), locator)
        if 0 <= end64 <= locator - _TAIL64.size:
            end = end64
            *_, count, size, offset = _TAIL64.unpack_from(blob, end64)
    for start in (end - size, offset):
        empty = start == end and not count
        if 0 <= start <= end and (empty or blob.startswith(CENTRAL_MARK, start)):
            return Directory(start, end, start - offset, count, tail_end)
    return None


def walk_directory(blob: bytes, directory: Directory) -> Iterator[tuple[bytes, ZipEntry]]:
    """Go through the records in order, raw name and entry; a damaged record ends the walk."""
    at = directory.start
    while at + CENTRAL.size <= directory.end and blob.startswith(CENTRAL_MARK, at):
        fields = CENTRAL.unpack_from(blob, at)
        _, _, _, flags, method, _, _, crc, stored, expanded, name_bytes, extra_bytes = fields[:12]
        comment_bytes, offset = fields[12], fields[16]
        at += CENTRAL.size
        raw_name = blob[at : at + name_bytes]
        extra = blob[at + name_bytes : at + name_bytes + extra_bytes]
        expanded, stored, offset = _wide(extra, expanded, stored, offset)
        at += name_bytes + extra_bytes + comment_bytes
        if at > directory.end:
            return
        yield (
            raw_name,
            ZipEntry(
                method=method,
                flags=flags,
                crc=crc,
                stored_bytes=stored,
                expanded_bytes=expanded,
                offset_bytes=offset + directory.base,
            ),
        )


def _wide(extra: bytes, *fields: int) -> tuple[int, ...]:
    """Take the sizes that need 64 bits from the extra field that holds them."""
    if FULL_32 not in fields:
        return fields
    at = 0
    while at + 4 <= len(extra):
        kind, size = _EXTRA.unpack_from(extra, at)
        if kind == _EXTRA_64:
            body = extra[at + 4 : at + 4 + size]
            wide = (body[i : i + 8] for i in range(0, len(body) - 7, 8))
            return tuple(
                int.from_bytes(next(wide, b"\xff" * 4), "little") if value == FULL_32 else value
                for value in fields
            )
        at += 4 + size
    return fields


def fault(code: str, message: str, offset_bytes: int | None) -> CarrierError:
    """Make an error of this carrier."""
    return CarrierError(code, message, carrier="zip", offset_bytes=offset_bytes)
