"""Every setting of the platform: parsed once from the environment, validated whole, immutable.

This is the only file that reads the environment. Everyone else asks ``get()``.

A profile (``local``, ``private``, ``cloud``) is only a set of defaults. Nested settings join section and
name by two underscores (``TASKS__BATCH``). An empty variable counts as not set. Lists are separated by
commas, or written as JSON.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from django.conf import settings
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from jobsplatform.kernel import config_faults, secret
from jobsplatform.kernel.database_url import DatabaseUrlError, parse
from jobsplatform.kernel.errors import ConfigError

Seconds = Annotated[float, Field(gt=0, le=31_536_000, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Natural = Annotated[int, Field(ge=0, le=1_000_000_000)]
Days = Annotated[int, Field(ge=0, le=36_500)]
QueueName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,100}$")]
Names = tuple[str, ...]

PROFILE_DEFAULTS: dict[str, dict[str, Any]] = {
    "local": {"allowed_hosts": ("localhost", "127.0.0.1", "[::1]"), "logs": {"format": "console"}},
    "private": {"logs": {"format": "json"}},
    "cloud": {"logs": {"format": "json"}},
}


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class TasksConfig(Section):
    """``TASKS__…``: how jobs are dispatched, run, rescued and kept."""

    provider: Literal["celery", "sync"] = "celery"
    queues: Annotated[tuple[QueueName, ...], Field(min_length=1)] = ("default",)
    queue_caps: dict[QueueName, Count] = Field(default={}, description="most jobs of a queue at once")
    concurrency: Count = Field(default=4, description="worker threads of the local profile")
    batch: Count = Field(default=50, description="jobs claimed a round")
    poll_seconds: Seconds = Field(default=3, description="dispatcher's wait without a hint")
    heartbeat_seconds: Seconds = 5
    lease_seconds: Seconds = Field(default=15, description="a process silent for this long is dead")
    cancel_grace_seconds: Seconds = Field(default=10, description="from a cancel to the kill")
    resend_seconds: Seconds = Field(default=10, description="until an unstarted message is sent again")
    cutoff_exit_seconds: Seconds = Field(default=600, description="a worker cut off this long exits")
    watchdog_seconds: Seconds = Field(default=60, description="a worker that is deaf this long exits")
    shutdown_grace_seconds: Seconds = Field(default=25, description="for running jobs at SIGTERM")
    starvation_seconds: Seconds = Field(default=60, description="oldest first after this wait")
    starvation_every: Count = Field(default=10, description="each n-th claim takes the oldest")
    reserved_high_priority_slots: Natural = 1
    max_attempts: Count = 3
    crash_budget: Count = Field(default=3, description="crashes in a row before a job fails")
    worker_loss_budget: Count = Field(default=10, description="losses of a whole worker before a job fails")
    backoff_base_seconds: Seconds = 5
    backoff_max_seconds: Seconds = 3600
    params_max_bytes: Count = 262_144
    result_max_bytes: Count = 1_048_576
    retention_completed_days: Days = 7
    retention_cancelled_days: Days = 7
    retention_failed_days: Days = 30
    resume_per_second: Count = Field(default=20, description="starts a second after a resume")
    resume_ramp_seconds: Seconds = Field(default=30, description="how long a resume is throttled")
    progress_per_second: Count = Field(default=4, description="progress writes a second and job")
    files_scan_roots: Names = Field(default=(), description="folders that files.scan may read; empty = any")
    url_allow_hosts: Names = Field(default=(), description="hosts that the URL job may call")
    url_allow_private: bool = Field(default=False, description="let the URL job call private addresses")
    allowed_commands: Names = Field(
        default=("clearsessions",), description="commands that the command job may run"
    )


class SchedulerConfig(Section):
    """``SCHEDULER__…``: who decides when."""

    provider: Literal["local", "celery_beat", "apscheduler"] = "local"
    idle_sleep_seconds: Seconds = 1
    lock_ttl_seconds: Seconds = 30


class LogsConfig(Section):
    """``LOGS__…``."""

    format: Literal["json", "console"] = "console"
    level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO"


class LocksConfig(Section):
    """``LOCKS__…``: where named locks live; ``auto`` is redis when there is a REDIS_URL, else database."""

    provider: Literal["auto", "memory", "redis", "database"] = "auto"


class Config(Section):
    """The whole configuration. Seconds are floats, sizes bytes, days whole."""

    profile: Literal["local", "private", "cloud"] = "local"
    debug: bool = False
    secret_key: str = Field(default="", repr=False)
    allowed_hosts: Names = ()
    csrf_trusted_origins: Names = Field(default=(), description="with scheme, e.g. https://jobs.example")
    database_url: str = Field(default="", repr=False)
    redis_url: str = Field(default="", repr=False)
    celery_broker_url: str = Field(default="", repr=False)
    data_dir: Path = Field(default=Path("var"), description="folder of the local database and secret")
    apps: Names = Field(default=(), description="your own Django apps")
    time_zone: str = "UTC"
    audit_retention_days: Days = 365
    health_token: str = Field(default="", repr=False, description="its bearer sees more on health pages")
    tasks: TasksConfig = TasksConfig()
    scheduler: SchedulerConfig = SchedulerConfig()
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


def load(environ: Mapping[str, str]) -> Config:
    """The configuration that ``environ`` describes.

    Raises ``ConfigError`` that lists every fault at once. In the local profile a missing SECRET_KEY is
    made once and kept in the data folder.
    """
    known = variables()
    faults = config_faults.unknown_names(environ, known, SECTIONS)
    values: dict[str, Any] = {}
    bad: set[str] = set()
    for variable, path in known.items():
        raw = environ.get(variable, "").strip()
        if not raw:
            continue
        try:
            _put(values, path, _parse(path, raw))
        except (ValidationError, ValueError):
            faults.append(config_faults.wrong_value(variable, _field(path), raw))
            bad.add(variable)
    return _complete(values, faults, bad)


def from_mapping(values: Mapping[str, Any]) -> Config:
    """The configuration of a host project: its ``JOBSPLATFORM = {…}`` setting, nested, lower case.

    Raises ``ConfigError`` that lists every fault.
    """
    try:
        checked = Config.model_validate(values)
    except ValidationError as error:
        raise ConfigError(config_faults.summary(config_faults.of_validation(error))) from None
    return _complete(checked.model_dump(exclude_unset=True), [], set())


def or_exit() -> Config:
    """``load`` for this process's environment; a wrong one is told on stderr and exits with 2."""
    try:
        return load(os.environ)
    except ConfigError as error:
        lines = "\n".join(f"  {line}" for line in error.message.splitlines())
        sys.stderr.write(f"The environment is wrong:\n{lines}\n")
        raise SystemExit(2) from None


