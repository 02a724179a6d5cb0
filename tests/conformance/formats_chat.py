"""Areas of chats: `chat_jsonl` and `chat_import`.

`chat_jsonl`: the objects of `getChatData` against our header and messages, in order (key order
counts), and its other items against our unread lines. Lines that SillyTavern drops are unread
lines with a diagnostic, or blank; of a file with a byte order mark it drops the first line, which
we read. Every line that is not blank is written again: as the same JSON, or the same text. What
SillyTavern's import stores is what `dump_chat` writes, character by character, where no line is
blank or unread and no line repeats a key or holds an object in place of a text. The last message
and the metadata against `getChatInfo`. Not compared: sizes and names of files, counts that include
blank lines, and the text export, which is made for people.

`chat_import`: header and messages against the lines that SillyTavern writes, without `send_date`,
which it takes from the clock, and `extra`, which it leaves empty. The character's name is that of
the imported file, the user's the recorded installation's.
"""

from functools import partial
from typing import Any

from tavern_format import (
    DEFAULT_LIMITS,
    Chat,
    Limits,
    dump_chat,
    import_chat,
    message_from_json,
    parse_chat,
)
from tests.conformance._cases import Case, json_of
from tests.conformance._findings import Findings
from tests.conformance._outcome import Outcome, attempt, require_types
from tests.conformance._phrases import View
from tests.conformance._recommended import check_recommended
from tests.conformance.formats_archive import USER_NAME

_BOM = b"\xef\xbb\xbf"
_FROM_THE_CLOCK = ("send_date", "extra")
_NO_MESSAGE = "[The message is empty]"
_PREVIEW_CHARS = 400


