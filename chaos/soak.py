"""`./dev soak`: faults at random for long, times as shipped; memory, open files and connections must stay flat."""

from __future__ import annotations

import argparse
import json
import random
import secrets
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos import storm
from chaos.cron import soak as cron_soak
from chaos.errors import CannotRun
from chaos.flat import Samples, Trend
from chaos.live import storm as live_storm
from chaos.machine import describe
from chaos.platform import Servers, end_in_good_order
from chaos.result import Result
from chaos.scale import Scale
from tests.services import ServerError

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "chaos.md"
JSON = ROOT / "var" / "soak.json"
BEGIN, END = "<!-- soak -->", "<!-- /soak -->"
FLAT, BROKEN, WRONG_USE, UNREACHABLE = 0, 1, 2, 3
MINUTES = 60.0


@dataclass(slots=True)
class Soak:
    """What came of one."""

    head: str
    minutes: float = 0.0
    results: list[Result] = field(default_factory=list)
    trends: list[Trend] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Every promise held, and whatever could be measured did not grow."""
        return all(result.holds for result in self.results) and all(trend.flat for trend in self.trends)

    def text(self) -> str:
        """For people."""
        held, jobs = sum(result.holds for result in self.results), sum(one.jobs for one in self.results)
        lines = [
            self.head,
            "",
            f"{self.minutes:.0f} minutes, {len(self.results)} faults, {jobs:,} jobs, "
            f"{sum(one.runs for one in self.results):,} runs; {held} of {len(self.results)} hold",
        ]
        broken = [f"- {one.name}: {problem}" for one in self.results for problem in one.problems]
        lines += ["", *broken] if broken else []
        lines += ["", *(f"- {trend}" for trend in self.trends)]
        if not self.trends:
            lines.append("Growth was not measured: too short for that.")
        return "\n".join(lines)

    def facts(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {
            "head": self.head,
            "minutes": round(self.minutes, 1),
            "holds": self.holds,
            "faults": [result.facts() for result in self.results],
            "trends": [trend.facts() for trend in self.trends],
        }


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 all held and nothing grew, 1 not so, 2 wrong use, 3 something that it needs is missing."""
    if arguments and arguments[0] == "cron":
        return cron_soak.main(arguments[1:])
    if arguments and arguments[0] == "schedules":
        return storm.main(arguments[1:])
    if arguments and arguments[0] == "live":
        return live_storm.main(arguments[1:])
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
    soaked = Soak(f"{describe(ROOT)}; {scale}; seed {seed}")
    _say(soaked.head)
    try:
        with Servers(scale) as servers:
            soak(servers, seed, options.minutes, soaked)
    except (ServerError, CannotRun) as error:
        print(f"./dev soak: {error}", file=sys.stderr)
        return UNREACHABLE
    _say(f"\n{soaked.text()}")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(soaked.facts(), indent=1) + "\n")
    _say(f"\nwritten as {options.json}")
    if options.write:
        write(soaked.text())
        _say(f"written into {PAGE.relative_to(ROOT)}")
    return FLAT if soaked.holds else BROKEN


def soak(servers: Servers, seed: int, minutes: float, soaked: Soak) -> None:
    """Strike at random until the time is up. One worker and the web process are never struck themselves, and live
    as long as the soak: they are what must not grow."""
    # What follows needs Django, which works on the servers that have just been started.
    from chaos.faults.base import Fault
    from chaos.faults.every import FAULTS
    from chaos.fleet import STEADY
    from chaos.run import Platform

    rng, samples, began = random.Random(seed), Samples(), time.monotonic()
    coming: list[Fault] = []
    with Platform(servers, seed, _say, steady=True) as platform:
        while (at := time.monotonic() - began) < minutes * 60:
            # In a new order each time: a soak that is long enough meets them all.
            coming = coming or rng.sample(FAULTS, len(FAULTS))
            soaked.results.append(platform.strike(coming.pop().name, len(soaked.results)))
            platform.calm_down()
            at = time.monotonic() - began
            processes = {STEADY: platform.steady_pid, "web": platform.web.pid}
            samples.take(at, processes, _connections(servers))
    soaked.minutes, soaked.trends = at / 60, samples.trends()


def _connections(servers: Servers) -> dict[str, int]:
    """Of the platform, ours left out."""
    import psycopg

    with psycopg.connect(servers.postgres.url_of("postgres"), autocommit=True) as session:
        row = session.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname <> 'postgres'"
        ).fetchone()
    client = servers.redis.client()
    try:
        clients = int(client.info("clients")["connected_clients"]) - 1
    finally:
        client.close()
    return {"PostgreSQL": int(row[0]) if row else 0, "Redis": clients}


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
        prog="./dev soak",
        description="Strike faults at random for long; the result goes into docs/chaos.md. "
        "`./dev soak cron` compares cron expressions instead, `./dev soak schedules` storms at schedules, "
        "`./dev soak live` at live pages.",
    )
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"how long (default: {MINUTES:g})")
    parser.add_argument("--seed", type=int, help="of what is chosen at random (default: a new one)")
    parser.add_argument("--factor", type=float, default=1.0, help="of all times (default: 1, as shipped)")
    parser.add_argument("--json", type=Path, default=JSON, help="where the figures go (default: %(default)s)")
    parser.add_argument(
        "--no-write", dest="write", action="store_false", help="leave the page as it is, only print"
    )
    return parser


def _say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
