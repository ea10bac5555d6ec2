"""`./dev chaos`: strike every fault, print a table; exit 0 only when all promises hold."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Sequence
from difflib import get_close_matches

from chaos.errors import CannotRun
from chaos.lane import PLANTED
from chaos.lanes import Lanes
from chaos.platform import end_in_good_order, set_up_alone
from chaos.result import Result
from chaos.scale import Scale

HOLD, BROKEN, WRONG_USE, UNREACHABLE = 0, 1, 2, 3
FACTOR = 0.2
LANES = 2


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 all hold, 1 one does not, 2 wrong use, 3 something that it needs is missing."""
    options = _parser().parse_args(arguments)
    seed = options.seed if options.seed is not None else secrets.randbelow(1_000_000)
    end_in_good_order()
    environment = dict(os.environ)
    set_up_alone()
    try:
        orders = _orders(options)
    except LookupError as error:
        print(f"./dev chaos: --only: {error.args[0]}", file=sys.stderr)
        return WRONG_USE
    scale = Scale(FACTOR)
    _say(f"seed {seed}; {scale}")
    try:
        lanes = Lanes(environment, scale, seed, _kinds(), _say)
        results = lanes.carry_out(orders, options.lanes)
    except CannotRun as error:
        print(f"./dev chaos: {error}", file=sys.stderr)
        return UNREACHABLE
    return _judge([(order, results[order]) for order in orders], f"seed {seed}; {scale}", seed)


def _judge(results: Sequence[tuple[str, Result]], head: str, seed: int) -> int:
    """Print the tables; the exit code."""
    from chaos.planted import BUGS
    from chaos.table import catches, caught, table

    held = [result for order, result in results if not order.startswith(PLANTED)]
    planted = [
        (name, BUGS[name], result)
        for order, result in results
        if (name := order.removeprefix(PLANTED)) != order
    ]
    tables = [*([table(held)] if held else []), *([catches(planted)] if planted else [])]
    _say(f"\n{head}\n\n" + "\n\n".join(tables))
    broken = [f"--only {result.name}" for result in held if not result.holds]
    broken += [f"--planted --only {name}" for name, bug, result in planted if not caught(bug, result)]
    for words in broken:
        print(f"again: ./dev chaos {words} --seed {seed}", file=sys.stderr)
    return BROKEN if broken else HOLD


def _orders(options: argparse.Namespace) -> list[str]:
    """What to strike, in turn. Raises LookupError for a name that is none."""
    from chaos.faults.every import FAULTS
    from chaos.planted import BUGS

    names = [] if options.planted else [fault.name for fault in FAULTS]
    bugs = list(BUGS) if options.planted or options.all else []
    only = options.only or []
    for name in only:
        check_name(name, [*names, *bugs], "planted bugs" if options.planted else "faults")
    wanted = [name for name in names if not only or name in only]
    return wanted + [f"{PLANTED}{name}" for name in bugs if not only or name in only]


def check_name(wrong: str, names: Sequence[str], what: str) -> None:
    """Raises LookupError, with the nearest name, unless it is one of these."""
    if wrong in names:
        return
    near = get_close_matches(wrong, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(names)}"
    raise LookupError(f"{wrong!r} is none of the {what}; {hint}")


def _kinds() -> dict[str, object]:
    """Which workers each fault needs."""
    from chaos.faults.every import FAULTS

    return {fault.name: fault.workers for fault in FAULTS}


def _say(words: str) -> None:
    print(words, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev chaos",
        description="Kill, stop, flush and cut real servers and processes while jobs flow; count what ran.",
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="this fault only; may be repeated")
    parser.add_argument("--seed", type=int, help="of what is chosen at random (default: a new one)")
    parser.add_argument(
        "--planted",
        action="store_true",
        help="plant bugs in the workers instead, and see that each is caught",
    )
    parser.add_argument("--all", action="store_true", help="the faults, and then the planted bugs")
    parser.add_argument(
        "--lanes", type=int, choices=range(1, 9), default=LANES, metavar="N",
        help=f"so many platforms side by side, each with its own servers (default: {LANES})",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
