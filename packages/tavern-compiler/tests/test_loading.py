"""What a compile does not load, since a host waits for its first one."""

import subprocess
import sys


def test_a_compile_loads_nothing_that_projects_messages() -> None:
    code = (
        "import sys\n"
        "from tavern_compiler import CompileInput, compile_profile\n"
        "compile_profile(CompileInput()).audit\n"
        "print(*sorted(name for name in sys.modules if name.startswith('tavern_compiler.')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[2] for name in run.stdout.split()}
    assert "compile" in loaded
    assert {name for name in loaded if "st_" in name or "snapshot" in name} == set()
