"""Every look that the live feed takes at the rows. Nothing here writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from tasks import registry
from tasks.live import columns, facts
from tasks.live.facts import Fact, dumps
from tasks.live.topics import Kind, Topic
from tasks.live.viewer import Audience
from tasks.models import AppEvent, ExternalJob, HandlerBinding, Job
from tasks.states import Role, State

MOST_RUNNING = 200
MOST_EXTERNAL = 100
MOST_EVENTS = 200
MOST_STRANGERS = 10


def jobs(ids: Collection[UUID]) -> list[Job]:
    """These jobs, those who show them as their leader, and for every alias its leader."""
    found = _read(Q(id__in=ids))
    if any(job.role == Role.LEADER for job in found):
        have = {job.id for job in found}
        found += [job for job in _read(Q(leader_id__in=have)) if job.id not in have]
    return _with_leaders(found)


def _read(wanted: Q) -> list[Job]:
    return [columns.settle(job) for job in columns.small(Job.objects.filter(wanted).order_by())]


def _with_leaders(found: list[Job]) -> list[Job]:
    by_id = {job.id: job for job in found}
    missing = {job.leader_id for job in found if job.leader_id is not None} - by_id.keys()
    by_id |= {job.id: job for job in _read(Q(id__in=missing))} if missing else {}
    for job in found:
        if job.leader_id is not None:
            # Never read later by itself: that would be a query in the middle of the event loop.
            Job._meta.get_field("leader").set_cached_value(job, by_id.get(job.leader_id))
    return found


def job_facts(ids: Collection[UUID], payloads: Collection[bool]) -> list[Fact]:
    """The news of these jobs and of their aliases."""
    return [facts.of_job(job, payloads) for job in jobs(ids)]


def external_facts(ids: Collection[int]) -> list[Fact]:
    """The news of these pieces of work done elsewhere."""
    return [facts.of_external(row) for row in ExternalJob.objects.filter(pk__in=ids)]


def app_event_facts(ids: Collection[int]) -> list[Fact]:
    """What apps tell users, in the order it was told."""
    return [facts.of_app_event(row) for row in AppEvent.objects.filter(pk__in=ids).order_by("pk")]


# -- what has changed ------------------------------------------------------------------------------


def changed_jobs(since: datetime, among: Q, most: int) -> list[tuple[UUID, int]]:
    """Ids and revisions of jobs written since then, at most ``most``."""
    rows = Job.objects.filter(among, updated_at__gte=since).order_by()
    return list(rows.values_list("id", "revision")[:most])


def changed_leaders(since: datetime, among: Q, most: int) -> list[tuple[UUID, int]]:
    """The same of jobs that others show as their own: those written since then that one of ``among`` follows. The
    followers' own rows are not written when their leader moves."""
    if among == Q():
        return []  # then their leaders are among them
    rows = Job.objects.filter(role=Role.LEADER, updated_at__gte=since).order_by()
    leaders = dict(rows.values_list("id", "revision")[:most])
    if not leaders:
        return []
    followed = Job.objects.filter(among, leader_id__in=leaders).order_by().values_list("leader_id", flat=True)
    return [(leader_id, leaders[leader_id]) for leader_id in followed.distinct()]


def revisions(ids: Collection[UUID]) -> dict[UUID, int]:
    """The revisions of those of these jobs that are there."""
    return dict(Job.objects.filter(id__in=ids).order_by().values_list("id", "revision"))


def changed_external(since: datetime, most: int) -> list[tuple[int, int]]:
    """Ids and revisions of external jobs written since then, the last first, at most ``most``."""
    rows = ExternalJob.objects.filter(updated_at__gte=since).order_by("-updated_at", "-pk")
    return list(rows.values_list("id", "revision")[:most])


def new_app_events(since: datetime, most: int) -> list[int]:
    """Ids of what apps have told since then, the last first, at most ``most``."""
    rows = AppEvent.objects.filter(created_at__gte=since).order_by("-pk")
    return list(rows.values_list("id", flat=True)[:most])


# -- what a topic holds ----------------------------------------------------------------------------


def topic_rows(topic: Topic, audience: Audience) -> QuerySet[Job]:
    """The jobs of a topic that an audience may see, unordered."""
    rows = Job.objects.order_by()
    match topic.kind:
        case Kind.JOB:
            rows = rows.filter(id=topic.job_id)
        case Kind.TYPE:
            rows = rows.filter(handler_key=f"{topic.app_id}:{topic.value}")
        case Kind.APP:
            rows = rows.filter(app_id=topic.app_id)
        case Kind.USER:
            rows = rows.filter(user_id=topic.value)
        case Kind.SCHEDULE:
            rows = rows.filter(schedule_id=topic.value)
        case Kind.SYSTEM:
            return rows.none()
    return rows.filter(_seen_by(audience))


