"""What the prompt builder is given once card, chat and lore have been read: plain texts.

This is the value that a frozen run input holds, and the seam where a projection may be started
again with another preset. Must not know presets.

Source: SillyTavern 1.19.0, public/scripts/openai.js (arguments of prepareOpenAIMessages).
"""

from collections.abc import Mapping

from attrs import field, frozen

from tavern_compiler.macro_context import MacroContext
from tavern_compiler.st_input import ExtensionPrompt
from tavern_compiler.st_result import MessageSource


@frozen(kw_only=True)
class HistoryMessage:
    """One message of the chat, with its role and the speaker's name in front where that is set."""

    role: str
    content: str = field(repr=False)
    name: str | None = None
    injected: bool = False
    """True: it is no message of the chat but was put between them."""
    sources: tuple[MessageSource, ...] = ()


@frozen(kw_only=True)
class ExampleMessage:
    """One turn of an example dialogue."""

    content: str = field(repr=False)
    name: str
    """`example_user` or `example_assistant`."""


@frozen(kw_only=True)
class ExampleBlock:
    """One example dialogue."""

    messages: tuple[ExampleMessage, ...] = ()
    unspoken: str = field(default="", repr=False)
    """The text of a block in which nobody speaks; SillyTavern loses it."""
    sources: tuple[MessageSource, ...] = ()


@frozen(kw_only=True)
class PromptInputs:
    """The arguments of the prompt builder; macros in them expanded as far as SillyTavern has."""

    type: str = "normal"
    scope: MacroContext = field(factory=MacroContext)
    """What macros may show: see `Expand`."""
    description: str = field(default="", repr=False)
    personality: str = field(default="", repr=False)
    scenario: str = field(default="", repr=False)
    lore_before: str = field(default="", repr=False)
    lore_after: str = field(default="", repr=False)
    persona: str = field(default="", repr=False)
    """Empty where the persona does not stand at its marker."""
    system_prompt: str = field(default="", repr=False)
    """Takes the place of the main prompt."""
    post_history: str = field(default="", repr=False)
    """Takes the place of the closing prompt."""
    bias: str = field(default="", repr=False)
    quiet_prompt: str = field(default="", repr=False)
    cycle_prompt: str = field(default="", repr=False)
    """The text that is to be continued."""
    extension_prompts: Mapping[str, ExtensionPrompt] = field(factory=dict)
    messages: tuple[HistoryMessage, ...] = ()
    """Newest first, uncut."""
    examples: tuple[ExampleBlock, ...] = ()
    in_group: bool = False
    sources: Mapping[str, tuple[MessageSource, ...]] = field(factory=dict)
    """Of the texts above, by the identifier of the prompt they fill."""
