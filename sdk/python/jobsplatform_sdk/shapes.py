"""What the platform answers, as values with types. Instants are aware, in UTC; ids are text.

Fields that this release does not know are left out, so that a newer platform can be talked to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

Given = Mapping[str, Any]

FINAL = frozenset({"completed", "failed", "cancelled"})


def instant_of(value: Any) -> datetime | None:
    """An instant from its text; None for None."""
    if value is None:
        return None
    return datetime.fromisoformat(str(value)).astimezone(UTC)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is. ``pct`` is 0 to 100; what is not known is None."""

    done: float | None = None
    total: float | None = None
    label: str = ""
    pct: float | None = None
    eta_seconds: float | None = None

    @classmethod
    def read(cls, given: Given) -> Self:
        return cls(
            given.get("done"),
            given.get("total"),
            given.get("label") or "",
            given.get("pct"),
            given.get("eta_seconds"),
        )


@dataclass(frozen=True, slots=True)
class JobError:
    """What went wrong, as the run told it."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it stood when the platform answered. ``raw`` is the whole answer."""

    id: str
    job_type: str
    status: str
    app_id: str = ""
    reason: str = ""
    cause: str = ""
    attempt: int = 0
    lease: int = 0
    priority: int = 0
    queue: str = ""
    user_id: str = ""
    tenant_id: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    progress: Progress = Progress()
    result: Any = None
    error: JobError | None = None
    parent_id: str | None = None
    alias_job_id: str | None = None
    dedupe_key: str | None = None
    schedule_id: str | None = None
    planned_at: datetime | None = None
    run_after: datetime | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def ended(self) -> bool:
        """Is this its last state?"""
        return self.status in FINAL

    @classmethod
    def read(cls, given: Given) -> Self:
        plain: dict[str, Any] = {name: given[name] for name in _PLAIN if given.get(name) is not None}
        instants: dict[str, Any] = {name: instant_of(given.get(name)) for name in _INSTANTS}
        error = given.get("error")
        return cls(
            **plain,
            **instants,
            progress=Progress.read(given.get("progress") or {}),
            error=None if not error else JobError(error.get("type") or "", error.get("message") or ""),
            raw=given,
        )


_INSTANTS = ("planned_at", "run_after", "created_at", "started_at", "finished_at")
_PLAIN = tuple(
    name for name in Job.__dataclass_fields__ if name not in {*_INSTANTS, "progress", "error", "raw"}
)


@dataclass(frozen=True, slots=True)
class Created:
    """The job that a request made or met: ``status`` is created, alias, successor or replayed."""

    id: str
    status: str
    alias_job_id: str | None = None
    job: Job | None = None

    @classmethod
    def read(cls, given: Given) -> Self:
        job = given.get("job")
        return cls(
            given["id"], given["status"], given.get("alias_job_id"), None if job is None else Job.read(job)
        )


@dataclass(frozen=True, slots=True)
class Page:
    """Some jobs; ``next`` is where the following page begins, or None."""

    jobs: list[Job]
    next: str | None = None

    @classmethod
    def read(cls, given: Given) -> Self:
        return cls([Job.read(job) for job in given["jobs"]], given.get("next"))


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What a cancel did (``how``), and the job after it."""

    how: str
    job: Job

    @classmethod
    def read(cls, given: Given) -> Self:
        return cls(given["how"], Job.read(given["job"]))


@dataclass(frozen=True, slots=True)
class Summary:
    """How far many jobs are. ``pct`` is None when there are none."""

    total: int
    by_state: Mapping[str, int]
    done: int
    pct: float | None

    @classmethod
    def read(cls, given: Given) -> Self:
        return cls(given["total"], dict(given["by_state"]), given["done"], given.get("pct"))


@dataclass(frozen=True, slots=True)
class Bound:
    """A registered handler. ``signing_secret`` comes with the call-back transport alone."""

    handler: Mapping[str, Any]
    signing_secret: str = field(default="", repr=False)

    @classmethod
    def read(cls, given: Given) -> Self:
        return cls(dict(given.get("handler") or {}), given.get("signing_secret") or "")
