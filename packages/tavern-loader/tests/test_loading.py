"""What the command that a host starts does not load before the host can be answered."""

import subprocess
import sys


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    code = "import sys, tavern_loader.cli, tavern_loader.commands.host_command; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "tavern_loader.adapters.hosting" in loaded
    assert not {"tavern_compiler", "tavern_format", "starlette", "filelock"} & {*loaded}
