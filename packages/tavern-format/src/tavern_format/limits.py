"""How much of an input is read before it is refused: one frozen table.

The numbers are ours, not SillyTavern's (it has hardly any limit and can be stalled by one small
file). They leave room for the largest real resources: a book of 10,000 full entries is about
10 MB, 500,000 JSON nodes, three levels deep.
"""

from attrs import field, frozen
from attrs.validators import ge, instance_of

KIB = 1024
MIB = 1024 * KIB


def _limit(default: int) -> int:
    """Make a field that takes whole numbers of at least 1."""
    positive: int = field(default=default, validator=[instance_of(int), ge(1)])
    return positive


@frozen(kw_only=True)
class Limits:
    """Upper bounds, each inclusive; adjust with `attrs.evolve(DEFAULT_LIMITS, ...)`."""

    input_bytes: int = _limit(256 * MIB)
    """Size of any input, carriers included."""
    json_bytes: int = _limit(64 * MIB)
    """Size of one JSON document, also of one inside a carrier."""
    yaml_bytes: int = _limit(MIB)
    """Size of one YAML document: its reader is about a hundred times slower than that of JSON."""
    json_depth_levels: int = _limit(512)
    """Nesting of arrays and objects; the outermost counts 1. Python 3.11 itself stops near 990."""
    json_nodes: int = _limit(8_000_000)
    """Values in one document, counted no lower than they are: commas in texts count as well."""
    string_chars: int = _limit(16 * MIB)
    """Code points of one JSON string."""
    entries: int = _limit(200_000)
    """Entries of one world book, prompts of one preset, scripts of one list."""
    chat_messages: int = _limit(1_000_000)
    """Lines of one chat."""
    png_chunks: int = _limit(65_536)
    """Chunks of one PNG."""
    png_text_bytes: int = _limit(64 * MIB)
    """One text chunk after decompression."""
    zip_entries: int = _limit(10_000)
    """Files in one archive."""
    zip_expanded_bytes: int = _limit(512 * MIB)
    """All files of one archive together, after decompression."""
    zip_ratio: int = _limit(1_100)
    """Expanded size of one file over its stored size; deflate itself cannot pass about 1,032."""
    diagnostics: int = _limit(10_000)
    """Remarks kept of one parse; more are summed up in one DIAGNOSTICS_DROPPED."""


DEFAULT_LIMITS = Limits()
"""The limits in force when a caller names none."""
