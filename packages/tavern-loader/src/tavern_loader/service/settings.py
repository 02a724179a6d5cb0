"""Reading and changing the settings of an installation.

Owns what counts when a file is damaged: the defaults, so that no page is locked out. Must not know
files.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from attrs import frozen

from tavern_loader.domain.rp_guard import REFUSAL
from tavern_loader.domain.settings import (
    ConversationSettings,
    SettingsError,
    UiSettings,
    allowed_tools,
    conversation_from_json,
    conversation_to_json,
    policy_section,
    ui_from_json,
    ui_to_json,
)
from tavern_loader.errors import StoreError
from tavern_loader.ports import JsonObject

T = TypeVar("T")


class SettingsFile(Protocol):
    """One small object that may be absent."""

    def read(self) -> JsonObject | None:
        """Give what is kept; None if nothing is. Raises StoreError for what cannot be read."""
        ...

    def write(self, document: JsonObject) -> None:
        """Keep an object in place of the other. Raises StoreError."""
        ...

    def remove(self) -> None:
        """Keep nothing. Raises StoreError."""
        ...


@frozen(kw_only=True)
class RpPolicy:
    """What the user decided about RP mode."""

    section: str
    """The text of the policy section in use; empty for none."""
    is_custom: bool
    allowed_tools: tuple[str, ...]


@frozen(kw_only=True)
class Settings:
    """All settings; also the rules that `service.roleplay` asks for."""

    ui_file: SettingsFile
    conversation_file: SettingsFile
    policy_file: SettingsFile
    tools_file: SettingsFile

    def ui(self) -> UiSettings:
        """Give the interface settings."""
        return _read(self.ui_file, ui_from_json) or UiSettings()

    def set_ui(self, value: object) -> UiSettings:
        """Replace the interface settings. Raises SettingsError, StoreError."""
        settings = ui_from_json(value)
        self.ui_file.write(ui_to_json(settings))
        return settings

    def reset_ui(self) -> UiSettings:
        """Go back to the defaults. Raises StoreError."""
        self.ui_file.write(ui_to_json(UiSettings()))
        return UiSettings()

    def conversation(self) -> ConversationSettings:
        """Give the conversation settings."""
        return _read(self.conversation_file, conversation_from_json) or ConversationSettings()

    def set_conversation(self, value: object) -> ConversationSettings:
        """Replace the conversation settings. Raises SettingsError, StoreError."""
        settings = conversation_from_json(value)
        self.conversation_file.write(conversation_to_json(settings))
        return settings

    def reset_conversation(self) -> ConversationSettings:
        """Go back to the defaults. Raises StoreError."""
        self.conversation_file.write(conversation_to_json(ConversationSettings()))
        return ConversationSettings()

    def policy(self) -> RpPolicy:
        """Give the policy of RP mode."""
        section = _read(self.policy_file, lambda found: policy_section(found.get("section")))
        return RpPolicy(
            section=REFUSAL if section is None else section,
            is_custom=section is not None,
            allowed_tools=self.allowed_tools(),
        )

    def set_section(self, value: object) -> None:
        """Replace the text of the policy section. Raises SettingsError, StoreError."""
        self.policy_file.write({"schemaVersion": 1, "section": policy_section(value)})

    def reset_section(self) -> None:
        """Go back to the default text. Raises StoreError."""
        self.policy_file.remove()

    def set_allowed_tools(self, value: object) -> None:
        """Replace the list of further tools. Raises SettingsError, StoreError."""
        self.tools_file.write({"schemaVersion": 1, "allow": list(allowed_tools(value))})

    # The rules of RP mode.

    def section(self) -> str:
        """Give the text of the policy section; empty for none."""
        return self.policy().section

    def allowed_tools(self) -> tuple[str, ...]:
        """List the tools beyond the built-in table that a locked session may call."""
        return _read(self.tools_file, lambda found: allowed_tools(found.get("allow"))) or ()

    def follows_characters(self) -> bool:
        """Whether binding a character switches RP mode on."""
        return self.ui().follows_characters


def _read(file: SettingsFile, parse: Callable[[JsonObject], T]) -> T | None:
    """Read a file; None without one, and for one that cannot be understood."""
    try:
        found = file.read()
        if found is None:
            return None
        return parse({key: value for key, value in found.items() if key != "schemaVersion"})
    except (StoreError, SettingsError):
        return None
