"""Session templates: keep a selection under a name, look at it, use it.

Owns what is said of a configuration that cannot be used. Must not know files.

Source: the plugin contract, section F.
"""

from collections.abc import Iterator

from attrs import evolve, frozen

from tavern_loader.domain import session_selections, templates
from tavern_loader.domain.documents import JsonObject, Kind
from tavern_loader.domain.js_values import iso_time, list_of, object_of, text_of
from tavern_loader.domain.selection import LoreChannel, Selection
from tavern_loader.domain.templates import Template
from tavern_loader.errors import StoreError
from tavern_loader.ports import Clock, Identities
from tavern_loader.service.library import Library
from tavern_loader.store_ports import Stores


@frozen(kw_only=True)
class Fault:
    """Why a configuration cannot be used."""

    code: str
    field: str
    """Name of the field in the stored selection."""
    resource_id: str
    message: str


@frozen(kw_only=True)
class Content:
    """One resource of a configuration."""

    kind: Kind
    id: str
    name: str
    missing: bool


@frozen(kw_only=True)
class Preview:
    """What a configuration would bind."""

    selection: Selection
    contents: tuple[Content, ...]
    faults: tuple[Fault, ...]

    @property
    def is_available(self) -> bool:
        """Whether it can be used."""
        return not self.faults


class ConfigurationError(StoreError):
    """A configuration names resources that are missing or cannot be used."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        """Keep what is wrong."""
        message = "the configuration names resources that are missing or cannot be used"
        super().__init__("SESSION_CONFIGURATION_UNAVAILABLE", message)
        self.faults = faults


class SessionTemplates:
    """The session templates of one installation."""

    def __init__(
        self, stores: Stores, clock: Clock, identities: Identities, library: Library
    ) -> None:
        """Work on stores; templates are made from and used on the library's selections."""
        self._stores = stores
        self._clock = clock
        self._identities = identities
        self._library = library

    def all(self) -> tuple[Template, ...]:
        """List the templates in their order. Raises StoreError."""
        return tuple(templates.all_templates(self._document(), self._extras()))

    def get(self, template_id: str) -> Template:
        """Give a template. Raises NotFoundError, StoreError."""
        return templates.find(self._document(), self._extras(), template_id)

    def selected(self) -> Template | None:
        """Give the chosen template; None if there is none. Raises StoreError."""
        chosen = templates.selected_id(self._document())
        return None if chosen is None else self.get(chosen)

    def save(self, name: str, selection: Selection, *, choose: bool = True) -> Template:
        """Keep a selection under a name. Raises ValueError for the name, StoreError."""
        now = iso_time(self._clock.now_ms())
        template = Template(
            id=self._identities.new(),
            name=templates.template_name(name),
            selection=selection,
            created_at=now,
            updated_at=now,
        )
        with self._stores.exclusive():
            self._keep(template)
            if choose:
                self.choose(template.id)
        return template

    def change(
        self, template_id: str, *, name: str | None = None, selection: Selection | None = None
    ) -> Template:
        """Change a template. Raises NotFoundError, ValueError for the name, StoreError."""
        with self._stores.exclusive():
            before = self.get(template_id)
            after = evolve(
                before,
                name=before.name if name is None else templates.template_name(name),
                selection=before.selection if selection is None else selection,
                updated_at=iso_time(self._clock.now_ms()),
            )
            self._keep(after)
        return after

    def choose(self, template_id: str | None) -> None:
        """Choose the template that new sessions begin with. Raises NotFoundError, StoreError."""
        with self._stores.exclusive():
            if template_id is not None:
                self.get(template_id)
            self._stores.templates.change(
                lambda document: templates.choosing(document, template_id)
            )

    def delete(self, template_id: str) -> None:
        """Delete a template. Raises NotFoundError, StoreError."""
        with self._stores.exclusive():
            self.get(template_id)
            self._stores.templates.change(
                lambda document: templates.without_template(document, template_id)
            )
            self._keep_channel(template_id, LoreChannel.SYSTEM)

    def preview(self, selection: Selection) -> Preview:
        """Say what a selection would bind, and what is wrong with it."""
        contents = tuple(self._contents(selection))
        missing = {(one.kind, one.id) for one in contents if one.missing}
        return Preview(
            selection=selection,
            contents=contents,
            faults=tuple(self._faults(selection, missing)),
        )

    def apply(self, session_id: str, selection: Selection) -> Selection:
        """Give a session a whole selection at once.

        Raises ConfigurationError if a resource of it is missing, StoreError.
        """
        preview = self.preview(selection)
        if not preview.is_available:
            raise ConfigurationError(preview.faults)
        return self._library.set_selection(session_id, selection)

    def _keep(self, template: Template) -> None:
        self._keep_channel(template.id, template.selection.lore_channel)
        self._stores.templates.change(lambda document: templates.with_template(document, template))

    def _keep_channel(self, template_id: str, channel: LoreChannel) -> None:
        self._stores.extras.change(
            lambda extras: session_selections.with_channel(
                extras, "templates", template_id, channel
            )
        )

    def _document(self) -> JsonObject:
        return self._stores.templates.read().document

    def _extras(self) -> JsonObject:
        return self._stores.extras.read().document

    def _contents(self, selection: Selection) -> Iterator[Content]:
        for kind, bound in _bound(selection):
            try:
                document = self._stores.documents(kind).get(bound).document
                name = text_of(document.get("name")) or bound
                yield Content(kind=kind, id=bound, name=name, missing=False)
            except StoreError:
                yield Content(kind=kind, id=bound, name=bound, missing=True)

    def _faults(self, selection: Selection, missing: set[tuple[Kind, str]]) -> Iterator[Fault]:
        for kind, bound in _bound(selection):
            is_missing = (kind, bound) in missing
            if is_missing or (kind is Kind.CHARACTER and not self._has_greeting(selection)):
                reason = "is missing or cannot be used" if is_missing else "has no such greeting"
                yield Fault(
                    code=f"SESSION_CONFIGURATION_{_FAULTS[kind]}",
                    field=_FIELDS[kind],
                    resource_id=bound,
                    message=f"the {kind} {bound} {reason}",
                )

    def _has_greeting(self, selection: Selection) -> bool:
        document = self._stores.characters.get(selection.character_id or "").document
        others = list_of(object_of(document.get("data")).get("alternateGreetings"))
        return selection.character.greeting_index <= len(others)


_FAULTS = {
    Kind.PRESET: "PRESET_MISSING",
    Kind.CHARACTER: "CHARACTER_MISSING_OR_INVALID",
    Kind.USER: "USER_MISSING",
    Kind.WORLD_BOOK: "WORLD_BOOK_MISSING",
}
_FIELDS = {
    Kind.PRESET: "presetId",
    Kind.CHARACTER: "characterCardId",
    Kind.USER: "userId",
    Kind.WORLD_BOOK: "worldBookIds",
}


def _bound(selection: Selection) -> Iterator[tuple[Kind, str]]:
    """List everything a selection names."""
    single = (
        (Kind.PRESET, selection.preset_id),
        (Kind.CHARACTER, selection.character_id),
        (Kind.USER, selection.user_id),
    )
    yield from ((kind, bound) for kind, bound in single if bound is not None)
    yield from ((Kind.WORLD_BOOK, bound) for bound in selection.world_book_ids)
