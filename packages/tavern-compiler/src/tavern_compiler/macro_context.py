"""Everything that macros stand for: plain values, given by the caller.

Owns the shapes. Must not know any macro; nothing here is read from a machine.

Source: SillyTavern 1.19.0, public/scripts/macros/engine/MacroEnvBuilder.js and the definitions.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from attrs import define, field, frozen

from tavern_matcher import Dice

KIB = 1024
PostProcess = Callable[[str], str]
"""Applied to the result of every macro that is looked up by name."""


@frozen(kw_only=True)
class GroupMember:
    """One character of a group."""

    name: str
    muted: bool = False


@frozen(kw_only=True)
class MacroMessage:
    """What macros ask about one message of the chat."""

    text: str = ""
    is_user: bool = False
    is_system: bool = False
    """Hidden from the model."""
    send_date: str | float | None = None
    """As in the chat file: a text in one of SillyTavern's forms, or milliseconds since 1970."""
    swipe_index: float | None = None
    swipe_count: int | None = None
    """None: the message has no swipes."""


@frozen(kw_only=True)
class MacroChat:
    """The chat as macros see it."""

    messages: tuple[MacroMessage, ...] = ()
    id: str = ""
    """Name of the chat that `{{pick}}` is seeded with: the main chat of a branch, else the file."""
    id_hash: float | None = None
    """Stands for the hash of `id` where a chat keeps it."""
    pick_seed: str | None = None
    """Changes what `{{pick}}` picks in the whole chat."""
    first_included: float | None = None
    """Number of the first message that is in the prompt."""
    first_displayed: int | None = None
    last_seen: dict[object, int | None] = field(factory=dict, init=False, repr=False, eq=False)
    """What was searched for in `messages` already, and where it is."""


@frozen(kw_only=True)
class InstructTexts:
    """The sequences of an instruct template; first and last ones fall back on the plain ones."""

    story_prefix: str = ""
    story_suffix: str = ""
    user_prefix: str = ""
    user_suffix: str = ""
    assistant_prefix: str = ""
    assistant_suffix: str = ""
    system_prefix: str = ""
    system_suffix: str = ""
    first_assistant_prefix: str = ""
    last_assistant_prefix: str = ""
    first_user_prefix: str = ""
    last_user_prefix: str = ""
    stop: str = ""
    user_filler: str = ""
    system_instruction_prefix: str = ""


@frozen(kw_only=True)
class HostFacts:
    """State of the program around the chat."""

    model: str = ""
    is_mobile: bool = False
    generation_type: str = ""
    """Kind of the last generation; empty: there was none."""
    extensions: frozenset[str] = frozenset()
    """Names of those that are switched on."""
    context_tokens: int = 0
    response_tokens: int = 0
    input_text: str = ""
    """What stands in the box for the next message."""
    text_completion: bool = False
    """False: chat completion."""
    collapse_newlines: bool = False
    """Whether runs of line breaks in card fields become one."""
    instruct: InstructTexts | None = None
    """None: instruct mode is off."""
    system_prompt: str | None = None
    """Of the text-completion template; None: switched off."""
    prefer_card_system_prompt: bool = True
    prefer_card_post_history: bool = True
    example_separator: str = ""
    chat_start: str = ""
    outlets: Mapping[str, str] = field(factory=dict)
    """Text of lore by the key of its outlet."""
    authors_note: str = ""
    char_authors_note: str = ""
    default_authors_note: str = ""
    reasoning_prefix: str = ""
    reasoning_suffix: str = ""
    reasoning_separator: str = ""


@frozen(kw_only=True)
class Variables:
    """The two stores of variables; values are JSON values, most of them texts."""

    local: Mapping[str, object] = field(factory=dict)
    """Of the chat."""
    shared: Mapping[str, object] = field(factory=dict)
    """Of the user, in all chats: what SillyTavern calls global."""


def _aware(_: object, __: object, value: datetime | None) -> None:
    if value is not None and value.utcoffset() is None:
        message = "now must know its offset from UTC"
        raise ValueError(message)


@define(eq=False)
class MacroMeter:
    """Counts the steps of all texts of one compile or projection; see `MacroLimits.total_steps`."""

    steps: int = 0


@frozen(kw_only=True)
class MacroContext:
    """What macros stand for. Card fields and persona are given as they are in their files."""

    user: str = "User"
    char: str = "Assistant"
    description: str = ""
    personality: str = ""
    scenario: str = ""
    persona: str = ""
    message_examples: str = ""
    system_prompt: str = ""
    post_history_instructions: str = ""
    depth_prompt: str = ""
    creator_notes: str = ""
    character_version: str = ""
    greeting: str = ""
    alternate_greetings: tuple[str, ...] = ()
    card: bool = True
    """False: all fields above from `description` on are empty."""
    user_override: str | None = None
    """Stands for `user` in the text itself, but not in the fields of the card."""
    char_override: str | None = None
    group: tuple[GroupMember, ...] | None = None
    """None: a chat with one character."""
    group_override: str | None = None
    """Stands for the names of the group, in whatever macro."""
    original: str | None = None
    """The text that a card's text replaces, given once; None where nothing is replaced."""
    dynamic: Mapping[str, str] = field(factory=dict)
    """Macros of this call only, by name: they stand before all others and take no argument."""
    chat: MacroChat = field(factory=MacroChat)
    host: HostFacts = field(factory=HostFacts)
    variables: Variables = field(factory=Variables)
    now: datetime | None = field(default=None, validator=_aware)
    """The current time, in the zone that texts without one are in."""
    dice: Dice | None = None
    """Draws a number of at least 0 and below 1. It is told what for: `random@12`, name and place of
    the macro, in code points of the text; `roll@12#2` is the second draw there."""
    post_process: PostProcess | None = None
    place: str = ""
    """Where the text stands. Dice are told of it, too: equal macros of two texts then draw for
    themselves."""
    meter: MacroMeter | None = field(default=None, repr=False, eq=False)
    """What the text counts with others of its compile or projection; None: it counts for itself."""


@frozen(kw_only=True)
class MacroLimits:
    """How much one text may ask for; whatever would go beyond stays as it is, with a diagnostic."""

    depth_macros: int = 48
    """Macros inside each other."""
    steps: int = 500_000
    """Words and signs read in macros, macros, dice. What is inside others is read again."""
    total_steps: int = 2_000_000
    """The same for all texts of one compile, or of one projection, together."""
    output_chars: int = 4096 * KIB
    """Code points of all results and stored values together."""
    diagnostics: int = 256
    """So many are told; what comes behind is counted in one more."""