def colours_wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a terminal may be painted: no, when NO_COLOR holds anything (no-color.org) or TERM is dumb."""
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


_loaded: tuple[object, Config] | None = None
_override: Config | None = None


def get() -> Config:
    """The configuration in force: ``settings.JOBSPLATFORM``, or what ``override`` put before it."""
    global _loaded
    if _override is not None:
        return _override
    setting = getattr(settings, "JOBSPLATFORM", None) or {}
    if isinstance(setting, Config):
        return setting
    if _loaded is None or _loaded[0] is not setting:
        _loaded = (setting, from_mapping(setting))
    return _loaded[1]


@contextmanager
def override(**nested: Any) -> Iterator[Config]:
    """Change settings for a while, in all threads (for tests).

    ``override(redis_url="", tasks={"batch": 1})``; values are validated, unknown names raise ConfigError.
    """
    global _override
    before = _override
    values = get().model_dump()
    for name, value in nested.items():
        values[name] = {**values[name], **value} if name in SECTIONS and isinstance(value, Mapping) else value
    try:
        changed = Config.model_validate(values)
    except ValidationError as error:
        raise ConfigError(config_faults.summary(config_faults.of_validation(error))) from None
    _override = changed
    try:
        yield changed
    finally:
        _override = before


def _field(path: tuple[str, ...]) -> Any:
    model: type[Section] = SECTIONS[path[0]] if len(path) == 2 else Config
    return model.model_fields[path[-1]]


def _parse(path: tuple[str, ...], raw: str) -> Any:
    field = _field(path)
    whole: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    return TypeAdapter(whole).validate_python(config_faults.decoded(field.annotation, raw))


def _put(values: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for part in path[:-1]:
        values = values.setdefault(part, {})
    values[path[-1]] = value


def _complete(values: dict[str, Any], faults: list[str], bad: set[str]) -> Config:
    """Fill in what the profile implies, look at contradictions, and build; raise with all faults."""
    profile = values.get("profile", "local")
    for name, default in PROFILE_DEFAULTS[profile].items():
        if name in SECTIONS:
            values[name] = {**default, **values.get(name, {})}
        else:
            values.setdefault(name, default)
    config = Config.model_validate(values)
    changes: dict[str, Any] = {"data_dir": config.data_dir.expanduser().absolute()}
    if not config.secret_key and "SECRET_KEY" not in bad:
        changes["secret_key"] = _default_secret(profile, changes["data_dir"], faults)
    if not config.database_url and "DATABASE_URL" not in bad:
        changes["database_url"] = _default_database(profile, changes["data_dir"], faults)
    if not config.celery_broker_url:
        changes["celery_broker_url"] = config.redis_url or "memory://"
    config = config.model_copy(update=changes)
    if config.database_url:
        try:
            parse(config.database_url)
        except DatabaseUrlError as error:
            faults.append(f"DATABASE_URL: {error}")
    faults.extend(config_faults.contradictions(config, bad))
    if faults:
        raise ConfigError(config_faults.summary(faults), faults=faults)
    return config


def _default_secret(profile: str, data_dir: Path, faults: list[str]) -> str:
    if profile != "local":
        faults.append(
            f"SECRET_KEY: the profile {profile} needs one: expected 50 random characters or more, got none."
        )
        return ""
    try:
        return secret.kept_in(data_dir)
    except OSError as error:
        faults.append(f"DATA_DIR: expected a folder to write to, got {str(data_dir)!r} ({error.strerror}).")
        return ""


def _default_database(profile: str, data_dir: Path, faults: list[str]) -> str:
    if profile != "local":
        faults.append(
            f"DATABASE_URL: the profile {profile} needs one: expected "
            "postgresql://user:password@host:5432/name, got none."
        )
        return ""
    return f"sqlite:///{data_dir / 'jobsplatform.sqlite3'}"
