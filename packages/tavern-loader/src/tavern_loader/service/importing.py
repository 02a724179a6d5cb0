"""Files to stored resources: says what each file is, and keeps what can be kept.

Owns what belongs together and the order in which it is kept. Must not know where bytes come from.
"""

import json

from attrs import frozen

from tavern_format import Diagnostic, FormatError, ResourceKind, detect, parse_preset
from tavern_loader.domain import documents
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.js_values import iso_time, text_of
from tavern_loader.domain.preset_editing import blank_preset
from tavern_loader.errors import InputError, LoaderError
from tavern_loader.ports import Clock, Identities
from tavern_loader.service.making import MAKERS, TRANSFER, Given, Made, user_made
from tavern_loader.service.reading import SourceFile, stem
from tavern_loader.store_ports import Stores

_TRANSFER_MARK = f'"{TRANSFER["format"]}"'.encode()
_HEAD_BYTES = 4096
_NO_PRESET = "PRESET_SHAPE"
"""The code of JSON that can be read and is something else."""


@frozen(kw_only=True)
class Imported:
    """One resource that was kept."""

    kind: Kind
    id: str
    name: str
    remarks: tuple[Diagnostic, ...] = ()
    """What was odd about it."""


@frozen(kw_only=True)
class ImportedFile:
    """What became of a file."""

    name: str
    detected: str
    """What the file is."""
    container: str
    """text, png, zip or picture."""
    resources: tuple[Imported, ...]
    """More than one of a backup of personas."""


class Importing:
    """Takes files into the stores of one installation."""

    def __init__(self, stores: Stores, clock: Clock, identities: Identities) -> None:
        """Keep in stores; new resources get random ids and the time of their import."""
        self._stores = stores
        self._clock = clock
        self._identities = identities

    def take(self, file: SourceFile, *, name: str = "") -> ImportedFile:
        """Keep what is in a file; `name` is for a resource that has none of its own.

        Raises InputError with the reason why a file cannot be kept, StoreError.
        """
        try:
            detected, container = _detect(file)
            make = MAKERS.get(detected)
            if make is None:
                raise InputError("NOT_KEPT", _not_kept(detected, file.data), file=file.name)
            made = tuple(make(self._given(file, name)))
        except FormatError as error:
            message = str(error).removeprefix(f"{error.code}: ")
            raise InputError(error.code, message, file=file.name) from error
        except (ValueError, RecursionError) as error:
            message = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise InputError("NOT_USABLE", message, file=file.name) from error
        return ImportedFile(
            name=file.name,
            detected=detected,
            container=container,
            resources=tuple(self._keep(one) for one in made),
        )

    def new_user(self, name: str, description: str = "") -> Imported:
        """Keep a user that came in no file. Raises ValueError, StoreError."""
        return self._keep(user_made(self._given(SourceFile(name="", data=b"")), name, description))

    def new_preset(self, name: str) -> Imported:
        """Keep a preset with one empty prompt. Raises StoreError."""
        document_id = self._identities.new()
        now = iso_time(self._clock.now_ms())
        document = blank_preset(document_id=document_id, name=name, now=now)
        return self._keep(Made(kind=Kind.PRESET, id=document_id, document=document))

    def _given(self, file: SourceFile, name: str = "") -> Given:
        return Given(
            file=file,
            name=name or stem(file.name),
            new_id=self._identities.new,
            now=iso_time(self._clock.now_ms()),
        )

    def _keep(self, made: Made) -> Imported:
        with self._stores.exclusive():
            # What belongs to a document comes before it: without it, nobody sees them.
            if made.cover is not None:
                self._stores.character_covers.put(made.id, made.cover)
            if made.original is not None:
                self._stores.character_originals.put(made.id, made.original)
            try:
                self._stores.documents(made.kind).create(made.id, made.document)
            except LoaderError:
                self._stores.character_covers.delete(made.id)
                self._stores.character_originals.delete(made.id)
                raise
            if made.kind is Kind.CHARACTER:
                self._stores.character_state.change(
                    lambda state: documents.with_character(state, made.id)
                )
        name = text_of(made.document.get("name"))
        return Imported(kind=made.kind, id=made.id, name=name, remarks=made.remarks)


def _not_kept(detected: str, data: bytes) -> str:
    """Say why a file of this kind is not kept. Raises FormatError for JSON that cannot be read."""
    if detected != ResourceKind.UNKNOWN:
        return f"this is a file of kind {detected}; none of that kind are kept"
    if data.lstrip()[:1] in (b"{", b"[", b""):
        try:
            parse_preset(data)
        except FormatError as error:
            if error.code != _NO_PRESET:
                raise
    return "this is no card, world book, preset, or backup of personas"


def _detect(file: SourceFile) -> tuple[str, str]:
    """Say what a file is; a file that this or the plugin handed out says so itself."""
    if _TRANSFER_MARK in file.data[:_HEAD_BYTES]:
        found = json.loads(file.data)
        if isinstance(found, dict) and {key: found.get(key) for key in TRANSFER} == TRANSFER:
            return text_of(found.get("resourceType")) or "unknown", "text"
    detection = detect(file.data)
    return str(detection.kind), str(detection.container)
