"""Compile a character, a preset and fired lore into ordered, named prompt parts."""

from tavern_compiler._macro_variables import MacroRefusal
from tavern_compiler._version import __version__
from tavern_compiler.call_config import CallConfig
from tavern_compiler.compile import Profile, UserInjection, compile_profile
from tavern_compiler.errors import CompilerError, MacroError, ProfileTooLargeError
from tavern_compiler.inputs import (
    CharacterOptions,
    CompileInput,
    ResourceRef,
    SystemPromptMode,
    User,
)
from tavern_compiler.lore import LoreEntry, LoreSide, lore_entries
from tavern_compiler.macro_context import (
    GroupMember,
    HostFacts,
    InstructTexts,
    MacroChat,
    MacroContext,
    MacroLimits,
    MacroMessage,
    Variables,
)
from tavern_compiler.macro_table import Macro, MacroCall, Parameter, ValueType
from tavern_compiler.macros import (
    MACROS,
    Expansion,
    MacroProfile,
    MacroSettings,
    MacroUse,
    expand_macros,
)
from tavern_compiler.parts import Part, PartSource, Relationship, SourceKind
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
    Rewrite,
)
from tavern_compiler.st_macros import CardTexts, Expand, Expanded, MacroScope, expand_with
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
from tavern_compiler.st_snapshot_parts import snapshot_of, snapshot_parts

__all__ = [
    "MACROS",
    "AuthorsNote",
    "CallConfig",
    "CardTexts",
    "CharacterOptions",
    "ChatOverrides",
    "CompileInput",
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
    "LoreEntry",
    "LoreSide",
    "Macro",
    "MacroCall",
    "MacroChat",
    "MacroContext",
    "MacroError",
    "MacroLimits",
    "MacroMessage",
    "MacroProfile",
    "MacroRefusal",
    "MacroScope",
    "MacroSettings",
    "MacroUse",
    "MemberCard",
    "MessageSource",
    "MessageSourceKind",
    "Parameter",
    "Part",
    "PartSource",
    "Profile",
    "ProfileTooLargeError",
    "Projection",
    "ProjectionInput",
    "ProjectionProfile",
    "ProjectionSettings",
    "ProjectionTools",
    "PromptInputs",
    "PromptMessage",
    "PromptSnapshot",
    "Relationship",
    "ResourceRef",
    "Rewrite",
    "SnapshotEntry",
    "SnapshotMessage",
    "SourceKind",
    "SystemPromptMode",
    "User",
    "UserInjection",
    "ValueType",
    "Variables",
    "__version__",
    "compile_profile",
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
    "snapshot_of",
    "snapshot_parts",
]
