"""``jobs tail``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from jobsplatform.kernel import clock
from tasks.cli import arguments, json_output, names
from tasks.cli.base import PlatformCommand
from tasks.cli.filter_options import add_filter_options, chosen
from tasks.cli.following import pause, reading
from tasks.cli.job_rows import state_colour
from tasks.cli.text import cut, padded, plain
from tasks.filters import JobFilter
from tasks.models import Job
from tasks.output import job_output

HELP = "print moves of jobs as they happen, until Ctrl-C"
# A row is seen when it commits, which may be some time after the instant that it carries.
LOOK_BACK = timedelta(seconds=10)
MAX_ROWS = 2000


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--interval",
        type=arguments.seconds,
        default=1.0,
        metavar="TIME",
        help="between two looks (default 1s)",
    )
    parser.add_argument(
        "--for", dest="duration", type=arguments.seconds, metavar="TIME", help="end after this long"
    )
    parser.add_argument("--json", action="store_true", help="one JobOutput a line")
    add_filter_options(parser)


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    clock.current().sync()
    started = clock.monotonic()
    watch = Changes(chosen(options, clock.now()), clock.now())
    while True:
        began = clock.monotonic()
        for job in watch.step(clock.now()):
            _say(command, job, as_json=options["json"])
        cost = clock.monotonic() - began
        if options["duration"] is not None and clock.monotonic() - started >= options["duration"]:
            return
        # There is no index on the time of a change: on a large table a look is dear, and must stay rare.
        pause(max(0.05, options["interval"], 10 * cost))


class Changes:
    """Jobs of a filter that changed since the last look, each change of state once."""

    def __init__(self, wanted: JobFilter, now: datetime) -> None:
        self._wanted = wanted
        self._since = now
        self._start = now
        self._seen: dict[UUID, tuple[str, int, str, datetime]] = {}

    def step(self, now: datetime) -> Iterator[Job]:
        """What is new, oldest first."""
        since = max(self._start, self._since - LOOK_BACK)
        rows = list(
            self._wanted.queryset().filter(updated_at__gte=since).order_by("updated_at", "id")[:MAX_ROWS]
        )
        for job in rows:
            mark = (job.state, job.lease, job.reason, job.updated_at)
            before = self._seen.get(job.id)
            self._seen[job.id] = mark
            if before is None or before[:3] != mark[:3]:
                yield job
        self._since = rows[-1].updated_at if len(rows) == MAX_ROWS else now
        keep = self._since - 2 * LOOK_BACK
        self._seen = {job_id: mark for job_id, mark in self._seen.items() if mark[3] >= keep}


def _say(command: PlatformCommand, job: Job, *, as_json: bool) -> None:
    if as_json:
        json_output.line(command.out, job_output(job))
        return
    out = command.out
    state = out.paint(padded(job.state, 10), state_colour(job.state))
    details = job.error or job.reason or (reading(job).text().partition(" ")[2] if job.progress_done else "")
    text = f"{job.updated_at:%H:%M:%S}  {state}  {job.id}  {plain(names.shown(job.handler_key))}"
    more = plain(details)
    if out.is_tty:
        room = out.columns - len(text) + len(state) - len(job.state.ljust(10)) - 2
        more = cut(more, room) if room > 3 else ""
    out.line(f"{text}  {more}".rstrip())