def parse(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Outcome:
    """Parse a chat."""
    return attempt(lambda: parse_chat(data, limits=limits))


def check_jsonl(case: Case, findings: Findings) -> None:
    """Compare a chat of SillyTavern's own."""
    data = case.data()
    outcome = parse(data)
    record = case.fields["oracles"]["st_chat"]
    taken = record["import_body"].get("res") is True
    checks = {"line feeds only": lambda: _line_fault(outcome.value, data)}
    again = partial(parse, data)
    view = View(outcome, taken, data=data, again=again, checks=checks)
    check_recommended(findings, case.recommended, view)
    if not outcome.accepted:
        return
    chat: Chat = outcome.value
    require_types(findings, chat)
    _check_lines(findings, chat, data)
    _check_data(findings, chat, data, record["getChatData"])
    _check_info(findings, chat, data, record["getChatInfo"])
    if "import_stored" in record and _is_plain(chat, data, outcome):
        findings.same("st/import_stored", dump_chat(chat).decode(), record["import_stored"])


def objects_of(chat: Chat) -> list[Any]:
    """List header and messages as JSON."""
    written = dump_chat(Chat(header=chat.header, messages=chat.messages))
    return [json_of(line) for line in written.split(b"\n")] if written else []


def _lines(data: bytes) -> list[bytes]:
    body = data.removeprefix(_BOM)
    return [line.strip() for line in body.split(b"\n") if line.strip()]


def _line_fault(chat: Chat, data: bytes) -> str | None:
    read = len(objects_of(chat)) + len(chat.unread)
    return None if read == len(_lines(data)) else f"{read} lines, not {len(_lines(data))}"


def _as_json(line: bytes) -> Any:
    """Read a line as JSON; a line that is none stands for itself."""
    try:
        return json_of(line)
    except ValueError:
        return line.decode("utf-8", "replace")


def _check_lines(findings: Findings, chat: Chat, data: bytes) -> None:
    """Write the chat: no line may be lost or changed."""
    written = dump_chat(chat)
    ours = [_as_json(line) for line in _lines(written)]
    findings.same("round-trip", ours, [_as_json(line) for line in _lines(data)])
    again = parse(written)
    findings.require("reparse", again.value == chat, "parsing what was written gives another chat")


def _check_data(findings: Findings, chat: Chat, data: bytes, theirs: Any) -> None:
    ours = objects_of(chat)
    if isinstance(theirs, dict):
        findings.same("st/count", len(ours), theirs["count"])
        return
    if data.startswith(_BOM):
        ours = ours[1:]
    findings.same("st/objects", ours, [item for item in theirs if isinstance(item, dict)])
    others = [item for item in theirs if not isinstance(item, dict)]
    unread = [_as_json(line.value.encode()) for line in chat.unread]
    truthy = [item for item in unread if item and not isinstance(item, str)]
    findings.same("st/others", truthy, others)
    _check_models(findings, chat)


def _check_models(findings: Findings, chat: Chat) -> None:
    """Hold names and texts against the JSON they were read from."""
    for at, message in enumerate(chat.messages):
        raw = message.origin.raw if message.origin else {}
        findings.same(f"messages/{at}", message, message_from_json(raw))
        for attribute, key in (("name", "name"), ("text", "mes"), ("title", "title")):
            if isinstance(raw.get(key), str):
                findings.same(f"messages/{at}/{key}", getattr(message, attribute), raw[key])
        for key in ("is_user", "is_system"):
            findings.same(f"messages/{at}/{key}", getattr(message, key), raw.get(key, False))
        if isinstance(raw.get("swipes"), list) and all(isinstance(x, str) for x in raw["swipes"]):
            findings.same(f"messages/{at}/swipes", message.swipes, raw["swipes"])


def _check_info(findings: Findings, chat: Chat, data: bytes, info: Any) -> None:
    if chat.messages and info["mes"] != _NO_MESSAGE:
        findings.same("st/last", *_previews(chat.messages[-1].text, str(info["mes"])))
    if "chat_metadata" in info and not data.startswith(_BOM):
        metadata = chat.header.metadata if chat.header else None
        findings.same("st/metadata", metadata, info["chat_metadata"])


def _previews(ours: str, theirs: str) -> tuple[str, str]:
    """SillyTavern cuts a long message for its list."""
    kept = theirs.removesuffix("...")
    return (ours, theirs) if len(ours) <= _PREVIEW_CHARS else (ours[: len(kept)], kept)


def _is_plain(chat: Chat, data: bytes, outcome: Outcome) -> bool:
    """Tell whether SillyTavern's import changes nothing but blanks."""
    blank = any(not line.strip() for line in data.split(b"\n"))
    return not (blank or chat.unread or data.startswith(_BOM)) and not outcome.says(
        "JSON_KEY_REPEATED|FIELD_TYPE"
    )


def check_import(case: Case, findings: Findings) -> None:
    """Compare a chat of another application."""
    data = case.data()
    record = case.fields["oracles"]["st_import"]
    files = record["body"].get("fileNames", ["Ada - "])
    name = files[0].partition(" - ")[0]
    outcome = attempt(lambda: import_chat(data, user_name=USER_NAME, character_name=name))
    taken = record["body"].get("res") is True
    check_recommended(findings, case.recommended, View(outcome, taken, data=data))
    if not outcome.accepted:
        return
    for chat in outcome.value:
        require_types(findings, chat)
        findings.require("messages", taken or chat.messages, "nothing was read")
    if taken:
        _check_imported(findings, outcome.value[0], record["lines"])


def _check_imported(findings: Findings, chat: Chat, lines: Any) -> None:
    header, *messages = objects_of(chat)
    their_header, *their_messages = lines
    known = {key: header.get(key) for key in their_header}
    findings.same("st/header", known, their_header)
    findings.require("st/extra", all(not line["extra"] for line in their_messages), "extra is set")
    theirs = [_without(line) for line in their_messages]
    ours = [
        {key: line.get(key) for key in expected}
        for line, expected in zip(map(_without, messages), theirs, strict=False)
    ]
    findings.same("st/messages", len(messages), len(their_messages))
    findings.same("st/messages", ours, theirs)


def _without(line: Any) -> Any:
    return {key: value for key, value in line.items() if key not in _FROM_THE_CLOCK}
