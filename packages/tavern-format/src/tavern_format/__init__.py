"""Read and write SillyTavern resources without losing a field: bytes in, values out, and back."""

from tavern_format._book_files import (book_to_json, convert_world_book, dump_world_book, parse_world_book)
from tavern_format._card_reading import parse_card
from tavern_format._card_writing import (card_to_json, dump_card, dump_card_charx, dump_card_png)
from tavern_format._preset_files import (dump_preset, parse_preset)
from tavern_format._version import __version__
from tavern_format.card import (Asset, CardCarrier, CardSpec, CharacterCard, DepthPrompt)
from tavern_format.chat import (Chat, ChatHeader, ChatLine, ChatMessage, LineKind, dump_chat, header_from_json, message_from_json, parse_chat, read_chat_lines)
from tavern_format.chat_import import import_chat
from tavern_format.detection import (Container, Detection, ResourceKind, detect)
from tavern_format.diagnostics import (Diagnostic, Parsed, Severity, pointer)
from tavern_format.entry_text import (DecoratedContent, KNOWN_DECORATORS, split_decorators, split_keys)
from tavern_format.errors import (CarrierError, FormatError, LimitExceededError, MalformedResourceError, UnsupportedVersionError)
from tavern_format.file_name import safe_file_name
from tavern_format.group import (ActivationStrategy, GenerationMode, Group, dump_group, new_group, parse_group)
from tavern_format.js_regex import (Deviation, InvalidPattern, JsRegexSource, MAX_EXPANSION_CHARS, MAX_NESTING, MAX_PATTERN_CHARS, NotRegex, SubjectForm, Translation, Untranslatable, classify_key, classify_script, construct_regex, from_subject, parse_key_regex, parse_script_regex, to_subject, translate)
from tavern_format.limits import (DEFAULT_LIMITS, Limits)
from tavern_format.persona import (Persona, PersonaBackup, PersonaPosition, dump_personas, parse_personas, restore_personas)
from tavern_format.preset import (GLOBAL_ORDER_ID, InjectionPosition, OrderEntry, Preset, Prompt, PromptOrder)
from tavern_format.preset_migration import (DEFAULT_ORDER, DEFAULT_PROMPTS, complete_prompts, merge_prompt_export, migrate_settings)
from tavern_format.preset_settings import (CONNECTION_SETTINGS, GENERATION_SETTINGS, KNOWN_SETTINGS, PRIVATE_SETTINGS)
from tavern_format.prompt_export import (PromptExport, dump_prompt_export, parse_prompt_export)
from tavern_format.quick_reply import (QuickReply, QuickReplySet, dump_quick_replies, migrate_quick_replies, parse_quick_replies)
from tavern_format.regex_script import (Placement, RegexScript, RegexScripts, SubstituteRegex, dump_regex_scripts, migrate_regex_script, parse_regex_scripts)
from tavern_format.resource import parse_resource
from tavern_format.text_preset import (ContextPreset, InstructPreset, MasterPreset, ReasoningPreset, SystemPromptPreset, TextCompletionPreset, dump_text_preset, parse_text_preset)
from tavern_format.world_book import (BookSpelling, CharacterFilter, Entry, Position, Role, SelectiveLogic, Unread, WorldBook)

__all__ = [
    "ActivationStrategy",
    "Asset",
    "BookSpelling",
    "CONNECTION_SETTINGS",
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
    "DEFAULT_LIMITS",
    "DEFAULT_ORDER",
    "DEFAULT_PROMPTS",
    "DecoratedContent",
    "DepthPrompt",
    "Detection",
    "Deviation",
    "Diagnostic",
    "Entry",
    "FormatError",
    "GENERATION_SETTINGS",
    "GLOBAL_ORDER_ID",
    "GenerationMode",
    "Group",
    "InjectionPosition",
    "InstructPreset",
    "InvalidPattern",
    "JsRegexSource",
    "KNOWN_DECORATORS",
    "KNOWN_SETTINGS",
    "LimitExceededError",
    "Limits",
    "LineKind",
    "MAX_EXPANSION_CHARS",
    "MAX_NESTING",
    "MAX_PATTERN_CHARS",
    "MalformedResourceError",
    "MasterPreset",
    "NotRegex",
    "OrderEntry",
    "PRIVATE_SETTINGS",
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
