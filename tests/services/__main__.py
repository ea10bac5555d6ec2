"""`python -m tests.services up [postgres] [redis]`: servers for development, until Ctrl-C.

Prints one `NAME=value` line for each, ready for `export` or an `.env` file.
"""

import signal
import sys
from contextlib import ExitStack
from types import FrameType

from tests.services import ServerError, start_postgres, start_redis

_STARTERS = {"postgres": ("DATABASE_URL", start_postgres), "redis": ("REDIS_URL", start_redis)}


def main(arguments: list[str]) -> int:
    """Run the servers named (default: all) until SIGINT or SIGTERM; the exit code of the command line."""
    names = arguments[1:] or list(_STARTERS)
    if arguments[:1] != ["up"] or not set(names) <= set(_STARTERS):
        print("use: python -m tests.services up [postgres] [redis]", file=sys.stderr)
        return 2
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    with ExitStack() as servers:
        try:
            for name in names:
                variable, start = _STARTERS[name]
                print(f"{variable}={servers.enter_context(start()).url}", flush=True)
        except ServerError as error:
            print(error, file=sys.stderr)
            return 3
        while True:
            signal.pause()


def _end(number: int, frame: FrameType | None) -> None:
    """Leave by way of the servers' own ends, wherever we are."""
    raise SystemExit(0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
