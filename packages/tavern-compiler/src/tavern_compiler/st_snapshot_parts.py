"""Captured prompts beside our own results: a projection as a snapshot, a snapshot as parts.

A snapshot is not compiled again: its messages become parts as they are. Must not know the document
that a snapshot is read from.
"""

from collections.abc import Iterable, Iterator, Mapping

from attrs import evolve

from tavern_compiler.parts import Part, PartSource, SourceKind, name_parts
from tavern_compiler.snapshot import PromptSnapshot, SnapshotEntry, SnapshotMessage
from tavern_compiler.st_result import Projection
from tavern_format import Position
from tavern_matcher import Activated, Decision, EntryId, Placement, Reason

PROVENANCE = "prompt-snapshot"
_POSITIONS: Mapping[Position, str] = {
    Position.BEFORE: "before",
    Position.AFTER: "after",
    Position.AN_TOP: "an_top",
    Position.AN_BOTTOM: "an_bottom",
    Position.AT_DEPTH: "depth",
    Position.EM_TOP: "em_top",
    Position.EM_BOTTOM: "em_bottom",
    Position.OUTLET: "outlet",
}


def snapshot_of(
    projection: Projection,
    lore: Placement,
    decisions: Iterable[Decision] = (),
    *,
    trigger: str = "normal",
    model: str = "",
) -> PromptSnapshot:
    """Put a projection and the lore that went into it in the shape of a captured prompt.

    `decisions` say which entries are constant and what they are called.
    """
    known = {one.entry: one for one in decisions}
    return PromptSnapshot(
        messages=tuple(
            SnapshotMessage(role=one.role, content=one.content, name=one.name)
            for one in projection.messages
        ),
        entries=tuple(_entry(one, known) for one in _placed(lore)),
        trigger=trigger,
        model=model,
    )


def _placed(lore: Placement) -> Iterator[Activated]:
    yield from (*lore.before, *lore.after, *lore.an_top, *lore.an_bottom)
    yield from (one for block in lore.at_depth for one in block.texts)
    yield from (*lore.em_top, *lore.em_bottom)
    yield from (one for ones in lore.outlets.values() for one in ones)


def _entry(one: Activated, known: Mapping[EntryId, Decision]) -> SnapshotEntry:
    decision = known.get(one.entry)
    uid = one.entry.index if one.entry.uid is None else one.entry.uid
    return SnapshotEntry(
        world=one.entry.book,
        uid=uid,
        title=decision.title if decision else "",
        constant=decision is not None and decision.reason is Reason.CONSTANT,
        content=one.content,
        position="" if one.position is None else _POSITIONS[one.position],
    )


def snapshot_parts(snapshot: PromptSnapshot) -> tuple[Part, ...]:
    """Turn the messages into parts, in order and as they are.

    A part's first source is its message; entries whose text stands in it follow.
    """
    parts = (
        Part(text=message.content, sources=_part_sources(at, message, snapshot.entries))
        for at, message in enumerate(snapshot.messages)
    )
    return tuple(evolve(part, provenance=PROVENANCE) for part in name_parts(parts))


def _part_sources(
    at: int, message: SnapshotMessage, entries: tuple[SnapshotEntry, ...]
) -> tuple[PartSource, ...]:
    own = PartSource(
        kind=SourceKind.SNAPSHOT,
        field=f"messages/{at}/content",
        text=message.content,
        role=message.role,
    )
    lore = (
        PartSource(
            kind=SourceKind.WORLD_BOOK,
            field="content",
            text=entry.content,
            resource_id=entry.world,
            entry_id=str(entry.uid),
            qualified_entry_id=f"{entry.world}:{entry.uid}",
        )
        for entry in entries
        if entry.content and entry.content in message.content
    )
    return (own, *lore)
