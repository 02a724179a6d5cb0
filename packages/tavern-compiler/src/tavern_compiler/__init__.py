"""Compile a character, a preset and fired lore into ordered, named prompt parts.

A name is loaded when it is asked for: a compile does not wait for what projects messages.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tavern_compiler._version import __version__

if TYPE_CHECKING:
    from tavern_compiler._macro_run import MacroUse
    from tavern_compiler._macro_variables import MacroRefusal
    from tavern_compiler.audit import Audit, BookAudit, audit_to_json
    from tavern_compiler.call_config import CallConfig, call_config_json
    from tavern_compiler.changes import ChangedPart, ProfileChanges, diff
    from tavern_compiler.compile import compile_profile
    from tavern_compiler.errors import CompilerError, MacroError, ProfileTooLargeError
    from tavern_compiler.inputs import (
        BookRef,
        CharacterOptions,
        CompileInput,
        ResourceRef,
        SystemPromptMode,
        User,
    )
    from tavern_compiler.lore import LoreChannel, LoreEntry, LoreSide, lore_entries
    from tavern_compiler.macro_context import (
        GroupMember,
        HostFacts,
        InstructTexts,
        MacroChat,
        MacroContext,
        MacroLimits,
        MacroMessage,
        MacroMeter,
        Variables,
    )
    from tavern_compiler.macro_table import Macro, MacroCall, Parameter, ValueType
    from tavern_compiler.macros import (
        MACROS,
        Expansion,
        MacroProfile,
        MacroSettings,
        expand_macros,
    )
    from tavern_compiler.parts import Part, PartSource, Relationship, SourceKind
    from tavern_compiler.profile import LoreLimit, Profile, UserInjection
    from tavern_compiler.regex_scripts import apply_regex_scripts
    from tavern_compiler.regex_values import (
        ScriptCall,
        ScriptedText,
        ScriptLimits,
        ScriptLists,
        ScriptOrigin,
        ScriptOutcome,
        ScriptRun,
        ScriptSettings,
        ScriptUse,
    )
    from tavern_compiler.rules import CompileProfile
    from tavern_compiler.snapshot import (
        PromptSnapshot,
        SnapshotEntry,
        SnapshotMessage,
        dump_prompt_snapshot,
        parse_prompt_snapshot,
    )
    from tavern_compiler.st_frozen_run import (
        FrozenRun,
        dump_frozen_run,
        limit_history,
        parse_frozen_run,
    )
    from tavern_compiler.st_input import (
        AuthorsNote,
        ChatOverrides,
        CountTokens,
        ExtensionPosition,
        ExtensionPrompt,
        GroupChat,
        MemberCard,
        ProjectionInput,
        ProjectionProfile,
        ProjectionSettings,
        ReasoningSettings,
    )
    from tavern_compiler.st_macros import (
        Expand,
        Expanded,
        Rewrite,
        Rewritten,
        TextToRewrite,
        expand_with,
    )
    from tavern_compiler.st_messages import (
        ProjectionTools,
        project_messages,
        project_prompt_inputs,
        prompt_inputs,
    )
    from tavern_compiler.st_prompt_inputs import (
        ExampleBlock,
        ExampleMessage,
        HistoryMessage,
        PromptInputs,
    )
    from tavern_compiler.st_result import (
        Dropped,
        MessageSource,
        MessageSourceKind,
        Projection,
        PromptMessage,
    )
    from tavern_compiler.st_scripts import rewrite_with
    from tavern_compiler.st_snapshot_parts import snapshot_of, snapshot_parts

__all__ = [
    "MACROS",
    "Audit",
    "AuthorsNote",
    "BookAudit",
    "BookRef",
    "CallConfig",
    "ChangedPart",
    "CharacterOptions",
    "ChatOverrides",
    "CompileInput",
    "CompileProfile",
    "CompilerError",
    "CountTokens",
    "Dropped",
    "ExampleBlock",
    "ExampleMessage",
    "Expand",
    "Expanded",
    "Expansion",
    "ExtensionPosition",
    "ExtensionPrompt",
    "FrozenRun",
    "GroupChat",
    "GroupMember",
    "HistoryMessage",
    "HostFacts",
    "InstructTexts",
    "LoreChannel",
    "LoreEntry",
    "LoreLimit",
    "LoreSide",
    "Macro",
    "MacroCall",
    "MacroChat",
    "MacroContext",
    "MacroError",
    "MacroLimits",
    "MacroMessage",
    "MacroMeter",
    "MacroProfile",
    "MacroRefusal",
    "MacroSettings",
    "MacroUse",
    "MemberCard",
    "MessageSource",
    "MessageSourceKind",
    "Parameter",
    "Part",
    "PartSource",
    "Profile",
    "ProfileChanges",
    "ProfileTooLargeError",
    "Projection",
    "ProjectionInput",
    "ProjectionProfile",
    "ProjectionSettings",
    "ProjectionTools",
    "PromptInputs",
    "PromptMessage",
    "PromptSnapshot",
    "ReasoningSettings",
    "Relationship",
    "ResourceRef",
    "Rewrite",
    "Rewritten",
    "ScriptCall",
    "ScriptLimits",
    "ScriptLists",
    "ScriptOrigin",
    "ScriptOutcome",
    "ScriptRun",
    "ScriptSettings",
    "ScriptUse",
    "ScriptedText",
    "SnapshotEntry",
    "SnapshotMessage",
    "SourceKind",
    "SystemPromptMode",
    "TextToRewrite",
    "User",
    "UserInjection",
    "ValueType",
    "Variables",
    "__version__",
    "apply_regex_scripts",
    "audit_to_json",
    "call_config_json",
    "compile_profile",
    "diff",
    "dump_frozen_run",
    "dump_prompt_snapshot",
    "expand_macros",
    "expand_with",
    "limit_history",
    "lore_entries",
    "parse_frozen_run",
    "parse_prompt_snapshot",
    "project_messages",
    "project_prompt_inputs",
    "prompt_inputs",
    "rewrite_with",
    "snapshot_of",
    "snapshot_parts",
]

_NAMES = {
    "_macro_run": ("MacroUse",),
    "_macro_variables": ("MacroRefusal",),
    "audit": ("Audit", "BookAudit", "audit_to_json"),
    "call_config": ("CallConfig", "call_config_json"),
    "changes": ("ChangedPart", "ProfileChanges", "diff"),
    "compile": ("compile_profile",),
    "errors": ("CompilerError", "MacroError", "ProfileTooLargeError"),
    "inputs": (
        "BookRef",
        "CharacterOptions",
        "CompileInput",
        "ResourceRef",
        "SystemPromptMode",
        "User",
    ),
    "lore": ("LoreChannel", "LoreEntry", "LoreSide", "lore_entries"),
    "macro_context": (
        "GroupMember",
        "HostFacts",
        "InstructTexts",
        "MacroChat",
        "MacroContext",
        "MacroLimits",
        "MacroMessage",
        "MacroMeter",
        "Variables",
    ),
    "macro_table": ("Macro", "MacroCall", "Parameter", "ValueType"),
    "macros": ("MACROS", "Expansion", "MacroProfile", "MacroSettings", "expand_macros"),
    "parts": ("Part", "PartSource", "Relationship", "SourceKind"),
    "profile": ("LoreLimit", "Profile", "UserInjection"),
    "regex_scripts": ("apply_regex_scripts",),
    "regex_values": (
        "ScriptCall",
        "ScriptedText",
        "ScriptLimits",
        "ScriptLists",
        "ScriptOrigin",
        "ScriptOutcome",
        "ScriptRun",
        "ScriptSettings",
        "ScriptUse",
    ),
    "rules": ("CompileProfile",),
    "snapshot": (
        "PromptSnapshot",
        "SnapshotEntry",
        "SnapshotMessage",
        "dump_prompt_snapshot",
        "parse_prompt_snapshot",
    ),
    "st_frozen_run": ("FrozenRun", "dump_frozen_run", "limit_history", "parse_frozen_run"),
    "st_input": (
        "AuthorsNote",
        "ChatOverrides",
        "CountTokens",
        "ExtensionPosition",
        "ExtensionPrompt",
        "GroupChat",
        "MemberCard",
        "ProjectionInput",
        "ProjectionProfile",
        "ProjectionSettings",
        "ReasoningSettings",
    ),
    "st_macros": ("Expand", "Expanded", "Rewrite", "Rewritten", "TextToRewrite", "expand_with"),
    "st_messages": (
        "ProjectionTools",
        "project_messages",
        "project_prompt_inputs",
        "prompt_inputs",
    ),
    "st_prompt_inputs": ("ExampleBlock", "ExampleMessage", "HistoryMessage", "PromptInputs"),
    "st_result": ("Dropped", "MessageSource", "MessageSourceKind", "Projection", "PromptMessage"),
    "st_scripts": ("rewrite_with",),
    "st_snapshot_parts": ("snapshot_of", "snapshot_parts"),
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
