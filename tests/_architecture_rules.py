"""The boundary rules as pure functions: one module's source text in, violations out.

Knows nothing of files or of the five packages: what a package may do is a `Boundary`, given by
`test_architecture.py`. A rule looks at names as they are written, through import aliases; what
only shows when the code runs is the business of `test_no_effects.py` and `test_determinism.py`.
"""

import ast
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tests._module import Module

EFFECT_MODULES = frozenset({"cli", "__main__"})
"""The modules of a pure package that may read and print. Nothing imports them."""

FORBIDDEN_BUILTINS: Mapping[str, str] = {
    "__import__": "hides what is imported",
    "breakpoint": "stops for a person",
    "compile": "makes code at run time",
    "eval": "makes code at run time",
    "exec": "makes code at run time",
    "exit": "ends the process",
    "globals": "reaches module state",
    "hash": "differs between hash seeds",
    "help": "prints",
    "input": "reads the terminal",
    "locals": "reaches frame state",
    "open": "opens a file",
    "print": "prints",
    "quit": "ends the process",
}

FORBIDDEN_NAMES: Mapping[str, str] = {
    "codecs.open": "opens a file",
    "datetime.date.fromtimestamp": "reads the local time zone",
    "datetime.date.today": "reads the clock",
    "datetime.datetime.now": "reads the clock",
    "datetime.datetime.today": "reads the clock",
    "datetime.datetime.utcnow": "reads the clock",
    "io.FileIO": "opens a file",
    "io.open": "opens a file",
    "io.open_code": "opens a file",
    "marshal.load": "trusts the bytes it reads",
    "marshal.loads": "trusts the bytes it reads",
    "uuid.getnode": "reads the machine",
    "uuid.uuid1": "reads the clock",
    "uuid.uuid4": "reads random bytes",
}
"""Effects inside standard modules that a pure package may otherwise use."""

LOCAL_ZONE_CALLS: Mapping[str, int] = {"astimezone": 1, "fromtimestamp": 2}
"""Methods that read the local time zone when called with fewer arguments than this."""


@dataclass(frozen=True, kw_only=True)
class Boundary:
    """What the modules of one package may import and do."""

    package: str
    siblings: frozenset[str] = frozenset()
    third_parties: frozenset[str] = frozenset()
    stdlib: frozenset[str] = frozenset()
    """The standard modules that its pure modules may import."""
    pure: tuple[str, ...] = ("",)
    """Dotted prefixes inside the package under which modules are pure; "" is all of it."""
    hidden: frozenset[str] = frozenset()
    """Dotted names of the siblings' submodules, less those that are also public names."""


Rule = Callable[[Module, Boundary], Iterable[tuple[int, str]]]


def violations(module: Module, boundary: Boundary) -> list[str]:
    """List what a module does that its package may not, one line each, by line number."""
    found = {item for rule in RULES for item in rule(module, boundary)}
    return [f"{module.name}:{line}: {message}" for line, message in sorted(found)]


def standard_modules(module: Module, boundary: Boundary) -> Iterator[tuple[int, str]]:
    """A pure module imports a standard module only if its package's list has it.

    The package itself may have what loads its own modules when a name of theirs is asked for.
    """
    if _is_pure(module, boundary):
        listed = boundary.stdlib | ({"importlib"} if module.inner == "__init__" else set())
        for found in module.imports:
            if found.top in sys.stdlib_module_names - listed:
                yield found.line, f"imports {found.top}, which is not on the list"


def third_parties(module: Module, boundary: Boundary) -> Iterator[tuple[int, str]]:
    """A module imports a third party only if its package's list has it."""
    known = sys.stdlib_module_names | boundary.third_parties | {boundary.package}
    for found in module.imports:
        if found.top not in known and not _is_ours(found.top):
            yield found.line, f"imports {found.top}, which is not on the list"


def sibling_edges(module: Module, boundary: Boundary) -> Iterator[tuple[int, str]]:
    """A package imports only the siblings that the architecture lets it import."""
    for found in module.imports:
        if _is_ours(found.top) and found.top not in boundary.siblings | {boundary.package}:
            yield found.line, f"imports {found.top}, which is no sibling of {boundary.package}"


def sibling_inside(module: Module, boundary: Boundary) -> Iterator[tuple[int, str]]:
    """A package uses public names of a sibling's top package, never one of its modules."""
    for found in module.imports:
        if _is_ours(found.top) and found.top != boundary.package and "." in found.module:
            yield found.line, f"imports from {found.module}, a module of a sibling"
    for dotted, line in _reaches(module):
        if dotted in boundary.hidden:
            yield line, f"uses {dotted}, a module of a sibling"


_PUBLIC_ALL_THE_SAME = frozenset({"os._exit"})
"""Documented functions of the standard library whose names begin like private ones."""


