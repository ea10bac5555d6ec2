"""One platform under fire: strikes what it is told to, one fault after the other, and reports. Started by ``chaos``.

Reads from its input a line an order: a fault's name, or ``planted:`` and a bug's. Writes JSON lines: ``say`` (words for
people), ``ready`` (give me the next), ``result``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from chaos.errors import CannotRun
from chaos.platform import Servers, end_in_good_order
from chaos.scale import Scale
from tests.services import ServerError

PLANTED = "planted:"
UNREACHABLE = 3


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 all orders were carried out, whatever came of it; 3 something is missing."""
    parser = argparse.ArgumentParser(prog="python -m chaos.lane")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--factor", type=float, required=True)
    options = parser.parse_args(arguments)
    end_in_good_order()
    try:
        with Servers(Scale(options.factor)) as servers:
            _serve(servers, options.seed, sys.stdin)
    except (ServerError, CannotRun) as error:
        _tell(missing=str(error))
        return UNREACHABLE
    return 0


def _serve(servers: Servers, seed: int, orders: Iterable[str]) -> None:
    # What follows needs Django, which works on the servers that have just been started.
    from chaos.run import Platform

    with Platform(servers, seed, lambda words: _tell(say=words)) as platform:
        _tell(ready=True)
        for order in orders:
            name = order.strip()
            if name.startswith(PLANTED):
                result = platform.plant(name.removeprefix(PLANTED))
            else:
                result = platform.strike(name)
            _tell(result=result.facts(), order=name)


def _tell(**message: Any) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
