"""`./dev soak`: faults at random for long, times as shipped; memory, open files and connections must stay flat."""

from __future__ import annotations

import argparse
import os
import platform as machines
import random
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import psutil

from chaos.errors import CannotRun
from chaos.flat import Samples
from chaos.platform import Servers, end_in_good_order
from chaos.scale import Scale
from tests.services import ServerError

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "chaos.md"
BEGIN, END = "<!-- soak -->", "<!-- /soak -->"
FLAT, BROKEN, WRONG_USE, UNREACHABLE = 0, 1, 2, 3
MINUTES = 60.0


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 all held and nothing grew, 1 not so, 2 wrong use, 3 something that it needs is missing."""
    options = _parser().parse_args(arguments)
    if not 0 < options.minutes <= 10_000:
        print(f"./dev soak: --minutes: expected more than 0, got {options.minutes:g}", file=sys.stderr)
        return WRONG_USE
    if not 0 < options.factor <= 1:
        print(
            f"./dev soak: --factor: expected more than 0, at most 1, got {options.factor:g}", file=sys.stderr
        )
        return WRONG_USE
    seed = options.seed if options.seed is not None else secrets.randbelow(1_000_000)
    end_in_good_order()
    scale = Scale(options.factor)
    head = describe(scale, seed)
    _say(head)
    try:
        with Servers(scale) as servers:
            held, text = soak(servers, seed, options.minutes)
    except (ServerError, CannotRun) as error:
        print(f"./dev soak: {error}", file=sys.stderr)
        return UNREACHABLE
    _say(f"\n{text}")
    if options.write:
        write(f"{head}\n\n{text}")
        _say(f"\nwritten into {PAGE.relative_to(ROOT)}")
    return FLAT if held else BROKEN


def soak(servers: Servers, seed: int, minutes: float) -> tuple[bool, str]:
    """Strike at random until the time is up; whether all held and nothing grew, and the result in words."""
    from chaos.faults.every import FAULTS
    from chaos.run import Result, fleet, running_web, struck

    rng, samples, results = random.Random(seed), Samples(), list[Result]()
    began = time.monotonic()
    with running_web(servers) as web, fleet(servers, web) as workers:
        while time.monotonic() - began < minutes * 60:
            fault = rng.choice(FAULTS)
            results.append(struck(servers, workers, fault, seed, _say, len(results)))
            workers.muster(["a", "b"])
            processes = {name: worker.pid for name, worker in workers.workers.items()}
            samples.take({**processes, "web": web.pid}, _connections(servers))
    trends = samples.trends()
    lines = [f"{(time.monotonic() - began) / 60:.0f} minutes, {len(results)} faults, "
             f"{sum(r.jobs for r in results):,} jobs, {sum(r.runs for r in results):,} runs; "
             f"{sum(r.holds for r in results)} of {len(results)} hold"]  # fmt: skip
    lines += [f"- {r.fault.name}: {problem}" for r in results for problem in r.problems]
    lines += ["", *(f"- {trend}" for trend in trends)]
    if not trends:
        lines.append("Growth was not measured: too short for that.")
    return all(r.holds for r in results) and all(trend.flat for trend in trends), "\n".join(lines)


def _connections(servers: Servers) -> int:
    """Sessions of the platform, ours left out."""
    import psycopg

    with psycopg.connect(servers.postgres.url_of("postgres"), autocommit=True) as session:
        row = session.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname <> 'postgres'"
        ).fetchone()
    return int(row[0]) if row else 0


def describe(scale: Scale, seed: int) -> str:
    """When, where and what, in one line."""
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC; JobsPlatform {_revision()}; {psutil.cpu_count()} cores, "
        f"{psutil.virtual_memory().total / 2**30:.0f} GiB, {machines.system()} {machines.machine()}, "
        f"Python {machines.python_version()}; load before: {os.getloadavg()[0]:.2f}; {scale}; seed {seed}"
    )


def _revision() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return "of unknown revision"
    return done.stdout.strip() or "of unknown revision"


def write(text: str) -> None:
    """Put the result between its marks in the page. Raises CannotRun when they are not there."""
    page = PAGE.read_text() if PAGE.exists() else ""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise CannotRun(f"{PAGE.name} has no place for the result: {BEGIN} … {END}")
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev soak", description="Strike faults at random for long; the result goes into docs/chaos.md."
    )
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"how long (default: {MINUTES:g})")
    parser.add_argument("--seed", type=int, help="of what is chosen at random (default: a new one)")
    parser.add_argument("--factor", type=float, default=1.0, help="of all times (default: 1, as shipped)")
    parser.add_argument(
        "--no-write", dest="write", action="store_false", help="leave the page as it is, only print"
    )
    return parser


def _say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
