"""What the host assembled, measured: sizes, hashes and places of every part, and no text.

Owns the facts that come in with texts, and how they become parts without. Must not know records.

Source: the plugin contract, sections A3, D1 and D2.
"""

import re
from collections.abc import Mapping, Sequence

import attrs
from attrs import evolve, frozen

from tavern_trace.hashing import Counts, counts, digest
from tavern_trace.schema import SECTION_SEPARATOR, Part, Provenance, Source

_REFERENCE = re.compile(r"\{\{([^{}]*)\}\}")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SEPARATOR_UTF16 = len(SECTION_SEPARATOR)


@frozen(kw_only=True)
class AssembledText:
    """One section or context of the host's assembly, after every plugin has had its turn."""

    name: str
    text: str = attrs.field(repr=False)
    """Before the host puts variables in."""
    interpolate: bool = True


@frozen(kw_only=True)
class OfficialAssembly:
    """The host's assembly: sections of all plugins, in order."""

    sections: tuple[AssembledText, ...] = ()
    contexts: tuple[AssembledText, ...] = ()
    variables: Mapping[str, str] = attrs.field(factory=dict, repr=False)


@frozen(kw_only=True)
class SourceText:
    """A resource that contributed to one of our parts, with its text."""

    kind: str
    resource_id: str | None = None
    resource_revision: str | None = None
    field: str
    text: str = attrs.field(repr=False)
    relationship: str = "input"
    identifier: str | None = None
    role: str | None = None
    entry_id: str | None = None
    qualified_entry_id: str | None = None


@frozen(kw_only=True)
class OwnPart:
    """A section of ours as it went into the assembly."""

    name: str
    text: str = attrs.field(repr=False)
    """As the host was given it, before it puts variables in."""
    sources: tuple[SourceText, ...] = ()


@frozen(kw_only=True)
class Measured:
    """An assembly without its texts."""

    sections: tuple[Part, ...]
    contexts: tuple[Part, ...]
    system_hash: str


def measure(assembly: OfficialAssembly, own_parts: Sequence[OwnPart] = ()) -> Measured | None:
    """Measure an assembly; None if a variable in it is unknown, so that nobody can tell its text.

    Empty parts are left out, and keep their number. A part keeps sources only if name and text
    are still those of one of ours.
    """
    own = {(part.name, part.text): part for part in own_parts}
    sections = _texts(assembly.sections, assembly.variables)
    contexts = _texts(assembly.contexts, assembly.variables)
    if sections is None or contexts is None:
        return None
    parts, offset = [], 0
    for index, name, raw, text in sections:
        part = _part(name, index, text, own.get((name, raw)))
        parts.append(evolve(part, offset_utf16=offset))
        offset += part.utf16 + _SEPARATOR_UTF16
    return Measured(
        sections=tuple(parts),
        contexts=tuple(_part(name, index, text, None) for index, name, _, text in contexts),
        system_hash=digest(SECTION_SEPARATOR.join(text for *_, text in sections)),
    )


def _texts(
    found: Sequence[AssembledText], variables: Mapping[str, str]
) -> list[tuple[int, str, str, str]] | None:
    """List number, name, raw and final text of what is not empty; None for unknown variables."""
    texts = []
    for index, one in enumerate(found):
        text = _interpolated(one.text, variables) if one.interpolate else one.text
        if text is None:
            return None
        if text:
            texts.append((index, one.name, one.text, text))
    return texts


def _interpolated(text: str, variables: Mapping[str, str]) -> str | None:
    names = _REFERENCE.findall(text)
    if any(not _NAME.fullmatch(name) or name not in variables for name in names):
        return None
    return _REFERENCE.sub(lambda found: variables[found[1]], text)


def _part(name: str, index: int, text: str, own: OwnPart | None) -> Part:
    size = counts(text)
    return Part(
        name=name,
        index=index,
        chars=size.chars,
        utf16=size.utf16,
        utf8_bytes=size.utf8_bytes,
        text_hash=digest(text),
        provenance=Provenance.UNKNOWN if own is None else Provenance.SECTION_CONTRIBUTORS,
        sources=() if own is None else tuple(_source(source) for source in own.sources),
    )


def _source(source: SourceText) -> Source:
    size: Counts = counts(source.text)
    return Source(
        kind=source.kind,
        resource_id=source.resource_id,
        resource_revision=source.resource_revision,
        field=source.field,
        relationship=source.relationship,
        chars=size.chars,
        utf16=size.utf16,
        utf8_bytes=size.utf8_bytes,
        identifier=source.identifier,
        role=source.role,
        entry_id=source.entry_id,
        qualified_entry_id=source.qualified_entry_id,
        text_hash=digest(source.text),
    )
