"""Fired lore as texts: around the character, the note and the examples, at a depth, in outlets.

Macros and regex scripts run here, one entry at a time; an entry that is empty then goes nowhere.
Must not know how an entry came to fire, nor where a text stands in the prompt.

Source: SillyTavern 1.19.0, public/scripts/world-info.js (end of checkWorldInfo) and
public/script.js (Generate).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import evolve, field, frozen

from tavern_compiler._js_number import to_number
from tavern_compiler.st_input import ExtensionPosition, ExtensionPrompt
from tavern_compiler.st_macros import Macros
from tavern_compiler.st_result import MessageSource, MessageSourceKind
from tavern_format import Placement as ScriptPlacement
from tavern_format import Position, pointer
from tavern_matcher import Activated, EntryId, Placement

_DEFAULT_DEPTH = 4
_NEVER = -1.0


@frozen(kw_only=True)
class LoreText:
    """Texts of some entries in one, joined by line feeds."""

    text: str = field(default="", repr=False)
    sources: tuple[MessageSource, ...] = ()


@frozen(kw_only=True)
class LoreTexts:
    """All fired lore by place."""

    before: LoreText = field(factory=LoreText)
    after: LoreText = field(factory=LoreText)
    note_top: LoreText = field(factory=LoreText)
    note_bottom: LoreText = field(factory=LoreText)
    examples: tuple[tuple[bool, LoreText], ...] = ()
    """Entries for the example dialogues, lowest order first; True: before them."""
    depth_rows: tuple[tuple[str, ExtensionPrompt], ...] = ()
    outlets: Mapping[str, LoreText] = field(factory=dict)


def expand_lore(lore: Placement, macros: Macros) -> tuple[Placement, Macros]:
    """Expand the macros of every entry once, as a scan does: highest order first.

    Entries of one order run by their place in the book; which of them fired in a later round of
    the scan, a placement does not say.
    """
    texts: dict[EntryId, str] = {}
    for one in _by_order(lore):
        texts[one.entry], macros = macros.run(one.content, _source(one).path)
    return _with_texts(lore, lambda one: evolve(one, content=texts[one.entry])), macros


def rewrite_lore(lore: Placement, macros: Macros) -> tuple[Placement, Macros]:
    """Run regex scripts on every entry once, highest order first."""
    texts: dict[EntryId, str] = {}
    for one in _by_order(lore):
        depth = None
        if one.position is Position.AT_DEPTH:
            depth = _DEFAULT_DEPTH if one.depth is None else one.depth
        texts[one.entry], macros = macros.rewritten(
            one.content,
            ScriptPlacement.WORLD_INFO,
            _source(one).path,
            # A depth that is no number is none for a script.
            None if isinstance(depth, str) else depth,
        )
    return _with_texts(lore, lambda one: evolve(one, content=texts[one.entry])), macros


def _by_order(lore: Placement) -> list[Activated]:
    return sorted(_entries(lore), key=lambda one: (-one.order, one.entry.index))


def _entries(lore: Placement) -> Iterator[Activated]:
    yield from (*lore.before, *lore.after, *lore.an_top, *lore.an_bottom)
    yield from (*lore.em_top, *lore.em_bottom)
    yield from (one for block in lore.at_depth for one in block.texts)
    yield from (one for ones in lore.outlets.values() for one in ones)


def _with_texts(lore: Placement, change: Callable[[Activated], Activated]) -> Placement:
    def each(ones: Iterable[Activated]) -> tuple[Activated, ...]:
        return tuple(map(change, ones))

    return evolve(
        lore,
        before=each(lore.before),
        after=each(lore.after),
        an_top=each(lore.an_top),
        an_bottom=each(lore.an_bottom),
        em_top=each(lore.em_top),
        em_bottom=each(lore.em_bottom),
        em_order=each(lore.em_order),
        at_depth=tuple(evolve(block, texts=each(block.texts)) for block in lore.at_depth),
        outlets={name: each(ones) for name, ones in lore.outlets.items()},
    )


def finished_lore(lore: Placement) -> Placement:
    """Take the texts that a scan has expanded and rewritten as they are."""
    return _with_texts(lore, lambda one: evolve(one, content=one.text))


def lore_texts(lore: Placement, *, safe: bool = False) -> LoreTexts:
    """Turn the matcher's buckets into texts."""
    examples = lore.em_order or sorted((*lore.em_top, *lore.em_bottom), key=lambda one: one.order)
    texts = [(one.position is Position.EM_TOP, _join([one])) for one in examples]
    outlets = {name: _join(ones) for name, ones in lore.outlets.items()}
    return LoreTexts(
        before=_join(lore.before),
        after=_join(lore.after),
        note_top=_join(lore.an_top),
        note_bottom=_join(lore.an_bottom),
        examples=tuple((before, text) for before, text in texts if text.text),
        depth_rows=tuple(_depth_rows(lore, safe=safe)),
        outlets={name: text for name, text in outlets.items() if text.text},
    )


def _join(entries: Iterable[Activated]) -> LoreText:
    kept = [one for one in entries if one.content]
    return LoreText(text="\n".join(one.content for one in kept), sources=tuple(map(_source, kept)))


def _source(one: Activated) -> MessageSource:
    where = pointer("", one.entry.book, one.entry.index, "content").removeprefix("/")
    return MessageSource(
        kind=MessageSourceKind.WORLD_BOOK, identifier=one.entry.qualified, field=where
    )


def _depth_rows(lore: Placement, *, safe: bool) -> Iterator[tuple[str, ExtensionPrompt]]:
    """Make a row of each block; of two under one key the later counts."""
    for block in lore.at_depth:
        depth = _depth(block.depth, safe=safe)
        text = _join(block.texts)
        raw = block.depth
        shown = int(raw) if isinstance(raw, float) and raw == raw // 1 else raw
        yield (
            f"customDepthWI_{'null' if shown is None else shown}_{block.role.value}",
            ExtensionPrompt(
                value=text.text,
                position=ExtensionPosition.IN_CHAT,
                depth=depth,
                role=block.role,
                sources=text.sources,
            ),
        )


def _depth(value: float | str | None, *, safe: bool) -> float:
    """Read a depth as JavaScript's `Number` does: nothing is 0; what is no number is never reached.

    With `safe`, nothing is the depth that it means everywhere else: 4.
    """
    if value is None:
        return _DEFAULT_DEPTH if safe else 0
    number = to_number(value) if isinstance(value, str) else value
    # No `isnan`: a whole number may be too large for it.
    return number if number == number else _NEVER  # noqa: PLR0124
