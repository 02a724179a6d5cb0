"""Zip archives, bounded: what is in one, one file of it, a new one.

Owns which files of an archive are offered, and how one is expanded or written; knows nothing of
cards. Sizes are believed only as upper bounds: a file that expands to more than it declares is
refused while it is expanded.

Source: PKWARE APPNOTE 6.3; yauzl, the reader of SillyTavern 1.19.0, for names and their order.
"""

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from tavern_format._zip_directory import (
    CENTRAL,
    CENTRAL_MARK,
    FULL_16,
    FULL_32,
    LOCAL,
    LOCAL_MARK,
    TAIL,
    TAIL_MARK,
    ZipEntry,
    fault,
    find_directory,
    walk_directory,
)
from tavern_format.diagnostics import Report, warn
from tavern_format.errors import LimitExceededError
from tavern_format.limits import Limits

_ENCRYPTED, _UTF8 = 0x0001, 0x0800
_STORED, _DEFLATED = 0, 8
_DRIVE = re.compile("[A-Za-z]:")
_MADE_ON_UNIX = 3
_VERSION = 20
_FIRST_DAY = (1 << 5) | 1  # 1980-01-01 as DOS writes it
_PLAIN_FILE = 0o100644 << 16


@frozen(kw_only=True)
class ZipArchive:
    """An archive that was opened: nothing of it is expanded before it is asked for."""

    data: bytes = field(repr=False)
    start_bytes: int
    """Where the archive begins; what lies before it is another file's (a picture)."""
    names: tuple[str, ...]
    """All safe names in the order of the directory, also repeated ones, folders left out."""
    entries: Mapping[str, ZipEntry]
    """The first entry of each safe name."""

    def read(self, name: str, report: Report | None = None) -> bytes:
        """Expand one file.

        With `report`, a wrong checksum is a ZIP_CRC diagnostic; without, it is an error. Raises
        KeyError for an unknown name and CarrierError (ZIP_ENCRYPTED, ZIP_METHOD, ZIP_ENTRY,
        ZIP_DEFLATE, ZIP_SIZE, ZIP_CRC).
        """
        entry = self.entries[name]
        content = _expand(entry, _stored(self.data, entry))
        if zlib.crc32(content) != entry.crc:
            message = "the checksum of a file is wrong"
            if report is None:
                raise fault("ZIP_CRC", message, entry.offset_bytes)
            warn(report, "ZIP_CRC", "", message)
        return content

    def files(self, *, but: str | None = None) -> "ZipFiles":
        """Give the files as a mapping, without the one named `but`."""
        return ZipFiles(self, tuple(name for name in self.entries if name != but))


class ZipFiles(Mapping[str, bytes]):
    """Path to content in the order of the archive; looking one up expands it."""

    __slots__ = ("_archive", "_names")

    def __init__(self, archive: ZipArchive, names: tuple[str, ...]) -> None:
        """Keep the archive and the names to show of it."""
        self._archive = archive
        self._names = dict.fromkeys(names)

    def __getitem__(self, name: str) -> bytes:
        """Expand one file. Raises KeyError, and CarrierError as `ZipArchive.read`."""
        if name not in self._names:
            raise KeyError(name)
        return self._archive.read(name)

    def __contains__(self, name: object) -> bool:
        """Look for a name without expanding its file."""
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        return iter(self._names)

    def __len__(self) -> int:
        """Count the files."""
        return len(self._names)

    def __copy__(self) -> "ZipFiles":
        """Give itself: it never changes."""
        return self

    def __deepcopy__(self, _: object) -> "ZipFiles":
        """Give itself: it never changes."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the archive as it is, so that a damaged file hinders nothing."""
        return ZipFiles, (self._archive, tuple(self._names))

    def __repr__(self) -> str:
        """Show the names only: content may be large."""
        return f"ZipFiles({list(self._names)!r})"


