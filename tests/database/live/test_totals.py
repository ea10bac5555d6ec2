"""The numbers of live pages."""

from collections.abc import Iterator

import pytest

from jobsplatform import live_totals
from jobsplatform.kernel import clock, processes
from tasks.live.counts import COUNTS

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def counts_as_they_were() -> Iterator[None]:
    before = {name: getattr(COUNTS, name) for name in COUNTS.__slots__}
    yield
    for name, value in before.items():
        setattr(COUNTS, name, value)


def shown() -> dict[str, float]:
    families = live_totals.families(clock.now())
    return {sample.name: sample.value for family in families for sample in family.samples}


def test_totals_grow_by_what_each_process_has_counted():
    totals = live_totals.LiveTotals()
    before = COUNTS.frames
    COUNTS.frames += 3
    totals.step()
    COUNTS.frames += 2
    COUNTS.resyncs += 1
    totals.step()
    totals.step()
    found = shown()
    assert found["jobsplatform_live_frames_total"] == before + 5
    assert found["jobsplatform_live_refused_total"] == COUNTS.refused


def test_open_connections_are_those_of_live_web_processes():
    now = clock.now()
    for count in (3, 4):
        process = processes.register("web", name="web", now=now)
        assert processes.beat(process.pk, now, info={live_totals.CONNECTIONS: count})
    gone = processes.register("web", name="web", now=now)
    processes.beat(gone.pk, now, info={live_totals.CONNECTIONS: 9})
    processes.stop(gone.pk, now)
    assert shown()["jobsplatform_live_connections"] == 7
