"""What is handed to the bridge for one assembly.

Owns the value and its JSON, as DESIGN.md says under "The link". Must not know how it comes about.
"""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from tavern_loader.domain.names import PROFILE_SECTION


@frozen(kw_only=True)
class NamedText:
    """A section or context. Its text is protected: the host may read it as a template."""

    name: str
    text: str = field(repr=False)


@frozen(kw_only=True)
class AssembleAnswer:
    """How the host's assembly is to be changed."""

    parts: tuple[NamedText, ...] = ()
    """In place of the profile section, in order."""
    keep: tuple[str, ...] | None = None
    """Names, or beginnings of names that end in a colon, of the sections that stay; None: all."""
    set_sections: tuple[NamedText, ...] = ()
    """Sections that are there and get a text."""
    contexts: tuple[NamedText, ...] = ()
    variables: Mapping[str, str] = field(factory=dict)
    failed: str | None = None
    """Why there are no parts; nothing else of the answer counts then."""


def answer_to_json(answer: AssembleAnswer) -> dict[str, Any]:
    """Write an answer."""
    document: dict[str, Any] = {
        "replace": {"name": PROFILE_SECTION, "parts": _texts(answer.parts)},
        "keep": None if answer.keep is None else list(answer.keep),
        "set": _texts(answer.set_sections),
        "contexts": _texts(answer.contexts),
        "variables": dict(answer.variables),
    }
    return document if answer.failed is None else {**document, "failed": answer.failed}


def _texts(texts: tuple[NamedText, ...]) -> list[dict[str, str]]:
    return [{"name": one.name, "text": one.text} for one in texts]
