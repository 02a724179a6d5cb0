"""Areas of zip archives: `charx` and `byaf`.

`charx`: all that `formats_card` compares (the input's JSON is what Python's zipfile finds first as
`card.json` at the root), and of SillyTavern's reading (`st_charx`): name and `spec`, the pictures
it took (path and size) among our files, each asset it used (type, name, ext, and the path its
address leads to) against ours of the same place, and the size of the icon. Every other file of the
archive is among our files with its bytes, and writing the archive anew gives card and files again.
Not compared: `storageCategory` and `baseName`, the names in SillyTavern's own folders.

`byaf`: the card that SillyTavern makes (`st_byaf`), without the `create_date` it stamps; its
pictures (label, size), but for the stock picture it adds where there is none; its chats, line by
line, but for the time stamped on the greeting of a scenario without messages. There is no round
trip: the card is made, not read.
"""

import io
import json
import zipfile
from base64 import b64decode
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

import attrs

from tavern_format import (
    DEFAULT_LIMITS,
    CardCarrier,
    CardSpec,
    CharacterCard,
    card_to_json,
    dump_card,
    dump_card_charx,
    parse_card,
)
from tavern_format._byaf_chat import chat_of_scenario
from tavern_format.byaf import Byaf, read_byaf
from tavern_format.charx import read_data_uri, resolve_asset
from tests.conformance import formats_card
from tests.conformance._cases import Case, json_of
from tests.conformance._findings import Findings, show
from tests.conformance._outcome import Outcome, require_types
from tests.conformance._phrases import View
from tests.conformance._recommended import check_recommended
from tests.conformance.formats_book import json_or_none

_CARD = "card.json"
_PICTURE_LIMIT = 16
USER_NAME = "User"
"""The user of the installation that was recorded."""


def check_charx(case: Case, findings: Findings) -> None:
    """Compare a CHARX."""
    data = case.data()
    outcome = formats_card.parse(case, data)
    archived = _archived(data)
    document = json_or_none(archived.get(_CARD, b""))
    further = _charx_checks(outcome, archived)
    formats_card.check_outcome(case, findings, outcome, document, further)
    if not outcome.accepted:
        return
    _check_files(findings, outcome.value, archived)
    _check_charx_rewriting(findings, outcome.value)
    record = case.oracle("st_charx")
    if record is not None and "error" not in record:
        _check_charx_record(findings, outcome.value, record)


def _archived(data: bytes) -> dict[str, bytes]:
    """List the files that Python's zipfile finds; the first of one name."""
    found: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                if not entry.is_dir() and entry.filename not in found:
                    found[entry.filename] = archive.read(entry)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError):
        pass
    return found


def _is_safe(name: str) -> bool:
    return not name.startswith(("/", "\\")) and ".." not in name.replace("\\", "/").split("/")


def _charx_checks(outcome: Outcome, archived: dict[str, bytes]) -> formats_card.Checks:
    def root_card_only() -> str | None:
        wanted = _CARD in archived
        refused = outcome.says("CHARX_NO_CARD")
        return None if outcome.accepted is wanted and refused is not wanted else "only a root card"

    def no_traversal() -> str | None:
        return None if all(map(_is_safe, outcome.value.files)) else "a path leads out"

    def kept() -> str | None:
        others = {name for name in archived if name != _CARD}
        return None if others and others <= set(outcome.value.files) else "files are missing"

    def data_uri() -> str | None:
        tight = attrs.evolve(DEFAULT_LIMITS, zip_expanded_bytes=_PICTURE_LIMIT)
        for asset in outcome.value.assets:
            found = read_data_uri(asset.uri, DEFAULT_LIMITS)
            plain = b64decode(asset.uri.rpartition(",")[2])
            refused = formats_card.refuses(partial(read_data_uri, asset.uri, tight))
            if found is None or found[1] != plain or not refused:
                return "each data: address must be decoded, within a limit"
        return None if outcome.value.assets else "there must be assets"

    def first_wins() -> str | None:
        first = json_or_none(archived[_CARD])
        return None if json_of(dump_card(outcome.value)) == first else "the first must be read"

    return {
        "root card only": root_card_only,
        "no traversal": no_traversal,
        "bytes are kept": kept,
        "data uri": data_uri,
        "first wins": first_wins,
    }


def _check_files(findings: Findings, card: CharacterCard, archived: dict[str, bytes]) -> None:
    theirs = {name: data for name, data in archived.items() if name != _CARD and _is_safe(name)}
    ours = {name: card.files[name] for name in card.files}
    findings.same("files", sorted(ours), sorted(theirs))
    for name in ours.keys() & theirs.keys():
        findings.require(f"files/{name}", ours[name] == theirs[name], "other bytes")


def _check_charx_rewriting(findings: Findings, card: CharacterCard) -> None:
    again = parse_card(dump_card_charx(card), carrier=CardCarrier.CHARX).value
    ours = card_to_json(card, CardSpec.V3)
    findings.same("rewriting", card_to_json(again), ours)
    same = {name: again.files[name] for name in again.files} == {
        name: card.files[name] for name in card.files
    }
    findings.require("rewriting", same, "other files")


def _check_charx_record(findings: Findings, card: CharacterCard, record: Any) -> None:
    findings.same("st/name", card.name, record["card_name"])
    findings.same("st/spec", card.raw.get("spec"), record["spec"])
    sizes = [[path, len(card.files.get(path, b""))] for path, _ in record["extracted"]]
    findings.same("st/extracted", sizes, record["extracted"])
    for used in record["auxiliary"]:
        asset = card.assets[used["order"]]
        ours = [asset.type, asset.name, asset.ext, resolve_asset(asset.uri, {used["zipPath"]})]
        theirs = [used[key] for key in ("type", "name", "ext", "zipPath")]
        findings.same(f"st/assets/{used['order']}", ours, theirs)
    if isinstance(record["avatar"], dict):
        paths = [
            resolve_asset(asset.uri, card.files) for asset in card.assets if asset.type == "icon"
        ]
        icons = [len(card.files[path]) for path in paths if path is not None]
        there = record["avatar"]["bytes"] in icons
        findings.require("st/avatar", there, f"{show(icons)} without {show(record['avatar'])}")


def check_byaf(case: Case, findings: Findings) -> None:
    """Compare a BYAF."""
    data = case.data()
    outcome = formats_card.parse(case, data)
    record = case.fields["oracles"]["st_byaf"]
    view = View(outcome, "card" in record, data=data)
    check_recommended(findings, case.recommended, view)
    if not outcome.accepted or "card" not in record:
        return
    require_types(findings, outcome.value)
    ours = card_to_json(outcome.value)
    for document in (ours, record["card"]):
        findings.require("st/create_date", _is_time(document.get("create_date")), "must be a time")
    findings.same("st", {**ours, "create_date": None}, {**record["card"], "create_date": None})
    archive = read_byaf(data, DEFAULT_LIMITS, lambda _: None)
    _check_pictures(findings, archive, record["images"])
    _check_chats(findings, archive, record["chats"], outcome.value.name)


def _is_time(value: object) -> bool:
    """Take SillyTavern's normalised time, any real one, and none at all."""
    if value is None or value == "<ISO>":
        return True
    with suppress(TypeError, ValueError):
        return bool(datetime.fromisoformat(value))  # type: ignore[arg-type]
    return False


def _check_pictures(findings: Findings, archive: Byaf, images: Any) -> None:
    ours = [
        {"filename": image.path.rpartition("/")[2], "label": image.label,
         "bytes": len(archive.files[image.path])}
        for image in archive.images
    ]  # fmt: skip
    findings.same("st/images", ours, [image for image in images if image["filename"]])


def _check_chats(findings: Findings, archive: Byaf, chats: Any, name: str) -> None:
    """Compare chat by chat; without a scenario, SillyTavern makes one chat of nothing."""
    scenarios = archive.scenarios or ({},)
    findings.same("st/chats", len(scenarios), len(chats))
    for scenario, chat in zip(scenarios, chats, strict=False):
        ours = chat_of_scenario(scenario, user_name=USER_NAME, character_name=name)
        stamped = not scenario.get("messages")
        findings.same("st/chats", _lines(ours.decode(), stamped), _lines(chat, stamped))


def _lines(chat: str, stamped: bool) -> Any:  # noqa: FBT001
    lines = [json.loads(line) for line in chat.split("\n")]
    for line in lines if stamped else ():
        line.pop("send_date", None)
    return lines
