"""What the platform tells a sidecar of the runs that it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from jobsplatform_sdk.shapes import Given, Job, instant_of


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How a child ended, as its parent's continuation sees it."""

    key: str
    job_id: str
    state: str
    result: Any = None
    error: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, given: Given) -> Self:
        return cls(
            given.get("key") or "",
            str(given["id"]),
            given["state"],
            given.get("result"),
            given.get("error") or "",
            given.get("data") or {},
        )


@dataclass(frozen=True, slots=True)
class Assignment:
    """One run that a sidecar is given: a job under a lease, and all that its handler may want to know."""

    job: Job
    lease: int
    cursor: Any = None
    attempt: int = 1
    run_reason: str = "live"
    force: bool = False
    planned_at: datetime | None = None
    window_start: datetime | None = None
    continuing: bool = False
    children: tuple[ChildResult, ...] = ()
    deadline_at: datetime | None = None
    cancel_grace_seconds: float = 10.0

    @property
    def key(self) -> tuple[str, int]:
        """(job id, lease): names the run."""
        return self.job.id, self.lease

    @classmethod
    def read(cls, given: Given) -> Self:
        return cls(
            job=Job.read(given["job"]),
            lease=given["lease"],
            cursor=given.get("cursor"),
            attempt=given.get("attempt") or 1,
            run_reason=given.get("run_reason") or "live",
            force=bool(given.get("force")),
            planned_at=instant_of(given.get("planned_at")),
            window_start=instant_of(given.get("window_start")),
            continuing=bool(given.get("continuing")),
            children=tuple(ChildResult.read(child) for child in given.get("children") or ()),
            deadline_at=instant_of(given.get("deadline_at")),
            cancel_grace_seconds=float(given.get("cancel_grace_seconds") or 10.0),
        )


@dataclass(frozen=True, slots=True)
class Claimed:
    """The answer of a claim: runs that are now this sidecar's, and how often it must be heard of."""

    jobs: list[Assignment]
    heartbeat_seconds: float
    lease_seconds: float

    @classmethod
    def read(cls, given: Given) -> Self:
        return cls(
            [Assignment.read(run) for run in given["jobs"]],
            float(given["heartbeat_seconds"]),
            float(given["lease_seconds"]),
        )


@dataclass(frozen=True, slots=True)
class RunNews:
    """What a heartbeat says of one run: is it still this sidecar's, and should it stop?"""

    id: str
    lease: int
    held: bool
    cancel: str | None = None


@dataclass(frozen=True, slots=True)
class Beat:
    """The answer of a heartbeat."""

    runs: list[RunNews]

    @classmethod
    def read(cls, given: Given) -> Self:
        return cls(
            [
                RunNews(str(run["id"]), run["lease"], bool(run["held"]), run.get("cancel"))
                for run in given.get("runs") or ()
            ]
        )


@dataclass(frozen=True, slots=True)
class Written:
    """The answer to a write under a lease: should the run stop, and what else the method tells."""

    cancel: str | None = None
    state: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    ids: tuple[str, ...] = ()

    @classmethod
    def read(cls, given: Given) -> Self:
        return cls(
            given.get("cancel"),
            given.get("state") or "",
            given.get("data") or {},
            tuple(str(job_id) for job_id in given.get("ids") or ()),
        )
