"""``maintenance.report``: what ran, failed and took long in the last hours."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from django.db.models import Avg, Count, DurationField, ExpressionWrapper, F, Max, QuerySet
from pydantic import Field

from jobsplatform.kernel import clock
from tasks.context import JobContext
from tasks.handlers import job
from tasks.models import Job, JobAttempt
from tasks.outcomes import Outcome
from tasks.states import ACTIVE, FINAL, State

TYPES = 100
FAILURES = 30
SLOWEST = 20
ERROR_CHARACTERS = 200


@job(
    "maintenance.report",
    description="Summary of a period: jobs by state and type, failures by error, slowest types.",
    public_params=("hours",),
    exclusive=True,
    on_interrupt="cancel",
)
def report(context: JobContext, hours: Annotated[int, Field(ge=1, le=8_760)] = 24) -> Outcome:
    """Sum up the jobs that ended in the last ``hours``, and what is open now.

    Jobs that retention has removed are not in it. Lists are bounded; the largest come first.
    """
    until = clock.now()
    since = until - timedelta(hours=hours)
    ended = Job.objects.filter(state__in=sorted(FINAL), finished_at__gte=since, finished_at__lt=until)
    result: dict[str, Any] = {"since": since.isoformat(), "until": until.isoformat()}
    for name, part in (
        ("ended", lambda: _by_state(ended)),
        ("open", lambda: _by_state(Job.objects.filter(state__in=sorted(ACTIVE)))),
        ("by_type", lambda: _by_type(ended)),
        ("failures", lambda: _failures(since, until)),
        ("slowest", lambda: _slowest(since, until)),
    ):
        context.check_cancel()
        result[name] = part()
    finished = sum(result["ended"].values())
    good = result["ended"].get(State.COMPLETED, 0)
    bad = result["ended"].get(State.FAILED, 0)
    result["success_rate"] = round(good / (good + bad), 4) if good + bad else None
    return Outcome(result, count=finished)


def _by_state(rows: QuerySet[Job]) -> dict[str, int]:
    counted = rows.order_by().values_list("state").annotate(number=Count("pk"))
    return {str(state): number for state, number in sorted(counted)}


def _by_type(ended: QuerySet[Job]) -> list[dict[str, Any]]:
    counted = ended.order_by().values_list("handler_key", "state").annotate(number=Count("pk"))
    types: dict[str, dict[str, int]] = {}
    for key, state, number in counted.iterator():
        types.setdefault(key, {})[str(state)] = number
    rows = sorted(types.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    return [
        {"job_type": key.lstrip(":"), "total": sum(states.values()), **dict(sorted(states.items()))}
        for key, states in rows[:TYPES]
    ]


def _failures(since: datetime, until: datetime) -> list[dict[str, Any]]:
    """Runs that failed, by job type and type of error, with the last message of each."""
    runs = JobAttempt.objects.filter(finished_at__gte=since, finished_at__lt=until).exclude(error_type="")
    groups = (
        runs.order_by()
        .values("job__handler_key", "error_type", "cause")
        .annotate(number=Count("pk"), last=Max("pk"), at=Max("finished_at"))
        .order_by("-number", "job__handler_key", "error_type")[:FAILURES]
    )
    found = list(groups)
    messages = dict(
        JobAttempt.objects.filter(pk__in=[row["last"] for row in found]).values_list("pk", "error")
    )
    return [
        {
            "job_type": row["job__handler_key"].lstrip(":"),
            "error_type": row["error_type"],
            "cause": row["cause"],
            "runs": row["number"],
            "last_at": row["at"].isoformat(),
            "last_error": messages.get(row["last"], "")[:ERROR_CHARACTERS],
        }
        for row in found
    ]


def _slowest(since: datetime, until: datetime) -> list[dict[str, Any]]:
    """Job types by their mean run time, in seconds."""
    took = ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())
    rows = (
        JobAttempt.objects.filter(finished_at__gte=since, finished_at__lt=until)
        .annotate(took=took)
        .order_by()
        .values("job__handler_key")
        .annotate(runs=Count("pk"), mean=Avg("took"), longest=Max("took"))
        .order_by("-mean", "job__handler_key")[:SLOWEST]
    )
    return [
        {
            "job_type": row["job__handler_key"].lstrip(":"),
            "runs": row["runs"],
            "mean_seconds": round(row["mean"].total_seconds(), 3),
            "longest_seconds": round(row["longest"].total_seconds(), 3),
        }
        for row in rows
    ]
