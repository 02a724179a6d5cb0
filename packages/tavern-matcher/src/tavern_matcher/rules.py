"""The rule table: what each profile decides, one column a profile.

Owns the differences between the profiles as data; every step of a scan asks this table and no step
asks for the name of a profile. Why a fault of SillyTavern is repaired in `safe` is in
COMPATIBILITY.md, row by row. Must not know settings or books.

Source: SillyTavern 1.19.0, public/scripts/world-info.js; the plugin contract, section B.
"""

from collections.abc import Mapping
from enum import StrEnum

from attrs import evolve, frozen


class MatchProfile(StrEnum):
    """Whose rules hold."""

    ST_1_19 = "st-1.19"
    """SillyTavern 1.19.0 as it is, with its faults."""
    SAFE = "safe"
    """The same with the faults repaired that COMPATIBILITY.md lists."""
    DSH_TAVERN = "dsh-tavern"
    """The policy of the JavaScript plugin: one pass, every book by itself, rolls given or 0."""


class MarkRule(StrEnum):
    """Whether regular expressions see the U+0001 that SillyTavern puts before each text."""

    ALWAYS = "always"
    WHEN_NAMED = "when-named"
    """Only a pattern that speaks of it sees it, so `^` is the start of the newest message."""
    NEVER = "never"


@frozen(kw_only=True)
class Rules:
    """One column of the table."""

    # Reading an entry
    reads_fields_raw: bool = True
    """An absent or odd field does what JavaScript makes of it; else it reads as tavern-format."""
    broken_entry_ends_scan: bool = True
    """`null` among the entries, or a content that is no text: nothing of any book is used."""
    uid_is_identity: bool = True
    """Entries with one book name and uid are one; else each place in a book is an entry."""
    decorators: bool = True
    loads_book_twice: bool = True
    """A global book that is listed twice is used twice."""

    # Gates
    triggers: bool = True
    character_filters: bool = True
    timed_effects: bool = True
    state_by_hash_alone: bool = True
    """A stored effect belongs to whichever entry has its hash, whatever entry it names."""
    forced_entries: bool = True
    vectors: bool = False
    """An entry for vectors fires when it is given as a vector match, and never by key."""

    # What is searched
    own_scan_depth: bool = True
    book_scan_depth: bool = False
    """Each book has a depth of its own; without one, all messages are searched."""
    max_messages: int = 1000
    """No more messages than this are searched, whatever an entry asks for."""
    max_text_chars: int | None = None
    """Newest code points of all messages that are searched."""
    include_names: bool = True
    further_texts: bool = True
    """Sources and injected texts."""
    marks: MarkRule = MarkRule.ALWAYS
    oldest_first: bool = False
    """How the texts are joined for the keys that look at all of them."""

    # Keys
    blank_key_matches: bool = True
    """A key of white space only matches every text, an empty one too."""
    trims_keys: bool = True
    expands_keys: bool = True
    regex_keys: bool = True
    """Unless the settings say otherwise."""
    plugin_regex_syntax: bool = False
    """The plugin's own reading of `/body/flags`: other flags, at most 256 characters."""

    # The loop
    loops: bool = True
    """Recursion, delay levels and minimum activations."""

    # Inclusion groups
    double_removal_takes_last: bool = True
    """Removing who is gone already removes the last candidate instead, whoever that is."""
    losers_keep_competing: bool = True
    """Who lost one group can still win another, and leave that one empty."""
    group_text_is_name: bool = True
    """An activated entry blocks a group only if its whole group field equals the name."""
    trims_group_names: bool = False
    object_group_order: bool = True
    """Groups are handled as the keys of a JavaScript object; its own names end the scan."""
    cooldown_beats_sticky: bool = True
    """In its own group, a sticky entry with a cooldown loses."""
    scores_raw_keys: bool = True
    """Scores take keys as they are written, and a key that is no text ends the scan."""
    group_by_group: bool = False
    """All steps for one group before the next; else each step for all groups."""
    draw_at_equal: bool = True
    """A draw that equals a running sum of weights takes that member."""
    negative_weights: bool = True

    # Chance and budget
    zero_chance_rolls: bool = True
    """0 % still passes on a draw of exactly 0."""
    chance_at_equal: bool = True
    """A draw that equals the probability passes."""
    odd_chance_passes: bool = False
    """A probability that is no number from 0 to 100 counts as 100 %."""
    missing_dice_rolls_zero: bool = False
    """Without dice every draw is 0; else that is an error."""
    budget_per_entry: bool = False
    """Every entry costs its own tokens, once; else the loop's text is counted as a whole."""
    budget_limit_fits: bool = False
    """A text that fills the budget exactly still fits."""
    smaller_may_follow: bool = False
    """After an entry that did not fit, a later one that fits is taken."""
    books_apart: bool = False
    """Groups and budget do not reach from one book to another."""
    placed_as_fired: bool = False
    """Texts stand in the order in which their entries were taken, the highest order first."""


RULES: Mapping[MatchProfile, Rules] = {
    MatchProfile.ST_1_19: Rules(),
    MatchProfile.SAFE: (
        _SAFE := Rules(
            reads_fields_raw=False,
            broken_entry_ends_scan=False,
            uid_is_identity=False,
            loads_book_twice=False,
            state_by_hash_alone=False,
            marks=MarkRule.WHEN_NAMED,
            blank_key_matches=False,
            double_removal_takes_last=False,
            losers_keep_competing=False,
            group_text_is_name=False,
            trims_group_names=True,
            object_group_order=False,
            cooldown_beats_sticky=False,
            scores_raw_keys=False,
            zero_chance_rolls=False,
            budget_per_entry=True,
            smaller_may_follow=True,
        )
    ),
    MatchProfile.DSH_TAVERN: evolve(
        _SAFE,
        decorators=False,
        triggers=False,
        character_filters=False,
        timed_effects=False,
        forced_entries=False,
        vectors=True,
        own_scan_depth=False,
        book_scan_depth=True,
        max_messages=128,
        max_text_chars=65_536,
        include_names=False,
        further_texts=False,
        marks=MarkRule.NEVER,
        oldest_first=True,
        trims_keys=False,
        expands_keys=False,
        regex_keys=False,
        plugin_regex_syntax=True,
        loops=False,
        group_by_group=True,
        draw_at_equal=False,
        negative_weights=False,
        chance_at_equal=False,
        odd_chance_passes=True,
        missing_dice_rolls_zero=True,
        budget_limit_fits=True,
        books_apart=True,
        placed_as_fired=True,
    ),
}