def private_names(module: Module, boundary: Boundary) -> Iterator[tuple[int, str]]:
    """A package uses no private module or name of another."""
    for dotted, line in _reaches(module):
        top, *inner = dotted.split(".")
        private = [part for part in inner if part.startswith("_") and not part.startswith("__")]
        if private and top != boundary.package and dotted not in _PUBLIC_ALL_THE_SAME:
            yield line, f"uses {dotted}, which is private"


def effect_modules(module: Module, boundary: Boundary) -> Iterator[tuple[int, str]]:
    """Nothing imports the command line of a package, save its `__main__`."""
    effects = {f"{boundary.package}.{name}" for name in EFFECT_MODULES}
    for dotted, line in _reaches(module):
        start = ".".join(dotted.split(".")[:2])
        if start in effects and module.inner != "__main__":
            yield line, f"imports {start}, which has effects"


def builtin_effects(module: Module, boundary: Boundary) -> Iterator[tuple[int, str]]:
    """A pure module reads no builtin that has an effect or differs between runs."""
    if not _is_pure(module, boundary):
        return
    for node in _names_read(module):
        if node.id in FORBIDDEN_BUILTINS:
            yield node.lineno, f"uses {node.id}: it {FORBIDDEN_BUILTINS[node.id]}"


def _names_read(module: Module) -> Iterator[ast.Name]:
    # `__hash__` is what `hash` is for; what Python does with it never reaches a result.
    methods = (node for node in module.nodes if isinstance(node, ast.FunctionDef))
    inside = (inner for node in methods if node.name == "__hash__" for inner in ast.walk(node))
    hashing = {node for node in inside if isinstance(node, ast.Name) and node.id == "hash"}
    for node in module.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in hashing:
            yield node


def named_effects(module: Module, boundary: Boundary) -> Iterator[tuple[int, str]]:
    """A pure module names no clock, file or random source of a standard module on its list."""
    if _is_pure(module, boundary):
        for dotted, line in _reaches(module):
            if dotted in FORBIDDEN_NAMES:
                yield line, f"uses {dotted}: it {FORBIDDEN_NAMES[dotted]}"


def local_zone(module: Module, boundary: Boundary) -> Iterator[tuple[int, str]]:
    """A pure module makes no time in the machine's own zone."""
    if not _is_pure(module, boundary):
        return
    for node in module.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            needed = LOCAL_ZONE_CALLS.get(node.func.attr, 0)
            if len(node.args) + len(node.keywords) < needed:
                yield node.lineno, f"calls {node.func.attr} without a zone: it reads the machine's"


def global_state(module: Module, boundary: Boundary) -> Iterator[tuple[int, str]]:
    """A pure module rebinds no module variable."""
    if _is_pure(module, boundary):
        for node in module.nodes:
            if isinstance(node, ast.Global):
                yield node.lineno, f"rebinds {', '.join(node.names)} of the module"


RULES: tuple[Rule, ...] = (
    standard_modules,
    third_parties,
    sibling_edges,
    sibling_inside,
    private_names,
    effect_modules,
    builtin_effects,
    named_effects,
    local_zone,
    global_state,
)


def dependency_faults(
    imported: Iterable[str], declared: Iterable[str], import_names: Mapping[str, frozenset[str]]
) -> list[str]:
    """Say which imports no declared distribution provides, and which of those nobody imports.

    `import_names` holds the distributions whose import names differ from their own.
    """
    tops = set(imported)
    provided = {name: import_names.get(name, frozenset({name})) for name in declared}
    unknown = tops.difference(*provided.values())
    unused = [name for name, provides in provided.items() if not provides & tops]
    return [f"imports {name}, declared by no dependency" for name in sorted(unknown)] + [
        f"declares {name}, imported by no module" for name in sorted(unused)
    ]


def foreign_imports(modules: Iterable[Module], package: str) -> frozenset[str]:
    """Collect the top-level packages that modules import, less standard ones and their own."""
    tops = {found.top for module in modules for found in module.imports}
    return frozenset(tops - sys.stdlib_module_names - {package})


def public_names(init: Module) -> frozenset[str]:
    """Read `__all__` of an `__init__` without importing it."""
    for node in init.nodes:
        if isinstance(node, ast.Assign) and "__all__" in map(ast.unparse, node.targets):
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def hidden_names(source: Iterable[Module], package: str) -> frozenset[str]:
    """List a package's own modules by dotted name, less those whose name is also public."""
    found = {module.name.removesuffix(".__init__"): module for module in source}
    init = found.pop(package, None)
    public = {f"{package}.{name}" for name in public_names(init)} if init else set()
    return frozenset(set(found) - public)


def _is_pure(module: Module, boundary: Boundary) -> bool:
    inner = module.inner
    if inner in EFFECT_MODULES:
        return False
    return any(f"{inner}.".startswith(f"{part}." if part else "") for part in boundary.pure)


def _is_ours(top: str) -> bool:
    return top == "tavern" or top.startswith("tavern_")


def _reaches(module: Module) -> Iterator[tuple[str, int]]:
    yield from ((found.dotted, found.line) for found in module.imports)
    yield from module.references
