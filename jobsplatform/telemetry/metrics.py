"""The numbers page, made from the database when it is asked for.

Jobs run in child processes on many hosts, so counters kept in memory would each know a part. The rows know
all of it: gauges are counted (at most once in ``FRESH_SECONDS``); totals of ended runs are carried on from the
attempts written since the last question, and kept in a row. Every web process gives the same answer, and a
restart loses nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Min
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from jobsplatform import live_totals
from jobsplatform.kernel import clock, config
from jobsplatform.kernel.models import Process
from jobsplatform.models import Tally
from jobsplatform.telemetry import schedule_metrics
from jobsplatform.telemetry.totals import OTHER, Histogram, Run, Totals
from scheduler.lateness import Lateness, lateness
from tasks.models import Job, JobAttempt
from tasks.states import ACTIVE, FINAL, IN_FLIGHT, Hold, State

FRESH_SECONDS = 5.0
SETTLED = timedelta(seconds=5)
"""Attempts younger than this wait for the next question: one with a smaller id may not be committed yet."""
RUNS_A_QUESTION = 100_000
EXACT_COUNT = 100_000
"""Ended jobs beyond this many are estimated on PostgreSQL, by its planner's statistics."""
MOST_QUEUES = 100
RUNS = "runs"
REJECTED = "lease_rejected:"

_lock = threading.Lock()
_cached: tuple[float, bytes] | None = None


def render() -> tuple[bytes, str]:
    """The page and its content type. Raises DatabaseError when the database is away."""
    global _cached
    with _lock:
        if _cached is None or not 0 <= clock.monotonic() - _cached[0] < FRESH_SECONDS:
            registry = CollectorRegistry(auto_describe=False)
            registry.register(_Once(list(families(clock.now()))))
            _cached = (clock.monotonic(), generate_latest(registry))
        return _cached[1], CONTENT_TYPE_PLAIN_0_0_4


def forget() -> None:
    """Count anew at the next question."""
    global _cached
    _cached = None


class _Once:
    """Hands over families that were collected before."""

    def __init__(self, found: list[Metric]) -> None:
        self._found = found

    def collect(self) -> Iterable[Metric]:
        return self._found


def families(now: datetime) -> Iterator[Metric]:
    """Everything on the page."""
    yield _jobs()
    yield from _queues(now)
    yield from _slots(now)
    yield from _runs(carry_on(now))
    rejected = CounterMetricFamily(
        "jobsplatform_stale_lease_rejects", "Late writes that changed nothing.", labels=["where"]
    )
    for name, value in Tally.objects.filter(name__startswith=REJECTED).values_list("name", "value"):
        rejected.add_metric([name.removeprefix(REJECTED)], value)
    yield rejected
    yield from schedule_metrics.families(now)
    yield from live_totals.families(now)


# -- counted ----------------------------------------------------------------------------------------


def _jobs() -> Metric:
    jobs = GaugeMetricFamily("jobsplatform_jobs", "Jobs by state.", labels=["state"])
    active = dict(
        Job.objects.filter(state__in=sorted(ACTIVE)).order_by().values_list("state").annotate(Count("id"))
    )
    for state in State:
        jobs.add_metric([state], active.get(state, 0) if state in ACTIVE else ended_count(state))
    return jobs


def ended_count(state: State) -> int:
    """How many jobs ended in ``state``: exact to ``EXACT_COUNT``; beyond it an estimate on PostgreSQL."""
    if state not in FINAL:
        raise ValueError(f"{state} is no final state")
    rows = Job.objects.filter(state=state).order_by()
    if connection.vendor != "postgresql":
        return rows.count()
    exact = rows.values("id")[: EXACT_COUNT + 1].count()
    if exact <= EXACT_COUNT:
        return exact
    with connection.cursor() as cursor:
        # The name of a state is one of ours; EXPLAIN plans better for a constant than for a parameter.
        cursor.execute(f"EXPLAIN (FORMAT JSON) SELECT 1 FROM {Job._meta.db_table} WHERE state = '{state}'")
        plan = cursor.fetchone()[0]
    return max(int(plan[0]["Plan"]["Plan Rows"]), exact)


def _queues(now: datetime) -> Iterator[Metric]:
    depth = GaugeMetricFamily("jobsplatform_queue_depth", "Jobs that could start now.", labels=["queue"])
    age = GaugeMetricFamily(
        "jobsplatform_oldest_pending_age_seconds", "Wait of the job that could have started first.",
        labels=["queue"],
    )  # fmt: skip
    waiting = (
        Job.objects.filter(state=State.PENDING, hold=Hold.NONE)
        .order_by()
        .values_list("queue")
        .annotate(Count("id"), Min("due_at"))
    )
    found: dict[str, tuple[int, datetime | None]] = dict.fromkeys(config.get().tasks.queues, (0, None))
    for queue, count, oldest in waiting:
        label = queue if queue in found or len(found) < MOST_QUEUES else OTHER
        before, first = found.get(label, (0, None))
        found[label] = (before + count, oldest if first is None else min(first, oldest))
    for label, (count, first) in found.items():
        depth.add_metric([label], count)
        age.add_metric([label], 0.0 if first is None else max((now - first).total_seconds(), 0.0))
    yield depth
    yield age


