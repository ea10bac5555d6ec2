"""The rows of django-celery-beat as schedules."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django_celery_beat.models import PeriodicTask, PeriodicTasks

from jobsplatform.kernel.errors import ParamsInvalid, did_you_mean
from scheduler.bridge import TASK_NAME
from scheduler.importing.candidates import Candidate, Found, Mapped, NotTaken, Target
from scheduler.importing.celery_cron import CeleryCron, expression
from scheduler.importing.command_line import NotTaken as Refusal
from scheduler.spec import ScheduleSpec
from scheduler.states import Misfire
from tasks import registry

MISFIRE = Misfire.RUN_ONCE
"""Beat sends one late run when it comes back."""


def schedules_of(mapped: Mapped, now: datetime, *, misfire: str) -> Found:
    """What each row would be, by their primary keys."""
    found = Found()
    rows = PeriodicTask.objects.select_related("interval", "crontab", "clocked", "solar").order_by("pk")
    for row in rows.exclude(task=TASK_NAME):  # those are ours: hints for schedules that are here
        place, text = f"row {row.pk}", f"{row.name}: {row.task}"
        try:
            found.candidates.append(_candidate(row, place, text, mapped, now, misfire))
        except Refusal as reason:
            found.refused.append(NotTaken(place, text, str(reason)))
    return found


def take_over(rows: Iterable[int]) -> int:
    """Switch these rows off, so that nothing runs twice; how many were on."""
    changed: int = PeriodicTask.objects.filter(pk__in=list(rows), enabled=True).update(enabled=False)
    if changed:
        PeriodicTasks.update_changed()
    return changed


def enabled_among(rows: Iterable[int]) -> int:
    """How many of these rows are on."""
    return int(PeriodicTask.objects.filter(pk__in=list(rows), enabled=True).count())


def _candidate(row: Any, place: str, text: str, mapped: Mapped, now: datetime, misfire: str) -> Candidate:
    target = mapped.find(row.task) or _registered(row.task)
    values, remarks = _when(row, now)
    if row.one_off and row.clocked is None:
        if row.total_run_count and not row.enabled:
            raise Refusal("It was to run once, and has run.")
        values["max_runs"] = 1
    if row.expires is not None:
        if row.expires <= now:
            raise Refusal(f"It expired at {row.expires.isoformat()}.")
        values["end"] = row.expires
    if row.start_time is not None:
        values["start"] = row.start_time
    spec = ScheduleSpec(
        id=target.schedule_id or row.name,
        job=target.job,
        app_id=target.app_id,
        description=row.description[:500],
        params=_params(row, target),
        misfire=misfire or MISFIRE,
        latest_start=row.expire_seconds or None,
        queue=row.queue or None,
        enabled=row.enabled,
        **values,
    )
    return Candidate(place, text, spec, tuple([*remarks, *_lost(row)]), row.pk)


def _registered(task: str) -> Target:
    """The job type of the task's name: the host's own, else the only app's that has one. Raises NotTaken."""
    named = [
        key for key in sorted(registry.keys()) if task in (key, registry.shown(key), key.partition(":")[2])
    ]
    exact = [key for key in named if registry.shown(key) == task] or named
    if len(exact) == 1:
        app_id, _, job_type = exact[0].partition(":")
        return Target(job_type, app_id)
    if exact:
        both = ", ".join(sorted(map(registry.shown, exact)))
        raise Refusal(f"Several apps have a job type {task!r}: say --map '{task}=TYPE' with one of {both}.")
    hint = did_you_mean(task, map(registry.shown, registry.keys()))
    raise Refusal(
        f"There is no job type {task!r}: declare it (celery_task({task!r}) in a jobs.py makes one of the task), "
        f"or say --map '{task}=TYPE'.{hint}"
    )


def _when(row: Any, now: datetime) -> tuple[dict[str, Any], list[str]]:
    """The fields of a spec that say when, and remarks. Raises NotTaken."""
    kinds = [name for name in ("crontab", "interval", "clocked", "solar") if getattr(row, name) is not None]
    if len(kinds) != 1:
        raise Refusal(f"It has {' and '.join(kinds) or 'no schedule'}; exactly one is expected.")
    if kinds[0] == "solar":
        raise Refusal("Solar schedules are not known here. Use a cron line in the zone of the place.")
    if kinds[0] == "crontab":
        return _cron(row.crontab)
    if kinds[0] == "interval":
        return _interval(row), []
    if not row.enabled and row.total_run_count:
        raise Refusal("It was to run once, and has run.")
    if row.clocked.clocked_time <= now:
        raise Refusal(f"Its only time, {row.clocked.clocked_time.isoformat()}, has passed.")
    return {"at": row.clocked.clocked_time}, []


def _cron(crontab: Any) -> tuple[dict[str, Any], list[str]]:
    fields = CeleryCron(
        crontab.minute, crontab.hour, crontab.day_of_month, crontab.month_of_year, crontab.day_of_week
    )
    text = expression(fields)
    remarks = [] if text == str(fields) else [f"Beat's {fields} is {text} here."]
    # Of the row, or of the Celery app where DJANGO_CELERY_BEAT_TZ_AWARE is off.
    zone = str(crontab.schedule.tz)
    if zone != str(crontab.timezone):
        remarks.append(f"Beat reads its times in {zone}, not in {crontab.timezone}: so does the schedule.")
    return {"cron": text, "timezone": zone}, remarks


def _interval(row: Any) -> dict[str, Any]:
    length = timedelta(**{row.interval.period: row.interval.every})
    if length < timedelta(seconds=1) or length % timedelta(seconds=1):
        raise Refusal(f"It runs {row.interval}; an interval here is whole seconds, at least one.")
    anchor = row.last_run_at or row.start_time
    more = {"anchor": anchor.replace(microsecond=0)} if anchor is not None else {}
    return {"every": length, **more}


def _params(row: Any, target: Target) -> dict[str, Any]:
    """kwargs, and args under the names that the job type gives its params, in their order. Raises NotTaken."""
    if target.params is not None:
        return dict(target.params)
    args, kwargs = _json(row.args, "args", list), _json(row.kwargs, "kwargs", dict)
    if not args:
        return kwargs
    handler = registry.find(target.app_id, target.job)
    if handler is None:
        raise Refusal(f"It has {len(args)} args, and nobody knows the params of {target.job}.")
    try:
        given = handler.schema.by_position(args)
    except ParamsInvalid:
        count = len(handler.schema.json_schema().get("properties", {}))
        raise Refusal(f"It has {len(args)} args, and {target.job} has {count} params.") from None
    both = sorted(set(given) & set(kwargs))
    if both:
        raise Refusal(f"{both[0]} is given twice: in args and in kwargs.")
    return {**given, **kwargs}


def _json(text: str, name: str, kind: type) -> Any:
    try:
        value = json.loads(text or ("[]" if kind is list else "{}"))
    except (ValueError, RecursionError) as error:
        raise Refusal(f"Its {name} are no JSON ({error}).") from None
    if not isinstance(value, kind):
        raise Refusal(f"Its {name} are {text[:80]}; expected a JSON {'list' if kind is list else 'object'}.")
    return value


def _lost(row: Any) -> list[str]:
    remarks = []
    if row.priority is not None:
        remarks.append(f"Its broker priority {row.priority} is not taken over: job types have their own.")
    if row.exchange or row.routing_key or row.headers not in (None, "", "{}"):
        remarks.append("Exchange, routing key and headers are not taken over: they are of its message.")
    return remarks
