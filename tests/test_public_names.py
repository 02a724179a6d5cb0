"""Each public name of each package is there, and where a type checker sees it."""

import ast
from collections.abc import Iterator
from importlib import import_module
from inspect import getsource
from types import ModuleType

import pytest

from tests._tree import FOLDERS, import_name

PACKAGES = [import_module(import_name(folder)) for folder in FOLDERS]


def by_name(package: ModuleType) -> str:
    return package.__name__


def imports(package: ModuleType) -> Iterator[tuple[str, str]]:
    """Read the module and name of each import from the package itself, deferred ones included."""
    for node in ast.walk(ast.parse(getsource(package))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(package.__name__):
            yield from ((str(node.module), alias.name) for alias in node.names)


@pytest.mark.parametrize("package", PACKAGES, ids=by_name)
def test_each_public_name_is_where_a_type_checker_sees_it(package: ModuleType) -> None:
    seen = {name: home for home, name in imports(package)}
    assert sorted(seen) == sorted(package.__all__)
    for name, home in seen.items():
        assert getattr(package, name) is getattr(import_module(home), name)


@pytest.mark.parametrize("package", PACKAGES, ids=by_name)
def test_public_names_are_listed_and_no_module_hides_one(package: ModuleType) -> None:
    assert set(package.__all__) <= set(dir(package))
    assert not [one for one in package.__all__ if isinstance(getattr(package, one), ModuleType)]


@pytest.mark.parametrize("package", PACKAGES, ids=by_name)
def test_unknown_name_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"'{package.__name__}' has no attribute 'nothing'"):
        package.nothing  # noqa: B018
