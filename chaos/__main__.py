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
            return (_plant if options.planted else _strike)(servers, options.only or [], seed)
    except (ServerError, CannotRun) as error:
        print(f"./dev chaos: {error}", file=sys.stderr)
        return UNREACHABLE


def _strike(servers: Servers, only: list[str], seed: int) -> int:
    # What follows needs Django, which works on the servers that have just been started.
    from chaos.faults.every import FAULTS
    from chaos.run import run
    from chaos.table import table

    if (code := _refuse(only, [fault.name for fault in FAULTS], "faults")) is not None:
        return code
    chosen = [fault for fault in FAULTS if not only or fault.name in only]
    results = run(servers, chosen, seed, _say)
    _say(f"\nseed {seed}; {servers.scale}\n\n{table(results)}")
    if all(result.holds for result in results):
        return HOLD
    print(f"what the processes said, and the file: {servers.keep()}", file=sys.stderr)
    return BROKEN


def _plant(servers: Servers, only: list[str], seed: int) -> int:
    from chaos.catch import catch
    from chaos.planted import BUGS
    from chaos.table import catches

    if (code := _refuse(only, list(BUGS), "planted bugs")) is not None:
        return code
    found = catch(servers, [name for name in BUGS if not only or name in only], seed, _say)
    _say(f"\nseed {seed}; {servers.scale}\n\n{catches(found)}")
    return HOLD if all(one.seen for one in found) else BROKEN


def _refuse(only: list[str], names: list[str], what: str) -> int | None:
    """The exit code when one of the names is none of these."""
    wrong = next((name for name in only if name not in names), None)
    if wrong is None:
        return None
    near = get_close_matches(wrong, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(names)}"
    print(f"./dev chaos: --only: {wrong!r} is none of the {what}; {hint}", file=sys.stderr)
    return WRONG_USE


def _say(words: str) -> None:
    print(words, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev chaos",
        description="Kill, stop, flush and cut real servers and processes while jobs flow; count what ran.",
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="this fault only; may be repeated")
    parser.add_argument(
        "--planted", action="store_true", help="plant bugs in the workers, and see that each is caught"
    )
    parser.add_argument("--seed", type=int, help="of what is chosen at random (default: a new one)")
    return parser


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
