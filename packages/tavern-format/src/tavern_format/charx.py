"""CHARX: a character card and its assets in a zip archive, plain or behind a picture.

Owns which file is the card and how asset addresses lead to files. The card's JSON is passed on as
bytes; nothing is fetched from the network and nothing is written to disk.

Source: Character Card V3 specification, CHARX; SillyTavern 1.19.0, src/charx.js.
"""

from collections.abc import Container, Mapping

from attrs import field, frozen

from tavern_format._base64 import decode_node
from tavern_format._zip import ZipArchive, ZipFiles, normal_path, open_zip, write_zip
from tavern_format.diagnostics import Diagnostic, Report, warn
from tavern_format.errors import CarrierError, LimitExceededError
from tavern_format.limits import Limits

CARD_FILE = "card.json"
_EMBEDDED = ("embeded://", "embedded://", "__asset:")
"""The first is RisuAI's spelling, and the one in use."""
_DATA = "data:"
_MAC_FOLDER = "__MACOSX"
_HEX = frozenset(b"0123456789abcdefABCDEF")
_COMPRESSED_KINDS = frozenset(
    {"png", "jpg", "jpeg", "webp", "gif", "apng", "avif", "jfif"}
    | {"mp3", "ogg", "opus", "m4a", "flac", "mp4", "webm", "zip"}
)
"""Extensions that deflate would not make smaller."""


@frozen(kw_only=True)
class Charx:
    """An opened CHARX."""

    card: bytes = field(repr=False)
    """The text of `card.json`."""
    files: ZipFiles
    """All other files by path, the card's assets and the rest; expanded when looked up."""
    prefix: bytes = field(repr=False)
    """What lies before the archive: the picture of a polyglot, else empty."""


def read_charx(data: bytes, limits: Limits, report: Report) -> Charx:
    """Open a CHARX; the card is `card.json` at the root and nothing else.

    A file in `files` that turns out damaged raises CarrierError when it is looked up. Diagnostics:
    those of the archive (ZIP_*), and CHARX_OTHER_CARD when SillyTavern would read another file.
    Raises CarrierError (ZIP_*, CHARX_NO_CARD) and LimitExceededError.
    """
    found: list[Diagnostic] = []
    archive = open_zip(data, limits, found.append)
    if CARD_FILE not in archive.entries:
        raise _no_card(archive)
    for remark in found:  # not before: the archive may be another kind, which is opened again
        report(remark)
    card = archive.read(CARD_FILE, report)
    if _first_for_sillytavern(archive) != CARD_FILE:
        message = "an earlier file ends in `card.json`: SillyTavern reads that one"
        warn(report, "CHARX_OTHER_CARD", "", message)
    return Charx(
        card=card, files=archive.files(but=CARD_FILE), prefix=archive.data[: archive.start_bytes]
    )


def resolve_asset(uri: object, names: Container[str]) -> str | None:
    """Give the path that an asset's `uri` leads to among `names`; None for any other address.

    Takes `embeded://`, `embedded://` and `__asset:` in any case. `.` and `..` are resolved within
    the archive; what would leave it, and `http:`, `ccdefault:` or `data:`, is None.
    """
    address = uri.strip() if isinstance(uri, str) else ""
    for prefix in _EMBEDDED:
        if address.lower().startswith(prefix):
            path = normal_path(address[len(prefix) :])
            return path if path is not None and path in names else None
    return None


def read_data_uri(uri: object, limits: Limits) -> tuple[str, bytes] | None:
    """Give media type and content of a `data:` address; None for any other.

    Base64 is read as loosely as everywhere in cards. Raises LimitExceededError
    (`zip_expanded_bytes`: such an asset stands for a file of the archive).
    """
    address = uri.strip() if isinstance(uri, str) else ""
    if not address[: len(_DATA)].lower().startswith(_DATA) or "," not in address:
        return None
    if len(address) // 4 * 3 > limits.zip_expanded_bytes:
        raise LimitExceededError(
            limit="zip_expanded_bytes",
            actual=len(address) // 4 * 3,
            maximum=limits.zip_expanded_bytes,
            unit="bytes",
        )
    head, _, body = address[len(_DATA) :].partition(",")
    media_type, *parameters = (part.strip() for part in head.split(";"))
    encoded = any(parameter.lower() == "base64" for parameter in parameters)
    plain = _percent_decoded(body)
    return media_type.lower(), decode_node(plain) if encoded else plain


def write_charx(card: bytes, files: Mapping[str, bytes], prefix: bytes = b"") -> bytes:
    """Write a CHARX: `card.json` first, then the files in their order, behind `prefix`.

    Text is compressed, pictures and sound are stored. Offsets count from the archive, not from
    `prefix`, as SillyTavern wants. Raises ValueError for a path no reader would take, and for a
    `card.json` among the files.
    """
    entries = [(CARD_FILE, card), *files.items()]
    return prefix + write_zip(entries, stored=_COMPRESSED_KINDS)


def _first_for_sillytavern(archive: ZipArchive) -> str | None:
    fits = (
        name
        for name in archive.names
        if name.endswith(CARD_FILE) and not name.startswith(_MAC_FOLDER)
    )
    return next(fits, None)


def _no_card(archive: ZipArchive) -> CarrierError:
    message = "the archive has no `card.json` at its root"
    if _first_for_sillytavern(archive) is not None:
        message += " (another file's name ends so; SillyTavern would read that one)"
    return CarrierError("CHARX_NO_CARD", message, carrier="charx")


def _percent_decoded(body: str) -> bytes:
    raw = body.encode("utf-8", "replace")
    first, *rest = raw.split(b"%")
    return first + b"".join(
        bytes.fromhex(part[:2].decode()) + part[2:]
        if len(part) > 1 and _HEX.issuperset(part[:2])
        else b"%" + part
        for part in rest
    )
