"""One module's source text, and what it imports and refers to, read without running it.

Knows nothing of rules: `_architecture_rules.py` judges what is found here.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple


class Import(NamedTuple):
    """One imported name: `from module import name`, or `import module` with no name."""

    module: str
    name: str | None
    line: int

    @property
    def top(self) -> str:
        """The top-level package it comes from."""
        return self.module.partition(".")[0]

    @property
    def dotted(self) -> str:
        """Everything the statement reaches."""
        return f"{self.module}.{self.name}" if self.name else self.module


@dataclass(frozen=True)
class Module:
    """One module: its dotted name and its source text."""

    name: str
    text: str

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of its syntax tree."""
        return tuple(ast.walk(ast.parse(self.text)))

    @property
    def inner(self) -> str:
        """Its dotted name inside its package."""
        return self.name.partition(".")[2]

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """Every import anywhere in it, relative ones made absolute."""
        return tuple(
            Import(module, alias, node.lineno)
            for node in self.nodes
            if isinstance(node, ast.Import | ast.ImportFrom)
            for module, alias in self._reached(node)
        )

    @cached_property
    def references(self) -> tuple[tuple[str, int], ...]:
        """Dotted origin and line of every name and attribute that leads back to an import."""
        origins = self._origins()
        return tuple(
            (dotted, node.lineno)
            for node in self.nodes
            if isinstance(node, ast.Attribute | ast.Name) and (dotted := _origin(node, origins))
        )

    def _reached(self, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str | None]]:
        if isinstance(node, ast.Import):
            return ((alias.name, None) for alias in node.names)
        # The name of `__init__` ends in `.__init__`, so one level up is its package there too.
        base = self.name.split(".")[: -node.level] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        return ((module, alias.name) for alias in node.names)

    def _origins(self) -> dict[str, str]:
        origins = {}
        for node in self.nodes:
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            for alias, (module, name) in zip(node.names, self._reached(node), strict=True):
                whole = f"{module}.{name}" if name else module
                local = alias.asname or (name or module.partition(".")[0])
                # `import a.b` binds `a`; `import a.b as c` and `from a import b` bind `a.b`.
                origins[local] = whole if alias.asname or name else local
        return origins


def _origin(node: ast.Attribute | ast.Name, origins: Mapping[str, str]) -> str | None:
    parts: list[str] = []
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        parts.insert(0, inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name) or inner.id not in origins:
        return None
    return ".".join([origins[inner.id], *parts])
