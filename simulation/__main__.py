"""`./dev simulate`: histories of schedules by seed; exit 0 only when every promise held in all of them."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Sequence

from simulation.place import database
from tests.services import ServerError

HOLD, BROKEN, UNREACHABLE = 0, 1, 3
SAY_EVERY = 50


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 all hold, 1 one does not, 2 wrong use, 3 no server can be started."""
    options = _parser().parse_args(arguments)
    if options.seed is not None:
        seeds = range(options.seed, options.seed + (options.seeds or 1))
    else:
        first = secrets.randbelow(1_000_000_000)
        seeds = range(first, first + (options.seeds or 20))
    try:
        with database(postgres=options.postgres):
            return _tell_all(seeds, "--postgres " if options.postgres else "")
    except ServerError as error:
        print(f"./dev simulate: {error}", file=sys.stderr)
        return UNREACHABLE


def _tell_all(seeds: range, where: str) -> int:
    from simulation.run import tell

    slots, counts, broken = 0, Counter[str](), 0
    for done, seed in enumerate(seeds, start=1):
        told = tell(seed)
        slots += told.slots
        counts += told.counts
        if told.wrong:
            broken += 1
            print(f"{told}\nagain: ./dev simulate {where}--seed {seed}", file=sys.stderr, flush=True)
        if done % SAY_EVERY == 0:
            print(f"{done} of {len(seeds)} seeds", flush=True)
    happened = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
    print(f"seeds {seeds[0]} to {seeds[-1]}: {slots} slots; {happened}")
    print(
        f"{broken} of {len(seeds)} seeds broke a promise"
        if broken
        else "every slot has one decision, every fired slot one job"
    )
    return BROKEN if broken else HOLD


def _at_least(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"expected a whole number of {least} or more, got {text!r}")
        return number

    return read


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev simulate",
        description="Let schedules live through crashes, lost and doubled messages, wrong clocks and lock stores, "
        "by a virtual clock on the real planner; compare what is on record with the calendar.",
    )
    parser.add_argument(
        "--seeds", type=_at_least(1), metavar="N", help="so many histories (default: 20; with --seed 1)"
    )
    parser.add_argument(
        "--seed", type=_at_least(0), metavar="S", help="the first one (default: chosen at random)"
    )
    parser.add_argument(
        "--postgres", action="store_true", help="on a PostgreSQL server of its own, not on SQLite"
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
