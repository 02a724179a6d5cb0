"""What the README types into a shell does what it says."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.http_scene import CARD, PRESET, WORLD, HttpScene
from tests.http_server import Served

README = Path(__file__).parents[2] / "README.md"
BASH = shutil.which("bash") or ""
CURL = shutil.which("curl")


@pytest.mark.skipif(not BASH or CURL is None, reason="there is no bash or no curl")
def test_a_set_up_is_made_with_curl(
    scene: HttpScene, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("files")
    for name, data in (("Maren.json", CARD), ("River.json", WORLD), ("Default.json", PRESET)):
        (folder / name).write_bytes(data)
    found = re.search(
        r"<!-- http-life -->\n```sh\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert found is not None
    with Served.of(scene.api) as served:
        script = found[1].replace("127.0.0.1:7320", f"127.0.0.1:{served.port}")
        run = subprocess.run(
            [BASH, "-euo", "pipefail", "-c", script],
            cwd=folder,
            capture_output=True,
            check=False,
            text=True,
        )
    assert run.returncode == 0, run.stderr
    answers = [json.loads(part) for part in re.findall(r"\{\"ok\".*?\}(?=\{\"ok\"|$)", run.stdout)]
    *_, active, index = answers
    assert active["selection"]["characterCardId"] is not None
    assert active["resources"]["worldBooks"][0]["entryCount"] > 0
    assert index == {
        "ok": True,
        "sessionId": "a-new-session",
        "records": [],
        "storage": index["storage"],
    }
