"""Everything that is done with this tree: `nox -l` lists it, `nox -s NAME` does it.

Needs Python 3.11 or newer and nothing else: nox brings virtualenv, and uses uv where it finds it.
`nox -t tavern-format` runs what belongs to one package, `nox -R -s NAME` again without installing.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nox

nox.needs_version = ">=2026.10"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = "CI" in os.environ
nox.options.reuse_venv = "yes"

ROOT = Path(__file__).parent
SUPPORTED = ("3.11", "3.12", "3.13")
# Whoever has a newer Python only can still run the tests.
PYTHONS = list(dict.fromkeys([*SUPPORTED, "{}.{}".format(*sys.version_info)]))
WHEELHOUSE = ROOT / "dist"
# Tests share nothing; more processes than this cost more to start than they save.
AT_ONCE = ("-n", str(min(os.cpu_count() or 1, 4)))
FEW_EXAMPLES = {"TAVERN_FUZZ_EXAMPLES": "10"}
GROUPS = nox.project.load_toml(ROOT / "pyproject.toml")


class Package(NamedTuple):
    """One row of PACKAGES."""

    needs: tuple[str, ...] = ()
    """The siblings it imports, in the order they are built."""
    extras: str = ""
    """What its own tests need of its optional dependencies."""
    checks_with: tuple[str, ...] = ()
    """What its tests hold it against and itself does without."""


# In build order; `tests/test_packaging.py` holds it against each pyproject.toml.
PACKAGES = {
    "tavern-format": Package(extras="[yaml]", checks_with=("regex",)),
    "tavern-matcher": Package(needs=("tavern-format",)),
    "tavern-compiler": Package(needs=("tavern-format", "tavern-matcher")),
    "tavern-trace": Package(),
    "tavern-loader": Package(
        needs=("tavern-format", "tavern-matcher", "tavern-compiler", "tavern-trace")
    ),
}
# Wanted by name on machines that hold nothing else: the whole pipeline, and the reader by itself.
ALONE = ("tavern-format", "tavern-loader")
EACH_PACKAGE = nox.parametrize(
    "package", [nox.param(name, id=name, tags=[name]) for name in PACKAGES]
)


@nox.session(python=PYTHONS)
@EACH_PACKAGE
def unit(session: nox.Session, package: str) -> None:
    """Run one package's tests, with nothing installed that it does not declare."""
    install(session, *PACKAGES[package].needs, package)
    # What random values find hardly depends on the interpreter: the first one looks longest.
    env = {} if session.python == SUPPORTED[0] else FEW_EXAMPLES
    session.run("pytest", *AT_ONCE, f"packages/{package}/tests", *session.posargs, env=env)


@nox.session(python=PYTHONS)
def integration(session: nox.Session) -> None:
    """Run the tests of the whole tree: boundaries, determinism, packaging, README, pipeline.

    With `TAVERN_DATA` set to a folder, its character cards are tried, too.
    """
    install(session, *PACKAGES)
    session.run("pytest", *AT_ONCE, "tests", *session.posargs)


@nox.session(tags=["tavern-format"])
def conformance(session: nox.Session) -> None:
    """Compare with recorded results of the real programs; `-- --vectors DIR` for other records."""
    install(session, *PACKAGES)
    session.run(
        "python", "-m", "tests.conformance", *(session.posargs or ("--vectors", "tests/vectors"))
    )


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and layout with ruff; `-- --fix` repairs what it can."""
    session.install(*groups("lint"))
    session.run("ruff", "check", *session.posargs)
    session.run("ruff", "format", *(() if "--fix" in session.posargs else ("--check",)))


@nox.session
def typing(session: nox.Session) -> None:
    """Check types with mypy: sources, tests and this file."""
    install(session, *PACKAGES, group="typing")
    # One run for each folder of tests: two of them may hold files of the same name.
    for folder in (*(f"packages/{name}" for name in PACKAGES), "."):
        targets = [str(path) for path in typed_paths(ROOT / folder)]
        session.run("mypy", *targets, *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Build the wheels of all five packages into dist/."""
    session.install(*groups("build"))
    shutil.rmtree(WHEELHOUSE, ignore_errors=True)
    for name in PACKAGES:
        session.run(
            "python", "-m", "build", "--wheel", "--no-isolation",
            "--outdir", str(WHEELHOUSE), f"packages/{name}", silent=True,
        )  # fmt: skip
    pins = [f"{wheel.name.split('-')[0]} @ {wheel.as_uri()}" for wheel in WHEELHOUSE.glob("*.whl")]
    (WHEELHOUSE / "constraints.txt").write_text("\n".join(pins), encoding="utf-8")


