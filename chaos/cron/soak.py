"""`./dev soak cron`: thousands of expressions near the clock changes of 24 zones, ours beside cronsim."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections import Counter
from collections.abc import Sequence

from chaos.cron.compare import RULES, ZONES, Disagreement, cases, compare

AGREE, DISAGREE, WRONG_USE = 0, 1, 2
EXPRESSIONS = 5_000
_TOLD = 20


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 when every disagreement is explained by a named rule, 1 when one is not, 2 for wrong use."""
    options = _parser().parse_args(arguments)
    if not 1 <= options.expressions <= 10_000_000:
        print(
            f"./dev soak cron: --expressions: expected 1 or more, got {options.expressions}", file=sys.stderr
        )
        return WRONG_USE
    seed = options.seed if options.seed is not None else secrets.randbelow(1_000_000)
    unexplained = 0
    explained: Counter[str] = Counter()
    for number in range(options.first, options.first + options.expressions):
        for found in disagreements(seed, number):
            if found.rule:
                explained[found.rule] += 1
                continue
            unexplained += 1
            if unexplained <= _TOLD:
                print(
                    f"{found}\n    again: ./dev soak cron --seed {seed} --first {number} --expressions 1",
                    flush=True,
                )
    print(
        f"seed {seed}: {options.expressions:,} expressions in {len(ZONES)} zones, "
        f"{options.expressions * len(ZONES):,} comparisons"
    )
    for rule in RULES:
        print(f"  {explained[rule]:7,}  {rule}")
    print(f"  {unexplained:7,}  unexplained")
    return DISAGREE if unexplained else AGREE


def disagreements(seed: int, number: int) -> list[Disagreement]:
    """Those of the ``number``-th expression of a seed, in every zone."""
    return [found for case in cases(seed, number) if (found := compare(case)) is not None]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev soak cron",
        description="Compare cron expressions with a second reading of them, near the clock changes of 24 zones.",
    )
    parser.add_argument(
        "--expressions",
        type=int,
        default=EXPRESSIONS,
        metavar="N",
        help=f"how many (default: {EXPRESSIONS:,})",
    )
    parser.add_argument("--seed", type=int, help="of what is chosen at random (default: a new one)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="begin with the N-th of the seed")
    return parser


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