def open_zip(data: bytes, limits: Limits, report: Report) -> ZipArchive:
    """Read the directory of an archive, which may follow another file.

    Diagnostics: ZIP_NAME_UNSAFE (that file is left out), ZIP_NAME_REPEATED (the first one counts),
    ZIP_ENCRYPTED, ZIP_TRAILING_DATA, ZIP_DIRECTORY (it ends early). Raises CarrierError
    (ZIP_SIGNATURE, ZIP_TRUNCATED, ZIP_DIRECTORY) and LimitExceededError (`zip_entries`,
    `zip_expanded_bytes`, `zip_ratio`).
    """
    blob = bytes(data)
    directory = find_directory(blob)
    entries: dict[str, ZipEntry] = {}
    names: list[str] = []
    count = 0
    for count, (raw_name, entry) in enumerate(walk_directory(blob, directory), 1):
        _require("zip_entries", count, limits.zip_entries, "files")
        name = safe_name(_decode_name(raw_name, entry.flags))
        if name is None:
            message = f"file {count} has a name that leads out of the archive; it is left out"
            warn(report, "ZIP_NAME_UNSAFE", "", message)
        elif not raw_name.endswith((b"/", b"\\")):
            names.append(name)
            _add(entries, name, entry, report, count)
    _check_sizes(entries.values(), limits)
    if count % (FULL_16 + 1) != directory.count % (FULL_16 + 1):
        message = f"the archive declares {directory.count} files, {count} were found"
        warn(report, "ZIP_DIRECTORY", "", message)
    if directory.tail_end != len(blob):
        message = "the archive is not the end of the file: SillyTavern refuses it"
        warn(report, "ZIP_TRAILING_DATA", "", message)
    offsets = (entry.offset_bytes for entry in entries.values())
    start = min(offsets, default=directory.start)
    return ZipArchive(data=blob, start_bytes=max(start, 0), names=tuple(names), entries=entries)


def write_zip(
    entries: Iterable[tuple[str, bytes]], *, stored: frozenset[str] = frozenset()
) -> bytes:
    """Write an archive in the order given, dated 1980-01-01, with nothing of the machine in it.

    Files whose extension is in `stored` (lower case, no dot) are not compressed, the others are.
    The bytes are the same for one zlib. Raises ValueError for a name no reader would take, one
    given twice, or more than the format without its 64-bit extension can hold.
    """
    parts: list[bytes] = []
    directory: list[bytes] = []
    seen: set[str] = set()
    offset = 0
    for name, content in entries:
        if safe_name(name) != name or name in seen:
            message = "a path in an archive must be relative, without `..`, and given once"
            raise ValueError(message)
        seen.add(name)
        as_is = name.rpartition(".")[2].lower() in stored
        local, central, body = _written(name, content, offset, as_is=as_is)
        parts += (local, body)
        directory.append(central)
        offset += len(local) + len(body)
    size = sum(map(len, directory))
    if offset + size > FULL_32 or len(seen) >= FULL_16:
        message = "the archive is too large for the zip format"
        raise ValueError(message)
    tail = TAIL.pack(TAIL_MARK, 0, 0, len(seen), len(seen), size, offset, 0)
    return b"".join((*parts, *directory, tail))


def normal_path(path: str) -> str | None:
    """Resolve `.`, `..`, doubled and backward slashes; None where that leads nowhere or outside."""
    resolved: list[str] = []
    for step in path.replace("\\", "/").split("/"):
        if step == ".." and not resolved:
            return None
        if step == "..":
            resolved.pop()
        elif step not in {"", "."}:
            resolved.append(step)
    return "/".join(resolved) or None


def safe_name(name: str) -> str | None:
    """Give a name with forward slashes; None when an extractor could be led astray by it.

    That is an absolute name, one with a drive, `..` or NUL in it, and one that names nothing.
    """
    forward = name.replace("\\", "/")
    unsafe = forward.startswith("/") or "\0" in forward or _DRIVE.match(forward)
    return None if unsafe or ".." in forward.split("/") else normal_path(forward)


