"""The child process of ``system.command``: one management command, and no life beyond its parent's.

Started by path with the parent's ``sys.path`` (JSON) and the command's arguments. Its standard input is a
pipe that the parent never writes to: when it ends, the parent is gone, however it died. Uses nothing of the
platform before ``sys.path`` is set.
"""

import json
import os
import sys
import threading

PARENT_GONE = 75


def main() -> None:
    sys.path[:] = json.loads(sys.argv.pop(1))
    parent = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    from django.core.management import execute_from_command_line  # noqa: PLC0415 (sys.path comes first)

    sys.argv[0] = "manage.py"
    execute_from_command_line(sys.argv)


def _watch(parent: int) -> None:
    while os.read(parent, 1):
        pass
    os._exit(PARENT_GONE)


if __name__ == "__main__":
    main()
