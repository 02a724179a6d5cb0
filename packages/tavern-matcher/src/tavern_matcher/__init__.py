"""Decide which world book entries fire on a text, and say why for each of them."""

from tavern_matcher._version import __version__
from tavern_matcher.context import ScanCharacter, ScanContext, ScanMessage, ScanSources
from tavern_matcher.decide import Expand
from tavern_matcher.decision import Decision, EntryId, KeyMatch, PlaceKind, Reason
from tavern_matcher.errors import MatcherError
from tavern_matcher.explain import explain
from tavern_matcher.index import BookSource, Index, NamedBook, compile_index
from tavern_matcher.keys import KeyKind
from tavern_matcher.match import CountTokens, Dice, MatchResult, match
from tavern_matcher.placement import Activated, DepthBlock, Placement
from tavern_matcher.settings import (
    SHIPPED_SETTINGS,
    CharacterStrategy,
    MatchProfile,
    MatchSettings,
)
from tavern_matcher.state import MatchState, TimedRecord

__all__ = [
    "SHIPPED_SETTINGS",
    "Activated",
    "BookSource",
    "CharacterStrategy",
    "CountTokens",
    "Decision",
    "DepthBlock",
    "Dice",
    "EntryId",
    "Expand",
    "Index",
    "KeyKind",
    "KeyMatch",
    "MatchProfile",
    "MatchResult",
    "MatchSettings",
    "MatchState",
    "MatcherError",
    "NamedBook",
    "PlaceKind",
    "Placement",
    "Reason",
    "ScanCharacter",
    "ScanContext",
    "ScanMessage",
    "ScanSources",
    "TimedRecord",
    "__version__",
    "compile_index",
    "explain",
    "match",
]
