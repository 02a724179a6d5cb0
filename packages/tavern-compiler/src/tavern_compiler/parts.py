"""The result's smallest unit: a named text that knows where it came from.

Owns the names of parts and the record of a source. Must not know which parts there are.

Source: the plugin contract, sections A2 and A3.
"""

import re
from collections.abc import Iterable
from enum import StrEnum

import attrs
from attrs import frozen

from tavern_compiler._text import text_hash, utf8_length, utf16_length

SEPARATOR = "\n\n"
"""Between the texts of two parts."""
PART_PREFIX = "pmp-dsh-tavern:part:"
PROVENANCE = "section-contributors"
_ORDINAL_DIGITS = 4
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.:-]")


class SourceKind(StrEnum):
    """What sort of resource a text is from."""

    PRESET = "preset"
    CHARACTER = "character"
    USER = "user"
    WORLD_BOOK = "worldbook"
    SNAPSHOT = "snapshot"
    """A captured prompt: its message is all that is known."""


class Relationship(StrEnum):
    """What a source gave to its part."""

    INPUT = "input"
    PLACEMENT_ONLY = "placement-only"
    """Only the place: a card's text replaced the prompt's own."""


@frozen(kw_only=True)
class PartSource:
    """One text that went into a part, as it stands in its resource."""

    kind: SourceKind
    field: str
    """`prompts/3/content`, `description`, `messageExample`, ..."""
    text: str = attrs.field(repr=False)
    """Before macros were expanded."""
    resource_id: str | None = None
    resource_revision: str | None = None
    relationship: Relationship = Relationship.INPUT
    identifier: str | None = None
    """Of a preset's prompt."""
    role: str | None = None
    """The role a preset's prompt asks for; every part is a system section all the same."""
    entry_id: str | None = None
    """Of a world book's entry."""
    qualified_entry_id: str | None = None
    """`<resource id>:<entry id>`."""

    @property
    def size_chars(self) -> int:
        """Code points; a surrogate pair is one."""
        return size_chars(self.text)

    @property
    def size_utf16(self) -> int:
        """UTF-16 code units."""
        return utf16_length(self.text)

    @property
    def size_utf8_bytes(self) -> int:
        """Bytes in UTF-8."""
        return utf8_length(self.text)

    @property
    def hash(self) -> str:
        """SHA-256 of the text, lower-case hex."""
        return text_hash(self.text)


@frozen(kw_only=True)
class Part:
    """One section of the prompt."""

    name: str = ""
    """A label for this result only: it holds the part's number."""
    text: str = attrs.field(repr=False)
    sources: tuple[PartSource, ...]
    """In the order in which they went in; the first one names the part."""
    provenance: str = PROVENANCE

    @property
    def size_chars(self) -> int:
        """Code points; a surrogate pair is one."""
        return size_chars(self.text)

    @property
    def size_utf16(self) -> int:
        """UTF-16 code units."""
        return utf16_length(self.text)

    @property
    def size_utf8_bytes(self) -> int:
        """Bytes in UTF-8."""
        return utf8_length(self.text)

    @property
    def hash(self) -> str:
        """SHA-256 of the text, lower-case hex."""
        return text_hash(self.text)


def size_chars(text: str) -> int:
    """Count code points as JavaScript's string iterator does."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass"))


def name_parts(parts: Iterable[Part], first: int = 0) -> tuple[Part, ...]:
    """Number the parts that have a text, leave the others out, and name them.

    `first` is the number of the first one.

    >>> source = PartSource(kind=SourceKind.PRESET, field="prompts/3/content", text="x")
    >>> name_parts([Part(text="x", sources=(source,))])[0].name
    'pmp-dsh-tavern:part:0000:preset:prompts_3_content'
    """
    kept = (part for part in parts if part.text)
    labels: dict[str, str] = {}
    named = []
    for ordinal, part in enumerate(kept, start=first):
        source = part.sources[0]
        # Joined and not formatted: an enumeration's own format and hash are slow.
        origin = source.kind + ":" + source.field
        label = labels.get(origin) or labels.setdefault(origin, _NOT_IN_NAMES.sub("_", origin))
        name = f"{PART_PREFIX}{ordinal:0{_ORDINAL_DIGITS}}:{label}"
        named.append(
            Part(name=name, text=part.text, sources=part.sources, provenance=part.provenance)
        )
    return tuple(named)
