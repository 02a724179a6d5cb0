"""Compile a character, a preset and fired lore into ordered, named prompt parts."""

from tavern_compiler._version import __version__
from tavern_compiler.call_config import CallConfig
from tavern_compiler.compile import Profile, UserInjection, compile_profile
from tavern_compiler.errors import CompilerError, ProfileTooLargeError
from tavern_compiler.inputs import (
    CharacterOptions,
    CompileInput,
    ResourceRef,
    SystemPromptMode,
    User,
)
from tavern_compiler.lore import LoreEntry, LoreSide, lore_entries
from tavern_compiler.macros import Expansion, MacroContext, MacroUse, expand_macros
from tavern_compiler.parts import Part, PartSource, Relationship, SourceKind

__all__ = [
    "CallConfig",
    "CharacterOptions",
    "CompileInput",
    "CompilerError",
    "Expansion",
    "LoreEntry",
    "LoreSide",
    "MacroContext",
    "MacroUse",
    "Part",
    "PartSource",
    "Profile",
    "ProfileTooLargeError",
    "Relationship",
    "ResourceRef",
    "SourceKind",
    "SystemPromptMode",
    "User",
    "UserInjection",
    "__version__",
    "compile_profile",
    "expand_macros",
    "lore_entries",
]
