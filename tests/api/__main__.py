"""Run schemathesis against a served API over stores of its own.

Every answer must be as described, and none may be a fault of the server's.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.http_scene import CARD, PRESET, WORLD, Client, HttpScene
from tests.http_server import Served

ROOT = Path(__file__).parents[2]
CONFIG = Path(__file__).parent / "schemathesis.toml"


def main(arguments: list[str]) -> int:
    """Serve, run, and give the exit code of schemathesis; `arguments` are added to its own."""
    with tempfile.TemporaryDirectory() as folder:
        scene = HttpScene(Path(folder))
        fill(scene.client)
        try:
            with Served.of(scene.api) as served:
                code = run(served.port, arguments)
        finally:
            scene.api.close()
        for line in scene.complaints:
            sys.stderr.write(f"defect: {line}\n")
        return code or len(scene.complaints)


def fill(client: Client) -> None:
    """Keep one resource of each kind, and bind it to a session."""
    client.post("/v1/import", {"content": PRESET.decode()})
    card = client.send("POST", "/v1/characters/import", data=CARD).json["character"]["id"]
    client.send("POST", "/v1/world-books/import", data=WORLD)
    client.post("/v1/users", {"name": "Ilse"})
    client.post("/v1/character-selection", {"sessionId": "s-1", "characterCardId": card})
    client.post("/v1/session-templates", {"name": "Night", "sourceSessionId": "s-1"})


def run(port: int, arguments: list[str]) -> int:
    """Run schemathesis against the API on a port."""
    origin = f"http://127.0.0.1:{port}"
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        f"--config-file={CONFIG}",
        "run",
        f"{origin}/pmp-dsh-tavern/api/openapi.json",
        "--header",
        f"Origin: {origin}",
        "--no-color",
        *arguments,
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, check=False, env=environment, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
