"""What differs between two compiles, as a value.

Providers keep what they have worked out for a text as long as its beginning stays the same: the
common prefix says how much of that survives, and which part ends it. Parts are the same part if
they come from the same place; the running number in a name moves with every part before it and does
not count. Must not know how a profile is made.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

from attrs import frozen

from tavern_compiler._text import to_utf8
from tavern_compiler.parts import SEPARATOR, Part
from tavern_compiler.profile import Profile

_CHUNK_BYTES = 4096


@frozen(kw_only=True)
class ChangedPart:
    """A part that both profiles have, with another text."""

    previous: Part
    current: Part


@frozen(kw_only=True)
class ProfileChanges:
    """What became of a profile. Parts come in the order of the profile that they are from."""

    added: tuple[Part, ...] = ()
    removed: tuple[Part, ...] = ()
    changed: tuple[ChangedPart, ...] = ()
    reordered: bool = False
    """Whether parts that both have stand in another order."""
    common_prefix_bytes: int = 0
    """Bytes in UTF-8 at the head of both system texts that are equal; late parts do not count."""
    previous_bytes: int = 0
    current_bytes: int = 0
    first_difference: str | None = None
    """Name of the current part in which the system texts part ways, or before which the previous
    one goes on; None: the current one ends first, or there is no difference."""
    settings_changed: bool = False
    """Whether call settings or mode differ."""


def diff(previous: Profile, current: Profile) -> ProfileChanges:
    """Compare two profiles, late parts included."""
    before, after = _by_origin(_all(previous)), _by_origin(_all(current))
    both = [key for key in after if key in before]
    old, new = to_utf8(previous.system_text), to_utf8(current.system_text)
    common = common_prefix_bytes(old, new)
    return ProfileChanges(
        added=tuple(part for key, part in after.items() if key not in before),
        removed=tuple(part for key, part in before.items() if key not in after),
        changed=tuple(
            ChangedPart(previous=before[key], current=after[key])
            for key in both
            if before[key].text != after[key].text
        ),
        reordered=both != [key for key in before if key in after],
        common_prefix_bytes=common,
        previous_bytes=len(old),
        current_bytes=len(new),
        first_difference=None if old == new else _part_at(current.parts, common),
        settings_changed=_settings(previous) != _settings(current),
    )


def common_prefix_bytes(old: bytes, new: bytes) -> int:
    """Count the equal bytes at the head of both: whole pieces first, then one by one."""
    shorter = min(len(old), len(new))
    at = 0
    while at < shorter and old[at : at + _CHUNK_BYTES] == new[at : at + _CHUNK_BYTES]:
        at = min(at + _CHUNK_BYTES, shorter)
    end = min(at + _CHUNK_BYTES, shorter)
    while at < end and old[at] == new[at]:
        at += 1
    return at


def _all(profile: Profile) -> tuple[Part, ...]:
    return (*profile.parts, *profile.late_parts)


def _settings(profile: Profile) -> tuple[object, ...]:
    return profile.call_config, profile.system_prompt_mode


def _by_origin(parts: Iterable[Part]) -> Mapping[Hashable, Part]:
    """Key each part by where it comes from; the second of one origin is another part."""
    seen: Counter[Hashable] = Counter()
    found: dict[Hashable, Part] = {}
    for part in parts:
        origin = _origin(part)
        found[origin, seen[origin]] = part
        seen[origin] += 1
    return found


def _origin(part: Part) -> Hashable:
    first = part.sources[0]
    # A prompt is known by its identifier: its number is its place in the file.
    place = first.field if first.identifier is None else first.identifier
    return first.kind, first.resource_id, place, first.entry_id


def _part_at(parts: Iterable[Part], at: int) -> str | None:
    """Name the part that holds a byte of the system text, or follows the separator that does."""
    end = -len(SEPARATOR)
    for part in parts:
        end += len(SEPARATOR) + part.size_utf8_bytes
        if at < end:
            return part.name
    return None
