"""What differs from the previous record of a session, told without a text.

Owns the comparison. Parts are the same if they come from the same place: the running number in a
part's name moves with every part before it and does not count. Must not know the store.
"""

import re
from collections.abc import Sequence

from tavern_trace.schema import Changes, Part, TraceRecord

_ORDINAL = re.compile(r"(?<=:part:)[0-9]{4,}(?=:)")

_Origin = tuple[str, str | None, str | None, str | None]


def changed_since(previous: TraceRecord, record: TraceRecord) -> Changes:
    """Compare a record with an earlier one; names come in the order of their parts."""
    before, after = _by_origin(previous), _by_origin(record)
    both = [key for key in after if key in before]
    return Changes(
        previous_id=previous.id,
        common_prefix_utf16=common_prefix_utf16(previous.sections, record.sections),
        added=tuple(after[key].name for key in after if key not in before),
        removed=tuple(before[key].name for key in before if key not in after),
        changed=tuple(
            after[key].name for key in both if after[key].text_hash != before[key].text_hash
        ),
    )


def common_prefix_utf16(before: Sequence[Part], after: Sequence[Part]) -> int:
    """Count the units at the head of two system texts that are equal, in whole parts.

    Hashes tell no more: where a part differs, its own equal head is not counted.
    """
    for old, new in zip(before, after, strict=False):
        if old.text_hash != new.text_hash:
            return new.offset_utf16 or 0
    shorter = min(before, after, key=len)
    return (shorter[-1].offset_utf16 or 0) + shorter[-1].utf16 if shorter else 0


def _by_origin(record: TraceRecord) -> dict[tuple[_Origin, int], Part]:
    """Key each part by where it comes from; the second of one origin is another part."""
    found: dict[tuple[_Origin, int], Part] = {}
    seen: dict[_Origin, int] = {}
    for part in (*record.sections, *record.contexts):
        origin = _origin(part)
        seen[origin] = seen.get(origin, 0) + 1
        found[origin, seen[origin]] = part
    return found


def _origin(part: Part) -> _Origin:
    name = _ORDINAL.sub("", part.name)
    if not part.sources:
        return name, None, None, None
    source = part.sources[0]
    return name, source.resource_id, source.entry_id, source.field
