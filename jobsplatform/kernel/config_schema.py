"""Every setting: its name, type, limits, default and meaning. docs/settings.md is made from this file.

Names ending in ``_seconds``, ``_days`` and ``_bytes`` say their unit; seconds may be fractions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(gt=0, le=31_536_000, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Natural = Annotated[int, Field(ge=0, le=1_000_000_000)]
Days = Annotated[int, Field(ge=0, le=36_500)]
QueueName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,100}$")]
Names = tuple[str, ...]


def about(text: str, default: Any, *, secret: bool = False) -> Any:
    """A field with its meaning; a secret one is left out of the configuration's text."""
    return Field(default=default, description=text, repr=not secret)


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class TasksConfig(Section):
    """``TASKS__…``: how jobs are dispatched, run, rescued and kept."""

    provider: Literal["celery", "sync"] = about(
        "who runs jobs: Celery workers, or the caller itself", "celery"
    )
    queues: Annotated[tuple[QueueName, ...], Field(min_length=1)] = about(
        "queues that the one-process profile serves", ("default",)
    )
    queue_caps: dict[QueueName, Count] = about("most jobs at once in a queue, whatever slots are live", {})
    concurrency: Count = about("worker threads of the one-process profile", 4)
    batch: Count = about("most jobs claimed in one round", 50)
    packing: bool = about("short jobs of a deep backlog share messages", True)
    poll_seconds: Seconds = about("a dispatcher's wait when no hint comes", 3)
    heartbeat_seconds: Seconds = about("between two heartbeats of a process", 5)
    lease_seconds: Seconds = about("a process silent for this long is dead", 15)
    cancel_grace_seconds: Seconds = about("from a cancel request to the kill", 10)
    resend_seconds: Seconds = about("until a message whose job has not started is sent again", 10)
    cutoff_exit_seconds: Seconds = about("a worker cut off from the database this long exits", 600)
    watchdog_seconds: Seconds = about("a worker that is alive and consumes nothing this long exits", 60)
    shutdown_grace_seconds: Seconds = about("for running jobs to end after SIGTERM", 25)
    starvation_seconds: Seconds = about("a job that waited this long may go before more urgent ones", 60)
    starvation_every: Count = about("each n-th claim takes the job that waited longest", 10)
    reserved_high_priority_slots: Natural = about("slots kept free for USER_ACTION and above", 1)
    max_attempts: Count = about("attempts of a job whose type says nothing", 3)
    crash_budget: Count = about("crashes in a row, without a new checkpoint, before a job fails", 3)
    worker_loss_budget: Count = about("losses of a whole worker before a job fails", 10)
    backoff_base_seconds: Seconds = about("wait after the first failure; doubles after each", 5)
    backoff_max_seconds: Seconds = about("longest wait after a failure", 3600)
    params_max_bytes: Count = about("largest params of a job, as JSON", 262_144)
    result_max_bytes: Count = about("largest result, checkpoint or data of a job, as JSON", 1_048_576)
    retention_completed_days: Days = about("how long completed jobs are kept", 7)
    retention_cancelled_days: Days = about("how long cancelled jobs are kept", 7)
    retention_failed_days: Days = about("how long failed jobs are kept", 30)
    resume_per_second: Count = about("jobs started a second after a suspension ends", 20)
    resume_ramp_seconds: Seconds = about("how long that throttle lasts", 30)
    progress_per_second: Count = about("most progress writes a second of one job", 4)
    files_scan_roots: Names = about("folders that files.scan may read; empty: any", ())
    clear_temp_roots: Names = about(
        "folders whose subfolders maintenance.clear_temp may clear; empty: the temp folder and DATA_DIR/tmp",
        (),
    )
    url_allow_hosts: Names = about("hosts that the URL job may call; empty: none", ())
    url_allow_private: bool = about("let the URL job call private addresses", False)
    allowed_commands: Names = about("management commands that the command job may run", ("clearsessions",))


class SchedulerConfig(Section):
    """``SCHEDULER__…``: who decides when."""

    provider: Literal["local", "celery_beat", "apscheduler"] = about("who ticks", "local")
    idle_sleep_seconds: Seconds = about("longest wait of a scheduler between two looks for due slots", 1)
    lock_ttl_seconds: Seconds = about("how long a scheduler's lock outlives its holder", 30)
    batch: Count = about("most schedules that are planned in one transaction", 500)
    poll_seconds: Seconds = about("an edit by SQL or a bulk update is seen within this", 30)
    sweep_after_seconds: Seconds = about("a worker plans by itself what is overdue this long", 5)
    misfire_grace_seconds: Seconds = about("a slot this late is still on time", 8)
    misfire_limit: Count = about("slots that one schedule catches up in a round", 3)
    catch_up_window_seconds: Seconds = about("older slots are not caught up, they expire", 86_400)
    overdue_seconds: Seconds = about("a slot undecided this long makes its schedule overdue", 60)
    log_retention_days: Days = about("how long decisions about slots are kept", 30)
    maintenance: bool = about("ship schedules that purge, archive, look for stuck work and report", True)


