"""Read and write SillyTavern resources without losing a field: bytes in, values out, and back.

A name is loaded when it is asked for: reading one kind of file does not wait for the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tavern_format._version import __version__

if TYPE_CHECKING:
    from tavern_format._book_reading import parse_world_book
    from tavern_format._book_writing import book_to_json, convert_world_book, dump_world_book
    from tavern_format._byaf_chat import ByafChat, byaf_chats
    from tavern_format._card_reading import parse_card
    from tavern_format._card_writing import (
        card_picture,
        card_to_json,
        dump_card,
        dump_card_charx,
        dump_card_png,
    )
    from tavern_format._preset_files import dump_preset, parse_preset
    from tavern_format.card import Asset, CardCarrier, CardSpec, CharacterCard, DepthPrompt
    from tavern_format.chat import (
        Chat,
        ChatHeader,
        ChatLine,
        ChatMessage,
        LineKind,
        dump_chat,
        header_from_json,
        message_from_json,
        parse_chat,
        read_chat_lines,
    )
    from tavern_format.chat_import import import_chat
    from tavern_format.detection import Container, Detection, ResourceKind, detect
    from tavern_format.diagnostics import Diagnostic, Parsed, Report, Severity, pointer
    from tavern_format.entry_text import (
        KNOWN_DECORATORS,
        DecoratedContent,
        split_decorators,
        split_keys,
    )
    from tavern_format.errors import (
        CarrierError,
        FormatError,
        LimitExceededError,
        MalformedResourceError,
        UnsupportedVersionError,
    )
    from tavern_format.file_name import safe_file_name
    from tavern_format.group import (
        ActivationStrategy,
        GenerationMode,
        Group,
        dump_group,
        new_group,
        parse_group,
    )
    from tavern_format.js_regex import (
        MAX_EXPANSION_PARTS,
        MAX_NESTING,
        MAX_PATTERN_CHARS,
        Deviation,
        InvalidPattern,
        JsRegexSource,
        NotRegex,
        SubjectForm,
        Translation,
        Untranslatable,
        classify_key,
        classify_script,
        construct_regex,
        from_subject,
        parse_key_regex,
        parse_script_regex,
        to_subject,
        translate,
    )
    from tavern_format.limits import DEFAULT_LIMITS, Limits
    from tavern_format.persona import (
        Persona,
        PersonaBackup,
        PersonaPosition,
        dump_personas,
        parse_personas,
        restore_personas,
    )
    from tavern_format.preset import (
        GLOBAL_ORDER_ID,
        InjectionPosition,
        OrderEntry,
        Preset,
        Prompt,
        PromptOrder,
    )
    from tavern_format.preset_migration import (
        DEFAULT_ORDER,
        DEFAULT_PROMPTS,
        complete_prompts,
        merge_prompt_export,
        migrate_settings,
    )
    from tavern_format.preset_settings import (
        CONNECTION_SETTINGS,
        GENERATION_SETTINGS,
        KNOWN_SETTINGS,
        PRIVATE_SETTINGS,
    )
    from tavern_format.prompt_export import PromptExport, dump_prompt_export, parse_prompt_export
    from tavern_format.quick_reply import (
        QuickReply,
        QuickReplySet,
        dump_quick_replies,
        migrate_quick_replies,
        parse_quick_replies,
    )
    from tavern_format.regex_script import (
        Placement,
        RegexScript,
        RegexScripts,
        SubstituteRegex,
        dump_regex_scripts,
        migrate_regex_script,
        parse_regex_scripts,
    )
    from tavern_format.resource import parse_resource
    from tavern_format.text_preset import (
        ContextPreset,
        InstructPreset,
        MasterPreset,
        ReasoningPreset,
        SystemPromptPreset,
        TextCompletionPreset,
        dump_text_preset,
        parse_text_preset,
    )
    from tavern_format.world_book import (
        BookSpelling,
        CharacterFilter,
        Entry,
        Position,
        Role,
        SelectiveLogic,
        Unread,
        WorldBook,
    )

__all__ = [
    "CONNECTION_SETTINGS",
    "DEFAULT_LIMITS",
    "DEFAULT_ORDER",
    "DEFAULT_PROMPTS",
    "GENERATION_SETTINGS",
    "GLOBAL_ORDER_ID",
    "KNOWN_DECORATORS",
    "KNOWN_SETTINGS",
    "MAX_EXPANSION_PARTS",
    "MAX_NESTING",
    "MAX_PATTERN_CHARS",
    "PRIVATE_SETTINGS",
    "ActivationStrategy",
    "Asset",
    "BookSpelling",
    "ByafChat",
    "CardCarrier",
    "CardSpec",
    "CarrierError",
    "CharacterCard",
    "CharacterFilter",
    "Chat",
    "ChatHeader",
    "ChatLine",
    "ChatMessage",
    "Container",
    "ContextPreset",
    "DecoratedContent",
    "DepthPrompt",
    "Detection",
    "Deviation",
    "Diagnostic",
    "Entry",
    "FormatError",
    "GenerationMode",
    "Group",
    "InjectionPosition",
    "InstructPreset",
    "InvalidPattern",
    "JsRegexSource",
    "LimitExceededError",
    "Limits",
    "LineKind",
    "MalformedResourceError",
    "MasterPreset",
    "NotRegex",
    "OrderEntry",
    "Parsed",
    "Persona",
    "PersonaBackup",
    "PersonaPosition",
    "Placement",
    "Position",
    "Preset",
    "Prompt",
    "PromptExport",
    "PromptOrder",
    "QuickReply",
    "QuickReplySet",
    "ReasoningPreset",
    "RegexScript",
    "RegexScripts",
    "Report",
    "ResourceKind",
    "Role",
    "SelectiveLogic",
    "Severity",
    "SubjectForm",
    "SubstituteRegex",
    "SystemPromptPreset",
    "TextCompletionPreset",
    "Translation",
    "Unread",
    "UnsupportedVersionError",
    "Untranslatable",
    "WorldBook",
    "__version__",
    "book_to_json",
    "byaf_chats",
    "card_picture",
    "card_to_json",
    "classify_key",
    "classify_script",
    "complete_prompts",
    "construct_regex",
    "convert_world_book",
    "detect",
    "dump_card",
    "dump_card_charx",
    "dump_card_png",
    "dump_chat",
    "dump_group",
    "dump_personas",
    "dump_preset",
    "dump_prompt_export",
    "dump_quick_replies",
    "dump_regex_scripts",
    "dump_text_preset",
    "dump_world_book",
    "from_subject",
    "header_from_json",
    "import_chat",
    "merge_prompt_export",
    "message_from_json",
    "migrate_quick_replies",
    "migrate_regex_script",
    "migrate_settings",
    "new_group",
    "parse_card",
    "parse_chat",
    "parse_group",
    "parse_key_regex",
    "parse_personas",
    "parse_preset",
    "parse_prompt_export",
    "parse_quick_replies",
    "parse_regex_scripts",
    "parse_resource",
    "parse_script_regex",
    "parse_text_preset",
    "parse_world_book",
    "pointer",
    "read_chat_lines",
    "restore_personas",
    "safe_file_name",
    "split_decorators",
    "split_keys",
    "to_subject",
    "translate",
]

_NAMES = {
    "_book_reading": ("parse_world_book",),
    "_book_writing": (
        "book_to_json",
        "convert_world_book",
        "dump_world_book",
    ),
    "_byaf_chat": (
        "ByafChat",
        "byaf_chats",
    ),
    "_card_reading": ("parse_card",),
    "_card_writing": (
        "card_picture",
        "card_to_json",
        "dump_card",
        "dump_card_charx",
        "dump_card_png",
    ),
    "_preset_files": (
        "dump_preset",
        "parse_preset",
    ),
    "card": (
        "Asset",
        "CardCarrier",
        "CardSpec",
        "CharacterCard",
        "DepthPrompt",
    ),
    "chat": (
        "Chat",
        "ChatHeader",
        "ChatLine",
        "ChatMessage",
        "LineKind",
        "dump_chat",
        "header_from_json",
        "message_from_json",
        "parse_chat",
        "read_chat_lines",
    ),
    "chat_import": ("import_chat",),
    "detection": (
        "Container",
        "Detection",
        "ResourceKind",
        "detect",
    ),
    "diagnostics": (
        "Diagnostic",
        "Parsed",
        "Report",
        "Severity",
        "pointer",
    ),
    "entry_text": (
        "KNOWN_DECORATORS",
        "DecoratedContent",
        "split_decorators",
        "split_keys",
    ),
    "errors": (
        "CarrierError",
        "FormatError",
        "LimitExceededError",
        "MalformedResourceError",
        "UnsupportedVersionError",
    ),
    "file_name": ("safe_file_name",),
    "group": (
        "ActivationStrategy",
        "GenerationMode",
        "Group",
        "dump_group",
        "new_group",
        "parse_group",
    ),
    "js_regex": (
        "MAX_EXPANSION_PARTS",
        "MAX_NESTING",
        "MAX_PATTERN_CHARS",
        "Deviation",
        "InvalidPattern",
        "JsRegexSource",
        "NotRegex",
        "SubjectForm",
        "Translation",
        "Untranslatable",
        "classify_key",
        "classify_script",
        "construct_regex",
        "from_subject",
        "parse_key_regex",
        "parse_script_regex",
        "to_subject",
        "translate",
    ),
    "limits": (
        "DEFAULT_LIMITS",
        "Limits",
    ),
    "persona": (
        "Persona",
        "PersonaBackup",
        "PersonaPosition",
        "dump_personas",
        "parse_personas",
        "restore_personas",
    ),
    "preset": (
        "GLOBAL_ORDER_ID",
        "InjectionPosition",
        "OrderEntry",
        "Preset",
        "Prompt",
        "PromptOrder",
    ),
    "preset_migration": (
        "DEFAULT_ORDER",
        "DEFAULT_PROMPTS",
        "complete_prompts",
        "merge_prompt_export",
        "migrate_settings",
    ),
    "preset_settings": (
        "CONNECTION_SETTINGS",
        "GENERATION_SETTINGS",
        "KNOWN_SETTINGS",
        "PRIVATE_SETTINGS",
    ),
    "prompt_export": (
        "PromptExport",
        "dump_prompt_export",
        "parse_prompt_export",
    ),
    "quick_reply": (
        "QuickReply",
        "QuickReplySet",
        "dump_quick_replies",
        "migrate_quick_replies",
        "parse_quick_replies",
    ),
    "regex_script": (
        "Placement",
        "RegexScript",
        "RegexScripts",
        "SubstituteRegex",
        "dump_regex_scripts",
        "migrate_regex_script",
        "parse_regex_scripts",
    ),
    "resource": ("parse_resource",),
    "text_preset": (
        "ContextPreset",
        "InstructPreset",
        "MasterPreset",
        "ReasoningPreset",
        "SystemPromptPreset",
        "TextCompletionPreset",
        "dump_text_preset",
        "parse_text_preset",
    ),
    "world_book": (
        "BookSpelling",
        "CharacterFilter",
        "Entry",
        "Position",
        "Role",
        "SelectiveLogic",
        "Unread",
        "WorldBook",
    ),
}
"""The public names of each module, as a type checker sees them above."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a public name. Raises AttributeError for any other."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