def _slots(now: datetime) -> Iterator[Metric]:
    settings = config.get().tasks
    heard = now - timedelta(seconds=settings.lease_seconds)
    processes = GaugeMetricFamily(
        "jobsplatform_processes", "Processes that have not ended.", labels=["role", "state"]
    )
    counts = {(role, state): 0 for role in Process.Role.values for state in ("live", "stale")}
    total = stuck = outside = 0
    rows = Process.objects.filter(stopped_at=None, lost_at=None)
    for role, beat, slots, held in rows.values_list("role", "heartbeat_at", "concurrency", "busy_threads"):
        state = "live" if beat > heard else "stale"
        counts[role, state] = counts.get((role, state), 0) + 1
        if role == Process.Role.WORKER and state == "live":
            total += slots
            stuck += held
        if role == Process.Role.SIDECAR and state == "live":
            outside += slots
    for labels, count in counts.items():
        processes.add_metric(labels, count)
    yield processes
    slots_family = GaugeMetricFamily(
        "jobsplatform_slots",
        "Slots of live workers: all, with a job, kept for urgent work, held by runs that no kill reaches; of sidecars: "
        "all, with a job.",
        labels=["kind"],
    )
    slots_family.add_metric(["total"], total)
    given = Job.objects.filter(state__in=sorted(IN_FLIGHT))
    elsewhere = given.filter(worker_id__in=rows.filter(role=Process.Role.SIDECAR).values("id")).count()
    slots_family.add_metric(["busy"], given.count() - elsewhere)
    slots_family.add_metric(["reserved"], min(settings.reserved_high_priority_slots, max(total - 1, 0)))
    slots_family.add_metric(["stuck"], stuck)
    slots_family.add_metric(["sidecars"], outside)
    slots_family.add_metric(["sidecars_busy"], elsewhere)
    yield slots_family


# -- carried on -------------------------------------------------------------------------------------


def carry_on(now: datetime, limit: int = RUNS_A_QUESTION) -> Totals:
    """Totals of all runs that ended until shortly before ``now``; each is counted once, by whoever asks.

    At most ``limit`` attempts are taken at a time; the next question goes on from there.
    """
    Tally.objects.bulk_create([Tally(name=RUNS)], ignore_conflicts=True)
    with transaction.atomic():
        tally = Tally.objects.select_for_update().get(name=RUNS)
        totals = Totals.from_json(tally.facts)
        last = tally.value
        for last, run in _new_runs(tally.value, now, limit):  # noqa: B007 (the last one is kept)
            totals.add(run)
        if last != tally.value:
            Tally.objects.filter(name=RUNS).update(value=last, facts=totals.as_json())
    return totals


def _new_runs(after: int, now: datetime, limit: int) -> Iterator[tuple[int, Run]]:
    rows = (
        JobAttempt.objects.filter(id__gt=after)
        .order_by("id")
        .values_list(
            "id", "job__handler_key", "job__priority", "outcome", "started_at", "finished_at", "job__due_at",
            "job__cancel_requested_at", "job__origin", "job__planned_at", "job__created_at", "job__run_after",
            "job__dispatched_at", "job__first_started_at",
        )[:limit]
    )  # fmt: skip
    for row in rows.iterator(chunk_size=2000):
        attempt, key, priority, outcome, started, finished, due, cancelled, *slot = row
        # A finish time in the future is some clock's fault and must not hold up all that come after it.
        if now - SETTLED < finished <= now + SETTLED:
            return
        late = _slot_lateness(started, *slot)
        yield attempt, Run(key.lstrip(":"), priority, outcome, started, finished, due, cancelled, late)


def _slot_lateness(
    started_at: datetime,
    origin: str,
    planned_at: datetime | None,
    created_at: datetime,
    run_after: datetime | None,
    dispatched_at: datetime | None,
    first_started_at: datetime | None,
) -> Lateness | None:
    """Of the first run of a live slot; those that were caught up or run by hand are late on purpose."""
    if origin != "live" or planned_at is None or started_at != first_started_at:
        return None
    return lateness(planned_at, created_at, run_after, dispatched_at, first_started_at)


def _runs(totals: Totals) -> Iterator[Metric]:
    labels = ["job_type", "priority"]
    ended = CounterMetricFamily(
        "jobsplatform_runs_ended", "Runs by how they ended.", labels=[*labels, "outcome"]
    )
    for key, count in totals.ended.items():
        ended.add_metric(key, count)
    yield ended
    lost = CounterMetricFamily("jobsplatform_runs_lost", "Runs whose worker or process died.")
    lost.add_metric([], totals.lost())
    yield lost
    yield _histogram("jobsplatform_run_seconds", "How long runs took.", labels, totals.run)
    yield _histogram("jobsplatform_wait_seconds", "From due to start.", labels, totals.wait)
    late = {(part,): histogram for part, histogram in totals.lateness.items()}
    yield _histogram(
        "jobsplatform_slot_lateness_seconds",
        "From a live slot to the start of its job, by part.",
        ["part"],
        late,
    )
    cancel = {(): totals.cancel}
    yield _histogram(
        "jobsplatform_cancel_latency_seconds", "From the request to the end of the run.", [], cancel
    )


def _histogram(
    name: str,
    told: str,
    labels: list[str],
    found: Mapping[Any, Histogram],
) -> Metric:
    family = HistogramMetricFamily(name, told, labels=labels)
    for key, histogram in found.items():
        family.add_metric(list(key), buckets=histogram.cumulative(), sum_value=histogram.total)
    return family
