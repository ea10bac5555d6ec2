"""A copy of `./dev` in a folder of its own, with a PATH on which every program is chosen by the test."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_TOOLS = ("sh", "dirname", "cat", "cksum", "awk", "mkdir", "rm", "cp", "chmod")

# Stands for a Python: makes a "virtual environment" that holds a copy of itself, and notes what it was asked.
_PYTHON = """#!/bin/sh
case "$*" in
    *"-m venv"*) echo "venv by $0" >>calls; mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
    *"-m pip --version"*) ;;
    *"-m pip install"*uv.lock*)
        echo "pip installs uv" >>calls
        [ -z "${NO_UV:-}" ] || exit 1
        cp fake-uv "${0%/*}/uv"
        ;;
    *"-m pip install"*) echo "pip $*" >>calls; [ -z "${PIP_FAILS:-}" ] || exit 1 ;;
    *) exec "REAL" "$@" ;;
esac
"""

_UV = """#!/bin/sh
[ "$1" != --version ] || exit 0
echo "uv $*" >>calls
echo "$UV_SYSTEM_CERTS" >certificates
[ -z "${UV_WAITS_FOR:-}" ] || cat "$UV_WAITS_FOR" >/dev/null
[ -z "${UV_FAILS:-}" ] || exit 1
"""


class DevFolder:
    """The folder; `run` and `start` call its ./dev."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in _TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool) or tool)
        self.program("id", "#!/bin/sh\necho 1000\n")
        shutil.copy2(ROOT / "dev", folder / "dev")
        self.write("requirements.lock", "uv==1 \\\n    --hash=sha256:00\nx==1 \\\n    --hash=sha256:01\n")
        self.write("manage.py", "import sys\nprint('manage', *sys.argv[1:])\n")
        self.write("fake-uv", _UV).chmod(0o755)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def program(self, name: str, text: str, folder: Path | None = None) -> Path:
        """Put a program on the PATH (or into `folder`)."""
        path = (folder or self.bin) / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def python(self, name: str, folder: Path | None = None) -> Path:
        """Put a Python on the PATH that works."""
        return self.program(name, _PYTHON.replace("REAL", sys.executable), folder)

    def old_python(self, name: str) -> Path:
        """Put a Python on the PATH that says it is 3.9."""
        aged = "import sys; sys.version_info = (3, 9, 1)"
        return self.program(name, f'#!/bin/sh\nshift\nexec "{sys.executable}" -c "{aged}; $1"\n')

    def python_without_venv(self, name: str) -> Path:
        """Put a Python on the PATH that lacks the venv module, as Debian's does."""
        hidden = "import sys; sys.modules.update(venv=None, ensurepip=None)"
        return self.program(name, f'#!/bin/sh\nshift\nexec "{sys.executable}" -c "{hidden}; $1"\n')

    def environment(self, **extra: str) -> dict[str, str]:
        return {"PATH": str(self.bin), "HOME": str(self.folder), **extra}

    def start(self, *arguments: str, **extra: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [str(self.folder / "dev"), *arguments],
            cwd="/",
            env=self.environment(**extra),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
        process = self.start(*arguments, **extra)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def calls(self) -> list[str]:
        """What the installers were asked, in order; reading forgets it."""
        noted = self.folder / "calls"
        lines = noted.read_text().splitlines() if noted.exists() else []
        noted.unlink(missing_ok=True)
        return lines

    def make_fifo(self) -> Path:
        path = self.folder / "fifo"
        os.mkfifo(path)
        return path
