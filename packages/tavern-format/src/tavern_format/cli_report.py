"""What `tavern-format inspect` tells about a file, as facts and as lines. Pure."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tavern_format.card import CharacterCard
from tavern_format.chat import Chat
from tavern_format.detection import Detection
from tavern_format.diagnostics import Diagnostic, Parsed, Severity
from tavern_format.preset import Preset
from tavern_format.regex_script import RegexScripts
from tavern_format.world_book import WorldBook


def inspection(found: Detection, parsed: Parsed[Any], size_bytes: int) -> dict[str, Any]:
    """Collect the facts about a parsed file; every value is JSON."""
    counts = Counter(remark.severity for remark in parsed.diagnostics)
    return {
        "kind": str(found.kind),
        "container": str(found.container),
        "size_bytes": size_bytes,
        **_facts(parsed.value),
        "problems": {str(severity): counts[severity] for severity in Severity},
    }


def _facts(value: object) -> dict[str, Any]:
    if isinstance(value, CharacterCard):
        return _card_facts(value)
    if isinstance(value, WorldBook):
        return _book_facts(value)
    if isinstance(value, Preset):
        order = value.order
        return {
            "prompts": len(value.prompts),
            "enabled_prompts": None if order is None else sum(line.enabled for line in order),
            "regex_scripts": len(value.regex_scripts),
        }
    if isinstance(value, Chat):
        return {"messages": len(value.messages), "unread_lines": len(value.unread)}
    if isinstance(value, RegexScripts):
        return {"scripts": len(value.scripts)}
    name = getattr(value, "name", None)
    return {} if name is None else {"name": name}


def _card_facts(card: CharacterCard) -> dict[str, Any]:
    texts = {
        name: len(getattr(card, name))
        for name in (
            "description",
            "personality",
            "scenario",
            "greeting",
            "message_examples",
            "creator_notes",
            "system_prompt",
            "post_history_instructions",
        )
    }
    book = card.character_book
    return {
        "carrier": str(card.carrier),
        "spec": str(card.spec),
        "spec_version": card.spec_version,
        "name": card.name,
        "characters": {name: count for name, count in texts.items() if count},
        "alternate_greetings": len(card.alternate_greetings),
        "book_entries": None if book is None else len(book.entries),
        "regex_scripts": len(card.regex_scripts),
        "files": len(card.files),
    }


def _book_facts(book: WorldBook) -> dict[str, Any]:
    return {
        "spelling": str(book.spelling),
        "name": book.name,
        "entries": len(book.entries),
        "enabled_entries": sum(entry.enabled for entry in book.entries),
        "constant_entries": sum(entry.constant for entry in book.entries),
        "unread_entries": len(book.unread),
    }


def inspection_lines(facts: dict[str, Any]) -> Iterator[str]:
    """Write the facts for people, one a line."""
    width = max(map(len, facts)) + 1
    for name, value in facts.items():
        if isinstance(value, dict):
            text = ", ".join(f"{inner.replace('_', ' ')} {count}" for inner, count in value.items())
        else:
            text = "none" if value in (None, "") else printable(str(value))
        yield f"{name.replace('_', ' ') + ':':<{width}} {text or 'none'}"


def problem_line(problem: Diagnostic) -> str:
    """Write one problem: severity, code, pointer, message."""
    return printable(f"{problem.severity} {problem.code} {problem.path or '/'} {problem.message}")


def printable(text: str) -> str:
    """Escape what a terminal would act on: names in files are anybody's."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )
