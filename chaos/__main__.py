"""`./dev chaos`: strike every fault, print a table; exit 0 only when all promises hold."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Sequence
from difflib import get_close_matches

from chaos.errors import CannotRun
from chaos.platform import Servers, end_in_good_order
from chaos.scale import Scale
from tests.services import ServerError

HOLD, BROKEN, WRONG_USE, UNREACHABLE = 0, 1, 2, 3
FACTOR = 0.2


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 all hold, 1 one does not, 2 wrong use, 3 something that it needs is missing."""
    options = _parser().parse_args(arguments)
    seed = options.seed if options.seed is not None else secrets.randbelow(1_000_000)
    end_in_good_order()
    scale = Scale(FACTOR)
    print(f"seed {seed}; {scale}", flush=True)
    try:
        with Servers(scale) as servers:
            return _strike(servers, options.only or [], seed)
    except (ServerError, CannotRun) as error:
        print(f"./dev chaos: {error}", file=sys.stderr)
        return UNREACHABLE


def _strike(servers: Servers, only: list[str], seed: int) -> int:
    # What follows needs Django, which works on the servers that have just been started.
    from chaos.faults.every import FAULTS
    from chaos.run import run
    from chaos.table import table

    names = [fault.name for fault in FAULTS]
    wrong = next((name for name in only if name not in names), None)
    if wrong is not None:
        near = get_close_matches(wrong, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(names)}"
        print(f"./dev chaos: --only: {wrong!r} is none of the faults; {hint}", file=sys.stderr)
        return WRONG_USE
    chosen = [fault for fault in FAULTS if not only or fault.name in only]
    results = run(servers, chosen, seed, lambda words: print(words, flush=True))
    print(f"\nseed {seed}; {servers.scale}\n\n{table(results)}", flush=True)
    return HOLD if all(result.holds for result in results) else BROKEN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev chaos",
        description="Kill, stop, flush and cut real servers and processes while jobs flow; count what ran.",
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="this fault only; may be repeated")
    parser.add_argument("--seed", type=int, help="of what is chosen at random (default: a new one)")
    return parser


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
