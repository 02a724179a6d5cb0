"""The variables that all chats share, which SillyTavern calls global.

Owns what of them is written: what may hold something of an input stays in memory. Must not know
macros or files.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from attrs import define, field, frozen

from tavern_loader.store_ports import StateFile

SCHEMA_VERSION = 1
EMPTY: Mapping[str, Any] = {"schemaVersion": SCHEMA_VERSION, "variables": {}}


@frozen(kw_only=True)
class SharedValues:
    """All of them at one moment."""

    values: Mapping[str, object] = field(factory=dict, repr=False)
    private: frozenset[str] = frozenset()
    """Names of those that may hold something of an input."""


@define(kw_only=True)
class SharedVariables:
    """One store for all sessions. Safe to use from several threads with a real lock."""

    file: StateFile
    lock: AbstractContextManager[object] = field(factory=nullcontext)
    _private: dict[str, object] = field(factory=dict, init=False, repr=False)
    """Values that are never written."""

    def read(self) -> SharedValues:
        """Give all of them. Raises StoreError."""
        with self.lock:
            values = {**_variables(self.file.read().document), **self._private}
            return SharedValues(values=values, private=frozenset(self._private))

    def change(
        self, before: Mapping[str, object], after: Mapping[str, object], private: frozenset[str]
    ) -> None:
        """Take over what a step changed; what other sessions changed meanwhile stays.

        Raises StoreError.
        """
        removed = before.keys() - after.keys()
        changed = {
            name: value
            for name, value in after.items()
            if name not in before or before[name] != value
        }
        if not (removed or changed):
            return
        with self.lock:
            for name in (*removed, *changed):
                self._private.pop(name, None)
            self._private |= {name: changed[name] for name in changed if name in private}
            written = {name: changed[name] for name in changed if name not in private}

            def merge(document: dict[str, Any]) -> dict[str, Any]:
                known = {
                    name: value
                    for name, value in _variables(document).items()
                    if name not in removed
                }
                return {**document, "variables": {**known, **written}}

            if written or removed:
                self.file.change(merge)


def _variables(document: Mapping[str, Any]) -> Mapping[str, object]:
    found = document.get("variables")
    return found if isinstance(found, Mapping) else {}
