"""What else is told live, from tables that are not ours or small enough to be looked at whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from jobsplatform.kernel.models import App
from tasks.live.facts import dumps
from tasks.models import Suspension

Shapes = Mapping[str, Mapping[str, Any]]
ScheduleReader = Callable[[Collection[str]], Shapes]
ScheduleLook = Callable[[datetime, int], Collection[str]]

_schedules: ScheduleReader | None = None
_written: ScheduleLook | None = None


def read_schedules_by(reader: ScheduleReader | None, written: ScheduleLook | None = None) -> None:
    """Whoever knows of schedules says how they are read: ids → shapes, for those that are there; and which were
    written since an instant, at most so many."""
    global _schedules, _written
    _schedules, _written = reader, written


def schedules_written(since: datetime, most: int) -> set[str]:
    """The schedules that have been written or have decided since then."""
    return set() if _written is None else set(_written(since, most))


def schedules(ids: Collection[str]) -> dict[str, str]:
    """The events of these schedules; nothing where nobody knows of any."""
    if _schedules is None or not ids:
        return {}
    shapes = _schedules(ids)
    return {
        key: dumps({"name": "schedule_update", "schedule_id": key, **shape}) for key, shape in shapes.items()
    }


def apps() -> dict[str, str]:
    """Each app as it stands; that it was seen is no change."""
    rows = App.objects.values("app_id", "title", "enabled", "services")
    return {row["app_id"]: dumps(row) for row in rows}


def apps_changed(changed: Collection[str]) -> str:
    """The event that these apps are no longer as they were."""
    return dumps({"name": "apps_changed", "apps": sorted(changed)})


def suspensions() -> dict[str, str]:
    """Each suspension that is open."""
    rows = Suspension.objects.filter(lifted_at=None).order_by("pk")
    return {
        str(row.pk): dumps({"scope": row.scope, "target": row.target, "author": row.author}) for row in rows
    }


def suspensions_changed(standing: Mapping[str, str]) -> str:
    """The event that other suspensions are open than before: all that are."""
    return f'{{"name":"suspensions_changed","open":[{",".join(standing.values())}]}}'