def _seen_by(audience: Audience) -> Q:
    if audience.everything:
        return Q()
    if audience.user_id is None and audience.app_id is None:
        return Q(pk__in=[])
    wanted = Q()
    if audience.user_id is not None:
        wanted &= Q(user_id=audience.user_id)
    if audience.app_id is not None:
        wanted &= Q(app_id=audience.app_id)
    return wanted


def topic_jobs(
    topic: Topic, audience: Audience, limit: int, under_way: Collection[str] = ()
) -> tuple[list[Job], bool]:
    """The newest ``limit`` jobs of a topic and all that run, newest first; and whether there are no others.
    ``under_way``: jobs that are known to run, though their state alone might not say so."""
    rows = topic_rows(topic, audience)
    if topic.kind is Kind.APP and audience.user_id is None:
        newest = _newest_of_app(topic.app_id, limit + 1)
    else:
        newest = list(rows.order_by("-id").values_list("id", flat=True)[: limit + 1])
    complete = len(newest) <= limit
    wanted = set(newest[:limit])
    if not complete:
        for state in (State.RUNNING, State.WAITING):
            wanted |= set(rows.filter(state=state).values_list("id", flat=True)[:MOST_RUNNING])
        if under_way:
            wanted |= set(rows.filter(id__in=under_way).values_list("id", flat=True))
    found = _with_leaders(_read(Q(id__in=wanted))) if wanted else []
    return sorted(found, key=lambda job: job.id, reverse=True), complete


def _newest_of_app(app_id: str, most: int) -> list[UUID]:
    # Type by type, each by the index of types: by the id alone a rare app's jobs are sought among all others'.
    found: list[UUID] = []
    for key in _types_of(app_id):
        rows = Job.objects.filter(handler_key=key).order_by("-id")
        found += rows.values_list("id", flat=True)[:most]
    return sorted(found, reverse=True)[:most]


def _types_of(app_id: str) -> set[str]:
    """The handler keys of an app: those that are known, and those of rows that are left from others."""
    prefix = f"{app_id}:"
    bound = HandlerBinding.objects.filter(app_id=app_id).values_list("job_type", flat=True)
    known = registry.keys()
    found = {f"{prefix}{job_type}" for job_type in bound} | {key for key in known if key.startswith(prefix)}
    after, strangers = prefix, 0
    # From key to key along the index. A database may sort other apps' keys in between, a few at most.
    while strangers < MOST_STRANGERS:
        rows = Job.objects.filter(handler_key__gt=after).order_by("handler_key")
        key = rows.values_list("handler_key", flat=True).first()
        if key is None:
            break
        if key.startswith(prefix):
            found.add(key)
        else:
            strangers += 1
        after = key
    return found


def topic_external(topic: Topic, audience: Audience) -> list[ExternalJob] | None:
    """The newest external jobs of a user's or an app's topic; None for topics that have none."""
    if topic.kind is Kind.USER:
        rows = ExternalJob.objects.filter(user_id=topic.value)
    elif topic.kind is Kind.APP:
        rows = ExternalJob.objects.filter(app_id=topic.app_id)
    else:
        return None
    return list(rows.filter(_seen_by(audience)).order_by("-id")[:MOST_EXTERNAL])


def last_app_event() -> int:
    """The number of the last thing that any app has told."""
    return int(AppEvent.objects.order_by("-pk").values_list("pk", flat=True).first() or 0)


def missed_app_events(topic: Topic, audience: Audience, after: int) -> list[AppEvent]:
    """What was told on a user's or an app's topic after event ``after``, oldest first."""
    if topic.kind is Kind.USER:
        rows = AppEvent.objects.filter(user_id=topic.value)
    elif topic.kind is Kind.APP:
        rows = AppEvent.objects.filter(app_id=topic.app_id)
    else:
        return []
    newest = rows.filter(_seen_by(audience), pk__gt=after).order_by("-pk")[:MOST_EVENTS]
    return list(newest)[::-1]


def snapshot(
    topic: Topic, audience: Audience, limit: int, under_way: Collection[str] = ()
) -> tuple[str, list[Fact]]:
    """What a topic holds, as the inside of a JSON object; and its jobs as facts without bodies."""
    found, complete = topic_jobs(topic, audience, limit, under_way)
    shown: dict[str, Any] = {
        "complete": complete,
        "jobs": [facts.job_row(job, payload=audience.payload) for job in found],
    }
    elsewhere = topic_external(topic, audience)
    if elsewhere is not None:
        shown["external"] = [facts.external(row) for row in elsewhere]
        shown["last_event_id"] = str(last_app_event())
    if topic.kind in (Kind.TYPE, Kind.JOBS):
        shown["running"] = runs_of(found)
    return dumps(shown)[1:-1], [facts.of_job(job, ()) for job in found]


def runs_of(found: Iterable[Job]) -> Sequence[dict[str, Any]]:
    """Those of these jobs whose run is on its way."""
    return [facts.running(run) for run in map(facts.run_of, found) if facts.on_its_way(run)]
