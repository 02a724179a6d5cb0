"""The result of a compile as a value.

Owns its shape and what follows from it alone: texts, sizes, fingerprint, audit. Must not know how
it was made.

Source: the plugin contract, sections A1, A6, A8 and A10.
"""

from attrs import field, frozen

from tavern_compiler._text import utf8_length, utf16_length
from tavern_compiler.audit import Audit, book_audits
from tavern_compiler.call_config import CallConfig
from tavern_compiler.fingerprint import fingerprint_of
from tavern_compiler.inputs import CompileInput, SystemPromptMode
from tavern_compiler.macro_context import Variables
from tavern_compiler.parts import SEPARATOR, Part
from tavern_format import Diagnostic


@frozen(kw_only=True)
class UserInjection:
    """What became of the user's description."""

    selected: bool = False
    description_available: bool = False
    description_utf16: int = 0
    description_insertions: int = 0
    """0 or 1."""
    description_placement: str = "none"
    """`none`, `preset-marker:<identifier>`, `preset-macro:<identifier>` or `fallback`."""


@frozen(kw_only=True)
class LoreLimit:
    """What a limit did to the lore."""

    max_profile_bytes: int
    max_lore_input_bytes: int
    """More content than this is not even tried."""
    measured_bytes: int
    """Of the profile with everything that was tried."""
    retained_entries: int
    omitted_entries: int


@frozen(kw_only=True)
class Profile:
    """The result of a compile. Two are equal if a host and its records cannot tell them apart."""

    parts: tuple[Part, ...] = ()
    """In order: the sections of a system prompt."""
    late_parts: tuple[Part, ...] = ()
    """Lore in a group of its own, if `CompileInput.lore_channel` asks for it; numbered on."""
    call_config: CallConfig = field(factory=CallConfig)
    system_prompt_mode: SystemPromptMode = SystemPromptMode.APPEND
    active_lore: tuple[str, ...] = ()
    """Qualified ids of the entries that stand in a part, in the order they were given."""
    lore_limit: LoreLimit | None = None
    """None: all lore fits."""
    user_injection: UserInjection = field(factory=UserInjection)
    variables: Variables = field(factory=Variables)
    """The stores of macro variables after the last part."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Paths lead into the `CompileInput`."""
    given: CompileInput = field(factory=CompileInput, eq=False, repr=False)
    """What it was compiled from."""

    @property
    def system_text(self) -> str:
        """The texts of all parts, with an empty line between two."""
        return SEPARATOR.join(part.text for part in self.parts)

    @property
    def late_text(self) -> str:
        """The same of the late parts."""
        return SEPARATOR.join(part.text for part in self.late_parts)

    @property
    def size_utf8_bytes(self) -> int:
        """Bytes of system text and late text in UTF-8: what the limit is about."""
        return utf8_length(self.system_text) + utf8_length(self.late_text)

    @property
    def fingerprint(self) -> str:
        """Hash what a model is shown and called with; equal on all machines. Linear in the text."""
        texts, late = ([part.text for part in group] for group in (self.parts, self.late_parts))
        return fingerprint_of(texts, late, self.system_prompt_mode, self.call_config)

    @property
    def audit(self) -> Audit:
        """Say what was compiled and why, without any text; made when asked for."""
        match = self.given.match
        return Audit(
            fingerprint=self.fingerprint,
            resources=self.given.resources,
            books=book_audits(self.given, self.active_lore),
            budget=None if match is None else match.budget,
            active_lore=self.active_lore,
            system_prompt_mode=str(self.system_prompt_mode),
            system_utf16=utf16_length(self.system_text),
            call_config=self.call_config,
            parts=(*self.parts, *self.late_parts),
            diagnostics=self.diagnostics,
        )
