"""Why is it not running? One sentence for any job, computed from facts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q

from jobsplatform.kernel import config, processes
from tasks import admission, limits, registry, sidecars, suspensions
from tasks.bus.proxy import QUEUE_PREFIX
from tasks.models import Job, Suspension
from tasks.output import iso
from tasks.queries import children_summary
from tasks.states import FINAL, IN_FLIGHT, Hold, Priority, Role, State


def why_not_running(job: Job, now: datetime) -> str:
    """One sentence: what the job waits for, or what became of it."""
    if job.state in FINAL:
        return _ended(job)
    if job.state == State.RUNNING:
        asked = f"; asked to stop ({job.cancel_reason})" if job.cancel_reason else ""
        return f"It is running since {iso(job.started_at)}{asked}."
    if job.state == State.DISPATCHED:
        return f"It was sent to its worker at {iso(job.dispatched_at)} and is about to start."
    if job.state == State.PAUSED:
        until = (
            f"until {iso(job.deadline_at)}"
            if job.deadline_at
            else f"until somebody runs: jobs resume {job.id}"
        )
        return f"It is paused ({job.reason}) {until}."
    if job.state == State.WAITING:
        return _waiting(job)
    return _held(job, now) or _suspended(job, now) or _nobody(job, now) or _full(job, now)


def _ended(job: Job) -> str:
    why = f" ({job.reason})" if job.reason else ""
    return f"It has ended: {job.state}{why} at {iso(job.finished_at)}."


def _waiting(job: Job) -> str:
    if job.open_end:
        until = f", until {iso(job.deadline_at)} at the latest" if job.deadline_at else ""
        return f"It waits to be finished from outside{until}."
    summary = children_summary(job.id)
    return f"It waits for its children: {summary['total'] - summary['done']} of {summary['total']} are open."


def _held(job: Job, now: datetime) -> str | None:
    if job.role == Role.ALIAS:
        return f"It is an alias of job {job.leader_id}, which runs for it."
    if job.hold == Hold.SUCCESSOR:
        return "It waits for the leader of its dedupe key to end, and will then run with the newest params."
    if job.hold == Hold.TENANT:
        return f"Its tenant {job.tenant_id!r} is not active."
    if job.hold == Hold.OVERLAP:
        return _overlapping(job)
    if job.hold == Hold.PREEMPTED:
        return f"It gave way to job {job.preempted_by} and waits until that one has started."
    if job.hold == Hold.LATER or job.due_at > now:
        after = f", after attempt {job.attempt} failed" if job.failures else ""
        return f"It is scheduled for later: {iso(job.due_at)}{after}."
    if job.concurrency_key:
        return _key_busy(job)
    return None


def _overlapping(job: Job) -> str:
    busy = admission.occupants().filter(overlap_key=job.overlap_key)
    first = busy.order_by("id").values_list("id", flat=True).first()
    until = f"until job {first} has ended" if first else "for its turn"
    return f"It waits {until}: the jobs of {job.overlap_key!r} must not overlap (policy {job.overlap})."


def _key_busy(job: Job) -> str | None:
    rivals = Job.objects.filter(
        state__in=sorted(IN_FLIGHT),
        tenant_id=job.tenant_id,
        app_id=job.app_id,
        concurrency_key=job.concurrency_key,
    )
    running = list(rivals.order_by("dispatched_at").values_list("id", flat=True)[: job.concurrency_limit])
    if len(running) < job.concurrency_limit:
        return None
    return f"Its concurrency key {job.concurrency_key!r} is busy: job {running[0]} holds it."


def _suspended(job: Job, now: datetime) -> str | None:
    for row in suspensions.in_force(now):
        if suspensions.matches(row.scope, row.target, job.queue, job.handler_key):
            return _suspension(row)
    if suspensions.app_disabled(job.app_id):
        return f"Its app {job.app_id!r} is disabled."
    return None


def _suspension(row: Suspension) -> str:
    what = "Everything" if row.scope == Suspension.Scope.ALL else f"{row.scope.capitalize()} {row.target!r}"
    why = f": {row.reason}" if row.reason else ""
    until = f", until {iso(row.expires_at)}" if row.expires_at else ""
    return f"{what} is suspended by {row.author}{until}{why}."


def _workers(now: datetime) -> list[Any]:
    live = processes.live(now, config.get().tasks.lease_seconds)
    return [p for p in live if p.role == "worker"]


def _nobody(job: Job, now: datetime) -> str | None:
    bound = sidecars.binding_of(job.handler_key)
    if bound is not None:
        return sidecars.nobody(bound, job.queue, now)
    if job.queue.startswith(QUEUE_PREFIX) and registry.find(job.app_id, job.job_type) is None:
        return f"No sidecar has bound the type {registry.shown(job.handler_key)!r}."
    workers = _workers(now)
    if not workers:
        return "No worker is alive."
    serving = [w for w in workers if job.queue in w.queues]
    if not serving:
        served = ", ".join(sorted({q for w in workers for q in w.queues}))
        return f"No live worker serves the queue {job.queue!r} (served: {served})."
    knowing = [w for w in serving if job.handler_key in w.handlers]
    if not knowing:
        return f"No live worker of queue {job.queue!r} knows the handler {registry.shown(job.handler_key)!r}."
    if all(w.stopping for w in knowing):
        return f"Every worker of queue {job.queue!r} that knows its handler is stopping."
    return None


def _full(job: Job, now: datetime) -> str:
    in_flight = Job.objects.filter(state__in=sorted(IN_FLIGHT))
    handler = registry.find(job.app_id, job.job_type)
    limit = (1 if handler.spec.exclusive else handler.spec.max_concurrency) if handler else None
    if limit is not None and in_flight.filter(handler_key=job.handler_key).count() >= limit:
        return f"Its type runs at most {limit} at once, and that many are in flight."
    room = limits.rooms([job.queue], limits.slots_in_use(), now)[job.queue]
    if not room.has(job.priority):
        lowest = (
            in_flight.filter(queue=job.queue).order_by("priority").values_list("priority", flat=True).first()
        )
        if room.high > 0:
            high = int(Priority.USER_ACTION)
            return f"The free slots of queue {job.queue!r} are reserved for priority {high} and above."
        return f"All slots of queue {job.queue!r} are full (the lowest priority running is {lowest})."
    ahead = Job.objects.filter(state=State.PENDING, hold=Hold.NONE, queue=job.queue).filter(
        Q(priority__gt=job.priority) | Q(priority=job.priority, due_at__lt=job.due_at)
    )
    n = ahead.order_by().values("pk")[:1001].count()
    if not n:
        return "It is next in line and will start within seconds."
    return f"It is in line after {n if n <= 1000 else 'more than 1000'} others."
