"""`tavern-loader bind`: what a session uses, what new ones begin with, books and their owners."""

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tavern_loader.commands.command import Command, Outcome, add_home, add_json, installation
from tavern_loader.commands.naming import meant
from tavern_loader.commands.showing import columns, document_text, lines_text
from tavern_loader.domain.bindings import Owner
from tavern_loader.domain.documents import Kind
from tavern_loader.domain.selection import LoreChannel, Selection
from tavern_loader.domain.session_selections import selection_to_json
from tavern_loader.installation import Installation
from tavern_loader.service.binding import Wish
from tavern_loader.service.templates import Preview

NOTHING = "none"
_OWNERS = {
    "books_of_user": (Owner.USER, Kind.USER),
    "books_of_preset": (Owner.PRESET, Kind.PRESET),
    "books_of_character": (Owner.CHARACTER, Kind.CHARACTER),
}


def _add_options(parser: argparse.ArgumentParser) -> None:
    whom = parser.add_mutually_exclusive_group(required=True)
    whom.add_argument("--session", metavar="ID", help="bind to this session")
    whom.add_argument(
        "--default", action="store_true", help="bind to all sessions that begin from now on"
    )
    for name, (_, kind) in _OWNERS.items():
        text = f"bind the world books to this {kind}: they count wherever it is used"
        whom.add_argument(f"--{name.replace('_', '-')}", metavar="RESOURCE", help=text)
    add = parser.add_argument
    unbind = f"or {NOTHING}"
    add("--preset", metavar="RESOURCE", help=unbind)
    add("--character", metavar="RESOURCE", help=unbind)
    add("--user", metavar="RESOURCE", help=unbind)
    add(
        "--world-book",
        metavar="RESOURCE",
        action="append",
        help=f"in place of those bound before; may be given again; {unbind}",
    )
    add("--greeting", metavar="N", type=int, help="0: the first message; N: the N-th other one")
    add(
        "--lore-channel",
        choices=[str(channel) for channel in LoreChannel],
        help="system: fired lore among the parts; late: behind the history, so that what stands"
        " before it stays the same and a provider's prefix cache holds",
    )
    add_home(parser)
    add_json(parser)


def _run(options: argparse.Namespace) -> Outcome:
    held = installation(options)
    owner = next((name for name in _OWNERS if getattr(options, name)), None)
    try:
        if owner is not None:
            return _bind_books(held, options, owner)
        wish = _wish(held, options)
        if wish.is_empty:
            return _shown(held, options, _bound_now(held, options))
        if options.default:
            return _shown(held, options, held.binding.bind_default(wish))
        return _shown(held, options, held.binding.bind_session(options.session, wish))
    except ValueError as error:
        options.usage_error(str(error))
        return 2


def _bound_now(held: Installation, options: argparse.Namespace) -> Selection:
    if options.default:
        return held.library.defaults()
    return held.library.selection(options.session)


def _bind_books(held: Installation, options: argparse.Namespace, name: str) -> Outcome:
    owner, kind = _OWNERS[name]
    for other in ("preset", "character", "user", "greeting", "lore_channel"):
        if getattr(options, other) is not None:
            options.usage_error(f"--{other.replace('_', '-')} can be bound to sessions only")
    _, owner_id = meant(held.catalog, getattr(options, name), kind)
    if options.world_book is None:
        bound = held.binding.books_of(owner, owner_id)
    else:
        bound = held.binding.bind_books(owner, owner_id, _books(held, options) or ())
    if options.json:
        return document_text(
            {"owner": str(owner), "ownerId": owner_id, "worldBookIds": list(bound)}
        )
    rows = [(book_id, *_name_of(held, Kind.WORLD_BOOK, book_id)) for book_id in bound]
    return lines_text(columns(("world book", "name"), rows) if rows else ["no world books"])


def _wish(held: Installation, options: argparse.Namespace) -> Wish:
    channel = options.lore_channel
    return Wish(
        preset_id=_meant(held, Kind.PRESET, options.preset),
        character_id=_meant(held, Kind.CHARACTER, options.character),
        user_id=_meant(held, Kind.USER, options.user),
        world_book_ids=_books(held, options),
        greeting_index=options.greeting,
        lore_channel=None if channel is None else LoreChannel(channel),
    )


def _meant(held: Installation, kind: Kind, reference: str | None) -> str | None:
    if reference is None:
        return None
    return "" if reference == NOTHING else meant(held.catalog, reference, kind)[1]


def _books(held: Installation, options: argparse.Namespace) -> tuple[str, ...] | None:
    if options.world_book is None:
        return None
    wanted = [one for one in options.world_book if one != NOTHING]
    return tuple(meant(held.catalog, one, Kind.WORLD_BOOK)[1] for one in wanted)


def _name_of(held: Installation, kind: Kind, document_id: str) -> Iterator[str]:
    summaries = held.catalog.listing(kind).summaries
    yield next((one.name for one in summaries if one.id == document_id), "(missing)")


def _shown(held: Installation, options: argparse.Namespace, selection: Selection) -> Outcome:
    preview = held.templates.preview(selection)
    if options.json:
        return document_text(selection_json(preview))
    return lines_text(selection_lines(preview))


def selection_json(preview: Preview) -> dict[str, Any]:
    """Write what is bound as values."""
    return {
        "selection": selection_to_json(preview.selection),
        "loreChannel": str(preview.selection.lore_channel),
        "contents": [
            {"kind": str(one.kind), "id": one.id, "name": one.name, "missing": one.missing}
            for one in preview.contents
        ],
        "available": preview.is_available,
    }


def selection_lines(preview: Preview, *, ids: bool = True) -> Iterator[str]:
    """Say what is bound; without `ids` they stand only where a name alone says too little."""
    times = Counter((one.kind, one.name) for one in preview.contents if not one.missing)
    rows = [
        (
            str(one.kind),
            "(missing)" if one.missing else one.name,
            one.id if ids or times[one.kind, one.name] != 1 else "",
        )
        for one in preview.contents
    ]
    selection = preview.selection
    if selection.character.greeting_index:
        rows.append(("greeting", str(selection.character.greeting_index), ""))
    if selection.lore_channel is not LoreChannel.SYSTEM:
        rows.append(("lore", str(selection.lore_channel), ""))
    head = ("bound", "name", "id" if any(row[2] for row in rows) else "")
    yield from columns(head, rows) if rows else ["nothing is bound"]
    for fault in preview.faults:
        yield f"  {fault.code}: {fault.message}"


COMMANDS = (
    Command(
        name="bind",
        help="bind resources to a session, or as what new sessions begin with",
        description="Bind resources, each named by its id, the beginning of one, or its name."
        " Without anything to bind, shows what is bound.",
        add_options=_add_options,
        run=_run,
    ),
)