@nox.session(requires=["build"], reuse_venv=False)
@nox.parametrize("package", [nox.param(name, id=name) for name in ALONE])
def wheels(session: nox.Session, package: str) -> None:
    """Install one package by name from the built wheels alone, and look at what came."""
    # The constraints bind our five names to the files in dist/; only third parties come from afar.
    session.install("--constraint", str(WHEELHOUSE / "constraints.txt"), package)
    expected = (*PACKAGES[package].needs, package)
    session.run("python", "-I", "tests/_wheel_check.py", str(WHEELHOUSE), *expected)


@nox.session(python=SUPPORTED[0], default=False)
def minimums(session: nox.Session) -> None:
    """Run every package's tests with the lowest versions of what it declares."""
    session.install("uv>=0.8")
    # Like pip, and unlike uv by itself, trust the certificates that the machine trusts.
    env = {"UV_SYSTEM_CERTS": "1"}
    editable = [f"--editable={path}" for path in editables(*PACKAGES)]
    python = f"--python={session.virtualenv.location}"
    uv_install = ("uv", "pip", "install", python)
    session.run(*uv_install, "--resolution=lowest-direct", *editable, env=env)
    session.run(*uv_install, *groups("test"), env=env)
    session.run("uv", "pip", "list", python)
    for name in PACKAGES:
        session.run(
            "pytest", *AT_ONCE, f"packages/{name}/tests", *session.posargs, env=FEW_EXAMPLES
        )


@nox.session(default=False)
def fuzz(session: nox.Session) -> None:
    """Search for inputs that break a package; `TAVERN_FUZZ_EXAMPLES` sets the budget."""
    packages = tuple(PACKAGES)
    install(session, *packages)
    tests = [f"packages/{package}/tests" for package in packages]
    env = {"TAVERN_FUZZ_EXAMPLES": os.environ.get("TAVERN_FUZZ_EXAMPLES", "2000")}
    session.run("pytest", *tests, "-m", "fuzz", *session.posargs, env=env)


@nox.session(default=False)
def api(session: nox.Session) -> None:
    """Hold every answer of the HTTP API against its description; `-- --seed 7` for other ones."""
    install(session, *PACKAGES)
    session.install(*groups("api"))
    session.run("python", "-m", "tests.api", *(session.posargs or ("-n", "20")))


@nox.session(default=False)
def oracle(session: nox.Session) -> None:
    """Compare random scans with SillyTavern itself: needs Node 20 and npm; `-- --cases 5000`."""
    install(session, *PACKAGES)
    session.run("python", "-m", "tests.oracle", *session.posargs)


@nox.session(default=False)
def dsh(session: nox.Session) -> None:
    """Run the loader in the real host, which npm brings; `-- figures` measures what it costs."""
    if shutil.which("npm") is None:
        session.skip("npm is needed to install DSH: there is no `npm` on the path")
    install(session, *PACKAGES)
    session.run("python", "-m", "tests.dsh._install")
    if session.posargs == ["figures"]:
        session.run("python", "-m", "tests.dsh.figures")
        return
    # The contract of the HTTP API holds through the host's web server, too.
    folders = ("tests/dsh", "packages/tavern-loader/tests/http")
    session.run("pytest", *folders, *session.posargs, env={"TAVERN_DSH_TESTS": "1"})


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Run the benchmarks in packages/*/benchmarks; `-- WORD` only those with it in their path."""
    install(session, *PACKAGES, group="bench")
    for script in sorted(ROOT.glob("packages/*/benchmarks/[!_]*.py")):
        if all(word in str(script.relative_to(ROOT)) for word in session.posargs):
            session.run("python", str(script))


@nox.session(default=False)
def demo(session: nox.Session) -> None:
    """Compile a card, world book, preset and chat: samples, or `-- --card FILE --input TEXT`."""
    install(session, *PACKAGES, group=None)
    session.run("python", "-m", "tavern_loader", "compile", *session.posargs)


def install(session: nox.Session, *names: str, group: str | None = "test") -> None:
    """Install packages as editable, and the tools of one dependency group."""
    tools = groups(group) if group else ()
    if group == "test":
        tools += tuple(tool for name in names for tool in PACKAGES[name].checks_with)
    session.install(*tools, *(f"--editable={path}" for path in editables(*names)))


def editables(*names: str) -> Iterator[str]:
    """Name the folders of packages, with their extras."""
    return (f"packages/{name}{PACKAGES[name].extras}" for name in names)


def groups(name: str) -> tuple[str, ...]:
    """List the requirements of a dependency group of the root pyproject.toml."""
    return nox.project.dependency_groups(GROUPS, name)


def typed_paths(folder: Path) -> Iterator[Path]:
    """List what mypy reads in a folder: there may be no benchmarks in one, or no noxfile."""
    paths = (folder / name for name in ("src", "tests", "benchmarks", "noxfile.py"))
    return (path.relative_to(ROOT) for path in paths if path.exists())
