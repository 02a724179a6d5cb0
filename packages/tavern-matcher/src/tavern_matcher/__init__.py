"""Decide which world book entries fire on a text, and say why for each of them."""

from tavern_matcher._regex_hunt import Spans
from tavern_matcher._version import __version__
from tavern_matcher.book_order import BookSource, NamedBook
from tavern_matcher.bounded_regex import (
    BoundedPattern,
    RegexFault,
    RegexFinds,
    RegexLimits,
    RegexSearch,
    compile_bounded,
)
from tavern_matcher.budget import BudgetUse, CountTokens
from tavern_matcher.candidates import Expand
from tavern_matcher.changes import Change, ChangeKind
from tavern_matcher.context import (
    ForcedEntry,
    ScanCharacter,
    ScanContext,
    ScanMessage,
    ScanSources,
)
from tavern_matcher.decision import Decision, Draw, EntryId, KeyMatch, PlaceKind, Reason, ScanState
from tavern_matcher.decisions import Decisions
from tavern_matcher.draws import Dice, RecordedDice, SeededDice
from tavern_matcher.errors import DiceMissingError, MatcherError
from tavern_matcher.explain import explain
from tavern_matcher.finder import FinderKind
from tavern_matcher.frames import ScanLoop
from tavern_matcher.index import Index, compile_index
from tavern_matcher.keys import KeyKind
from tavern_matcher.match import match
from tavern_matcher.placement import Activated, DepthBlock, Placement, Rewrite
from tavern_matcher.result import MatchResult
from tavern_matcher.rules import MatchProfile
from tavern_matcher.scan_cache import ScanCache
from tavern_matcher.settings import SHIPPED_SETTINGS, CharacterStrategy, MatchSettings
from tavern_matcher.state import MatchState, TimedRecord, state_from_json, state_to_json
from tavern_matcher.what_if import Obstacle, WhatIf, what_if

__all__ = [
    "SHIPPED_SETTINGS",
    "Activated",
    "BookSource",
    "BoundedPattern",
    "BudgetUse",
    "Change",
    "ChangeKind",
    "CharacterStrategy",
    "CountTokens",
    "Decision",
    "Decisions",
    "DepthBlock",
    "Dice",
    "DiceMissingError",
    "Draw",
    "EntryId",
    "Expand",
    "FinderKind",
    "ForcedEntry",
    "Index",
    "KeyKind",
    "KeyMatch",
    "MatchProfile",
    "MatchResult",
    "MatchSettings",
    "MatchState",
    "MatcherError",
    "NamedBook",
    "Obstacle",
    "PlaceKind",
    "Placement",
    "Reason",
    "RecordedDice",
    "RegexFault",
    "RegexFinds",
    "RegexLimits",
    "RegexSearch",
    "Rewrite",
    "ScanCache",
    "ScanCharacter",
    "ScanContext",
    "ScanLoop",
    "ScanMessage",
    "ScanSources",
    "ScanState",
    "SeededDice",
    "Spans",
    "TimedRecord",
    "WhatIf",
    "__version__",
    "compile_bounded",
    "compile_index",
    "explain",
    "match",
    "state_from_json",
    "state_to_json",
    "what_if",
]
