"""End a server when the process that started it is gone, even by SIGKILL.

The guard is a small shell in a session of its own that reads from a pipe whose other end only the owner
holds. The kernel closes that end however the owner dies; then the guard ends the server and removes its
folder. It is the same on every platform, and it does not matter which thread started the server
(PR_SET_PDEATHSIG, the Linux alternative, fires when the starting *thread* ends).
"""

import os
import subprocess
from pathlib import Path

# $1 is the server's process id, empty when there is only a folder to remove; $2 the folder. `read` succeeds
# when the owner releases the guard in good order. QUIT is PostgreSQL's immediate shutdown, which takes its
# children along; KILL follows after three seconds.
_SCRIPT = """
read -r released && exit 0
if [ -n "$1" ]; then
    kill -QUIT "$1" 2>/dev/null
    tries=0
    while kill -0 "$1" 2>/dev/null && [ "$tries" -lt 30 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    kill -KILL "$1" 2>/dev/null
fi
rm -rf "$2"
"""


class Guard:
    """Watches one server process on behalf of this process; without a `pid`, only removes the folder."""

    def __init__(self, pid: int | None, folder: Path) -> None:
        reader, self._writer = os.pipe()
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, "guard", "" if pid is None else str(pid), str(folder)],
                stdin=reader,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        finally:
            os.close(reader)

    def release(self) -> None:
        """Send the guard home: the server has been ended by its owner."""
        if self._writer < 0:
            return
        try:
            os.write(self._writer, b"released\n")
        except BrokenPipeError:
            pass  # the guard itself was killed
        os.close(self._writer)
        self._writer = -1
        self._process.wait()
