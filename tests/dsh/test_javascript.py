"""The bridge's modules under plain Node: what the real host cannot be made to do; other hosts."""

import subprocess

from tavern_loader.adapters.installing import bridge_source
from tests.dsh._host import HERE, Home


def test_modules_of_the_bridge(home: Home) -> None:
    command, folder = home.fault_python()
    files = [str(path) for path in sorted((HERE / "js").glob("*.test.mjs"))]
    done = subprocess.run(
        [str(home.toolbox.node), "--test", "--test-timeout=30000", "--test-reporter=spec", *files],
        env={
            **home.environment,
            "TAVERN_BRIDGE": str(bridge_source()),
            "TAVERN_PYTHON": command,
            "TAVERN_FAULT_FOLDER": str(folder),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.partition("failing tests:")[2]


def test_every_file_of_the_bridge_is_small_and_needs_nothing() -> None:
    for path in sorted(bridge_source().rglob("*.js")):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 250, path.name
        imports = [line.split("from ")[1] for line in lines if line.startswith("import ")]
        strange = [one for one in imports if not one.startswith(("'node:", "'./"))]
        assert strange == [], path.name