class BusConfig(Section):
    """``BUS__…``: what the apps outside may do. Quotas are those of an app that says nothing of its own."""

    body_max_bytes: Count = about("largest body of a request", 4_194_304)
    creates_per_minute: Count = about("jobs that an app may create in a minute", 600_000)
    events_per_minute: Count = about("events that an app may tell in a minute", 6_000)
    threads: Annotated[int, Field(ge=1, le=200)] = about(
        "requests that a web process works on at once, each with a database connection of its own", 8
    )
    external_kept_days: Days = about(
        "how long work that is done elsewhere is kept after its last sign of life", 7
    )
    events_kept_days: Days = about("how long events of apps are kept for pages that were away", 1)
    deferred_seconds: Seconds = about(
        "until a deferred job fails whose sidecar named no deadline, and whose type has no timeout", 86_400
    )
    call_seconds: Seconds = about("how long a sidecar that is called may take to answer", 10)
    call_private: bool = about("let approved urls of sidecars be private addresses", False)
    call_threads: Annotated[int, Field(ge=1, le=100)] = about("sidecars that a worker calls at once", 8)
    celery_brokers: dict[str, str] = about(
        "by app, the broker of its own that its jobs go to by the celery transport; empty: that is off",
        {},
        secret=True,
    )


class LogsConfig(Section):
    """``LOGS__…``."""

    format: Literal["json", "console"] = about("for programs or for people", "console")
    level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = about(
        "lowest level that is written", "INFO"
    )


class LocksConfig(Section):
    """``LOCKS__…``."""

    provider: Literal["auto", "memory", "redis", "database"] = about(
        "where named locks live; auto: redis when REDIS_URL is set, else database", "auto"
    )


class Config(Section):
    """The whole configuration: immutable, complete, checked."""

    profile: Literal["local", "private", "cloud"] = about("a set of defaults; see above", "local")
    debug: bool = about("Django's DEBUG: error pages with internals", False)
    secret_key: str = about(
        "signs sessions and links; the local profile makes and keeps one", "", secret=True
    )
    allowed_hosts: Names = about("host names that the site is reached by", ())
    csrf_trusted_origins: Names = about("further origins of forms, with scheme", ())
    database_url: str = about("sqlite:///path or postgresql://user:password@host/name", "", secret=True)
    redis_url: str = about("Redis or Valkey: hints, locks and the default broker", "", secret=True)
    celery_broker_url: str = about("Celery's broker; REDIS_URL when not set, else memory://", "", secret=True)
    data_dir: Path = about("folder of the local database and secret", Path("var"))
    apps: Names = about("your own Django apps", ())
    time_zone: str = about("in which people read times; rows hold UTC", "UTC")
    audit_retention_days: Days = about("how long audit events are kept", 365)
    health_token: str = about("whoever sends it sees the details of health pages", "", secret=True)
    tasks: TasksConfig = TasksConfig()
    scheduler: SchedulerConfig = SchedulerConfig()
    bus: BusConfig = BusConfig()
    logs: LogsConfig = LogsConfig()
    locks: LocksConfig = LocksConfig()

    @property
    def lock_provider(self) -> str:
        """``memory``, ``redis`` or ``database``, with ``auto`` resolved."""
        if self.locks.provider != "auto":
            return self.locks.provider
        return "redis" if self.redis_url else "database"


SECTIONS: dict[str, type[Section]] = {
    name: field.annotation
    for name, field in Config.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
}

PROFILE_DEFAULTS: dict[str, dict[str, Any]] = {
    "local": {"allowed_hosts": ("localhost", "127.0.0.1", "[::1]"), "logs": {"format": "console"}},
    "private": {"logs": {"format": "json"}},
    "cloud": {"logs": {"format": "json"}},
}


def variables() -> dict[str, tuple[str, ...]]:
    """Each environment variable and the path of its field: ``{"TASKS__BATCH": ("tasks", "batch"), …}``."""
    top: dict[str, tuple[str, ...]] = {
        name.upper(): (name,) for name in Config.model_fields if name not in SECTIONS
    }
    nested: dict[str, tuple[str, ...]] = {
        f"{section}__{name}".upper(): (section, name)
        for section, model in SECTIONS.items()
        for name in model.model_fields
    }
    return top | nested


def field_of(path: tuple[str, ...]) -> Any:
    """pydantic's description of the field at ``path``."""
    model: type[Section] = SECTIONS[path[0]] if len(path) == 2 else Config
    return model.model_fields[path[-1]]
