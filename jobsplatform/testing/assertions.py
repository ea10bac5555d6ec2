"""Which jobs were made: for tests with any of the plugin's fixtures, or with a database alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_jsonable_python

from tasks.models import Job
from tasks.spec import JobHandler


def names_of(job_type: JobHandler | str, app_id: str | None = None) -> tuple[str | None, str]:
    """The app and job type of a handler, or of a name ``type`` or ``app:type``; no app named: None."""
    if not isinstance(job_type, str):
        return job_type.spec.app_id, job_type.spec.job_type
    app, colon, name = job_type.rpartition(":")
    return (app if colon else app_id), name


def enqueued(
    job_type: JobHandler | str, params: Mapping[str, Any] | None = None, *, app_id: str | None = None
) -> list[Job]:
    """The jobs of a type, in the order they were made, whose params include ``params`` (typed or as stored)."""
    app, name = names_of(job_type, app_id)
    rows = Job.objects.filter(job_type=name).order_by("created_at", "id")
    if app is not None:
        rows = rows.filter(app_id=app)
    wanted: dict[str, Any] = to_jsonable_python(dict(params or {}))
    return [job for job in rows if all(_has(job.params, name, value) for name, value in wanted.items())]


def assert_enqueued(
    job_type: JobHandler | str,
    params: Mapping[str, Any] | None = None,
    *,
    count: int | None = None,
    app_id: str | None = None,
    **more: Any,
) -> list[Job]:
    """The jobs of this type with these params; fails when there are none, or not exactly ``count``.

    A param may be left out; one that is called like an argument goes into ``params``.
    """
    wanted = {**(params or {}), **more}
    rows = enqueued(job_type, wanted, app_id=app_id)
    if count is None:
        assert rows, f"no job {_told(job_type, wanted)} was enqueued; {_what_was()}"
    else:
        assert len(rows) == count, (
            f"{len(rows)} jobs {_told(job_type, wanted)} were enqueued, expected {count}; {_what_was()}"
        )
    return rows


def refute_enqueued(
    job_type: JobHandler | str,
    params: Mapping[str, Any] | None = None,
    *,
    app_id: str | None = None,
    **more: Any,
) -> None:
    """Fails when a job of this type with these params was enqueued."""
    wanted = {**(params or {}), **more}
    rows = enqueued(job_type, wanted, app_id=app_id)
    assert not rows, f"{len(rows)} jobs {_told(job_type, wanted)} were enqueued: {_listed(rows)}"


def _has(params: Mapping[str, Any], name: str, value: Any) -> bool:
    if name not in params:
        return False
    stored = params[name]
    return bool(stored == value) and isinstance(stored, bool) == isinstance(value, bool)


def _told(job_type: JobHandler | str, wanted: Mapping[str, Any]) -> str:
    name = job_type if isinstance(job_type, str) else job_type.spec.key.lstrip(":")
    return f"{name!r} with params {dict(wanted)}" if wanted else repr(name)


def _what_was() -> str:
    rows = list(Job.objects.order_by("created_at", "id")[: _SHOWN + 1])
    return f"enqueued were: {_listed(rows)}" if rows else "nothing was enqueued"


def _listed(rows: list[Job]) -> str:
    shown = ", ".join(f"{job.handler_key.lstrip(':')} {job.params}" for job in rows[:_SHOWN])
    return shown + (", …" if len(rows) > _SHOWN else "")


_SHOWN = 10
