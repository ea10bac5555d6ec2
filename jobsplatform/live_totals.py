"""What web processes push to live pages, carried into the rows from which the numbers page is made."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from jobsplatform.kernel import config, processes
from jobsplatform.kernel.loop import Loop
from jobsplatform.kernel.models import Process
from jobsplatform.models import Tally
from tasks.live.counts import COUNTS

EVERY_SECONDS = 5.0
PREFIX = "live:"
CONNECTIONS = "live_connections"
_TOLD = {
    "frames": "Frames sent to live pages.",
    "resyncs": "Times that a live page was told to fetch a snapshot.",
    "refused": "Live clients that were turned away, or sent nothing but bad frames.",
}


def of_process() -> dict[str, object]:
    """What a web process says of itself in its row."""
    return {CONNECTIONS: COUNTS.connections}


class LiveTotals(Loop):
    """Adds what this process has counted to the totals, every few seconds."""

    name = "live-totals"

    def __init__(self) -> None:
        super().__init__()
        self._carried = dict.fromkeys(_TOLD, 0)

    def step(self) -> bool:
        for name in _TOLD:
            counted = int(getattr(COUNTS, name))
            new = counted - self._carried[name]
            if new:
                Tally.add(f"{PREFIX}{name}", new)
                self._carried[name] = counted
        return False

    def wait_seconds(self) -> float:
        return EVERY_SECONDS


def families(now: datetime) -> Iterator[Metric]:
    """The numbers of live pages, over all web processes."""
    open_now = GaugeMetricFamily("jobsplatform_live_connections", "Live pages that are connected.")
    rows = processes.live(now, config.get().tasks.lease_seconds).filter(role=Process.Role.WEB)
    found = (info.get(CONNECTIONS, 0) for info in rows.values_list("info", flat=True))
    open_now.add_metric([], sum(found))
    yield open_now
    totals = dict(Tally.objects.filter(name__startswith=PREFIX).values_list("name", "value"))
    for name, told in _TOLD.items():
        family = CounterMetricFamily(f"jobsplatform_live_{name}", told)
        family.add_metric([], totals.get(f"{PREFIX}{name}", 0))
        yield family