def _decode_name(raw_name: bytes, flags: int) -> str:
    """Decode a name; many writers forget the flag for UTF-8."""
    try:
        return raw_name.decode("utf-8")
    except UnicodeDecodeError:
        return raw_name.decode("utf-8" if flags & _UTF8 else "cp437", "replace")


def _add(
    entries: dict[str, ZipEntry], name: str, entry: ZipEntry, report: Report, count: int
) -> None:
    if name in entries:
        message = f"file {count} has the name of an earlier one; the first one counts"
        warn(report, "ZIP_NAME_REPEATED", "", message)
        return
    if entry.flags & _ENCRYPTED:
        message = f"file {count} is encrypted and cannot be read"
        warn(report, "ZIP_ENCRYPTED", "", message)
    entries[name] = entry


def _check_sizes(entries: Iterable[ZipEntry], limits: Limits) -> None:
    total = 0
    for entry in entries:
        total += entry.expanded_bytes
        ratio = -(-entry.expanded_bytes // max(entry.stored_bytes, 1))
        _require("zip_ratio", ratio, limits.zip_ratio, "times the stored size")
    _require("zip_expanded_bytes", total, limits.zip_expanded_bytes, "bytes")


def _stored(blob: bytes, entry: ZipEntry) -> memoryview:
    at = entry.offset_bytes
    if entry.flags & _ENCRYPTED:
        raise fault("ZIP_ENCRYPTED", "a file is encrypted", at)
    if not 0 <= at <= len(blob) - LOCAL.size or not blob.startswith(LOCAL_MARK, at):
        raise fault("ZIP_ENTRY", "a file is not where the directory says", at)
    *_, name_bytes, extra_bytes = LOCAL.unpack_from(blob, at)
    start = at + LOCAL.size + name_bytes + extra_bytes
    if start + entry.stored_bytes > len(blob):
        raise fault("ZIP_ENTRY", "a file reaches beyond the end of the archive", at)
    return memoryview(blob)[start : start + entry.stored_bytes]


def _expand(entry: ZipEntry, stored: memoryview) -> bytes:
    if entry.method == _STORED:
        content = bytes(stored)
    elif entry.method == _DEFLATED:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            content = inflater.decompress(stored, entry.expanded_bytes + 1)
        except zlib.error:
            message = "the compressed content of a file is damaged"
            raise fault("ZIP_DEFLATE", message, entry.offset_bytes) from None
    else:
        message = "a file is compressed in a way that is not read (only deflate is)"
        raise fault("ZIP_METHOD", message, entry.offset_bytes)
    if len(content) != entry.expanded_bytes:
        raise fault("ZIP_SIZE", "a file has not the size it declares", entry.offset_bytes)
    return content


def _written(name: str, content: bytes, offset: int, *, as_is: bool) -> tuple[bytes, bytes, bytes]:
    """Give local header, directory record and body of one file."""
    encoded = name.encode("utf-8")
    if max(len(content), offset, len(encoded) << 16) > FULL_32:
        message = "a file is too large for the zip format"
        raise ValueError(message)
    body = content if as_is else _deflate(content)
    method = _STORED if as_is else _DEFLATED
    fields = (_UTF8, method, 0, _FIRST_DAY, zlib.crc32(content), len(body), len(content))
    local = LOCAL.pack(LOCAL_MARK, _VERSION, *fields, len(encoded), 0)
    rest = (len(encoded), 0, 0, 0, 0, _PLAIN_FILE, offset)
    central = CENTRAL.pack(CENTRAL_MARK, _MADE_ON_UNIX << 8 | _VERSION, _VERSION, *fields, *rest)
    return local + encoded, central + encoded, body


def _deflate(content: bytes) -> bytes:
    deflater = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return deflater.compress(content) + deflater.flush()


def _require(limit: str, actual: int, maximum: int, unit: str) -> None:
    if actual > maximum:
        raise LimitExceededError(limit=limit, actual=actual, maximum=maximum, unit=unit)
