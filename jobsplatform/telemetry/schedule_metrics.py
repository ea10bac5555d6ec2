"""The numbers of schedules on the metrics page: counted when asked for, like all others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Min, Sum
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from jobsplatform.models import Tally
from scheduler import overdue
from scheduler.models import Backfill, Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.states import Status

DECISIONS = "decisions"
SETTLED = timedelta(seconds=30)
"""Decisions younger than this wait for the next question: one of the same time may not be committed yet."""
DAY = timedelta(days=1)
"""As far as one question goes on."""


def families(now: datetime) -> Iterator[Metric]:
    """Everything about schedules."""
    found = overdue.report(now)
    schedules = GaugeMetricFamily(
        "jobsplatform_schedules", "Schedules: planned, overdue, faulty.", labels=["state"]
    )
    schedules.add_metric(["live"], Schedule.objects.filter(archived_at__isnull=True).count())
    schedules.add_metric(["overdue"], found.overdue_count)
    schedules.add_metric(["faulty"], found.faulty_count)
    yield schedules
    yield _lag(now)
    running = GaugeMetricFamily("jobsplatform_backfills_running", "Backfills that have not ended.")
    running.add_metric([], Backfill.objects.filter(state=Backfill.State.RUNNING).count())
    yield running
    decided = CounterMetricFamily(
        "jobsplatform_slots_decided", "Slots by what was decided about them.", labels=["status"]
    )
    counts = carry_on(now)
    for status in Status:
        decided.add_metric([status], counts.get(status, 0))
    yield decided


def _lag(now: datetime) -> Metric:
    lag = GaugeMetricFamily(
        "jobsplatform_oldest_due_slot_seconds", "How long the oldest slot that is due waits for its decision."
    )
    first = ScheduleState.objects.filter(next_due_at__lte=now).aggregate(first=Min("next_due_at"))["first"]
    lag.add_metric([], 0.0 if first is None else (now - first).total_seconds())
    return lag


def carry_on(now: datetime) -> dict[str, int]:
    """Slots decided until shortly before ``now``, by status; each is counted once, by whoever asks."""
    Tally.objects.bulk_create([Tally(name=DECISIONS)], ignore_conflicts=True)
    with transaction.atomic():
        tally = Tally.objects.select_for_update().get(name=DECISIONS)
        counts: dict[str, int] = dict(tally.facts.get("counts", {}))
        stored = tally.facts.get("until")
        rows = ScheduleTriggerLog.objects.all()
        if stored is not None:
            rows = rows.filter(triggered_at__gt=datetime.fromisoformat(stored))
        first = rows.order_by("triggered_at", "id").values_list("triggered_at", flat=True).first()
        if first is None or first > now - SETTLED:
            return counts
        until = min(now - SETTLED, first + DAY)
        found = rows.filter(triggered_at__lte=until).order_by().values_list("status")
        for status, slots in found.annotate(slots=Sum("slot_count")):
            counts[status] = counts.get(status, 0) + slots
        Tally.objects.filter(name=DECISIONS).update(facts={"until": until.isoformat(), "counts": counts})
    return counts
