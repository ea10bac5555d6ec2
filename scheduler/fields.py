"""What each field of a schedule may be, apart from its timetable."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from jobsplatform.kernel import config
from jobsplatform.kernel.errors import ConfigError, InvalidInput, nearest
from scheduler.models import NAME_LENGTH, REASON_LENGTH
from scheduler.spec import Fault, ScheduleSpec
from scheduler.states import Audience, Misfire, Overlap
from tasks import registry
from tasks.json_values import check_json
from tasks.requests import attempts, read_priority, text
from tasks.spec import MAX_APP, JobHandler, choice_of, length_of, queue_of, whole

MAX_TENANTS = 10_000
LONGEST_MESSAGE = 500
SHORTEST_GRACE = 1
"""Seconds. A slot is looked at up to a second after it is due: less would miss slots at random."""


class Reading:
    """Reads fields one by one into ``columns`` and keeps what is wrong with them."""

    def __init__(self) -> None:
        self.columns: dict[str, Any] = {}
        self.faults: list[Fault] = []

    def take(self, column: str, field: str, code: str, read: Callable[[], Any], value: object) -> None:
        """``columns[column] = read()``, or a fault of ``field``."""
        try:
            self.columns[column] = read()
        except (ConfigError, InvalidInput) as error:
            message = error.message.removeprefix(f"{field}: ")
            if len(message) > LONGEST_MESSAGE:
                message = message[:LONGEST_MESSAGE] + "…"
            self.faults.append(Fault(field, code, message, read=shown(value)))
        except ValueError:  # a whole number of so many digits that it cannot even be told
            self.faults.append(Fault(field, code, "cannot be read.", read=shown(value)))


def shown(value: object) -> str:
    """What was read, short enough to be told."""
    try:
        return value[:200] if isinstance(value, str) else repr(value)[:200]
    except ValueError:  # a whole number of thousands of digits
        return "a number too large to be shown"


def read_fields(spec: ScheduleSpec) -> Reading:
    """Every field but the timetable."""
    reading = Reading()
    take = reading.take
    take("id", "id", "ID", lambda: id_of(spec.id), spec.id)
    take("description", "description", "TEXT", lambda: prose(spec.description), spec.description)
    _job(spec, reading)
    _policies(spec, reading)
    take("priority", "priority", "PRIORITY", lambda: _maybe(_priority, spec.priority), spec.priority)
    take("queue", "queue", "QUEUE", lambda: queue_of(spec.queue) if spec.queue else "", spec.queue)
    take(
        "max_attempts",
        "max_attempts",
        "ATTEMPTS",
        lambda: _maybe(lambda n: attempts(n, 1), spec.max_attempts),
        spec.max_attempts,
    )
    take(
        "log_days",
        "log_days",
        "DAYS",
        lambda: _maybe(_count("log_days", 36_500), spec.log_days),
        spec.log_days,
    )
    _tenants(spec, reading)
    return reading


def id_of(value: Any) -> str:
    """The id as it is stored: any Unicode up to 200 characters, composed (NFC), in one line. Raises InvalidInput."""
    name = unicodedata.normalize("NFC", text(value, "id", NAME_LENGTH))
    text(name, "id", NAME_LENGTH)
    if not name:
        raise InvalidInput("id: a schedule needs a name.")
    if name != name.strip():
        raise InvalidInput(f"id: {name!r} has spaces at an end. Remove them.")
    return name


def prose(value: Any) -> str:
    """A text for people; line ends become spaces. Raises InvalidInput."""
    if isinstance(value, str):
        value = " ".join(value.split())
    return text(value, "description", REASON_LENGTH)


# -- the job -----------------------------------------------------------------------------------------


def _job(spec: ScheduleSpec, reading: Reading) -> None:
    app_id, job_type = spec.app_id, spec.job
    if isinstance(job_type, str) and not app_id and ":" in job_type:
        app_id, _, job_type = job_type.partition(":")
    reading.take("app_id", "app_id", "APP", lambda: text(app_id, "app_id", MAX_APP), app_id)
    reading.take("job_type", "job", "JOB", lambda: _name(job_type), job_type)
    if not {"app_id", "job_type"} <= reading.columns.keys():
        return
    handler = registry.find(app_id, job_type)
    if handler is None:
        key = registry.shown(f"{app_id}:{job_type}")
        known = list(map(registry.shown, registry.keys()))
        best = nearest(key, known)
        hint = (
            f"Did you mean {best!r}?" if best else "Declare it with @job in the jobs.py of an installed app."
        )
        reading.faults.append(
            Fault("job", "JOB_UNKNOWN", f"nobody declares the job type {key!r}.", hint, key)
        )
        return
    reading.take("params", "params", "PARAMS", lambda: params_of(handler, spec.params), spec.params)


def _name(value: Any) -> str:
    name = text(value, "job", NAME_LENGTH)
    if not name:
        raise InvalidInput("job: a schedule needs the job type that it runs.")
    return name


def params_of(handler: JobHandler, params: Any) -> dict[str, Any]:
    """Params as they are stored: checked as those of a job, and only what was given, so that a default that
    changes later is the new one. Raises ParamsInvalid, ParamsTooLarge."""
    given = params if params is not None else {}
    stored = handler.schema.normalise(given)
    if given.keys() <= stored.keys():
        stored = {name: value for name, value in stored.items() if name in given}
    checked: dict[str, Any] = check_json(stored, what="params", max_bytes=config.get().tasks.params_max_bytes)
    return checked


# -- policies ----------------------------------------------------------------------------------------


def _policies(spec: ScheduleSpec, reading: Reading) -> None:
    take = reading.take
    if spec.misfire or not spec.manual:
        _misfire(spec.misfire, reading)
    else:
        reading.columns["misfire"] = str(Misfire.SKIP)  # it has no slots that could be missed
    overlaps = tuple(map(str, Overlap))
    take(
        "overlap",
        "overlap",
        "OVERLAP",
        lambda: choice_of(str(spec.overlap), "overlap", overlaps),
        spec.overlap,
    )
    for column, field, shortest in _LENGTHS:
        value = getattr(spec, field)
        take(column, field, "LENGTH", partial(_length, value, field, shortest), value)
    for field in ("catch_up_max", "pause_after_failures"):
        value = getattr(spec, field)
        take(field, field, "COUNT", partial(_maybe, _count(field), value), value)


_LENGTHS = (
    ("misfire_grace_seconds", "grace", SHORTEST_GRACE),
    ("catch_up_window_seconds", "catch_up_window", 1),
    ("latest_start_seconds", "latest_start", 1),
)


def _misfire(value: Any, reading: Reading) -> None:
    known = tuple(map(str, Misfire))
    if not value:
        said = f"say what becomes of slots that were missed: one of {', '.join(known)}."
        reading.faults.append(Fault("misfire", "MISFIRE_MISSING", said, 'For example misfire="run_once".'))
        return
    reading.take("misfire", "misfire", "MISFIRE", lambda: choice_of(str(value), "misfire", known), value)


def _length(value: Any, field: str, shortest: float) -> float | None:
    seconds = length_of(value, field)
    if seconds is not None and seconds < shortest:
        raise InvalidInput(f"{field}: at least {shortest} s, got {seconds:g}.")
    return seconds


def _count(field: str, high: int = 1_000_000) -> Callable[[Any], int]:
    return lambda value: whole(value, field, 1, high)


def _maybe(read: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else read(value)


def _priority(value: Any) -> int:
    return read_priority(value, 0)


# -- for whom ----------------------------------------------------------------------------------------


def _tenants(spec: ScheduleSpec, reading: Reading) -> None:
    audience, tenants = Audience.GLOBAL, spec.tenants
    if isinstance(tenants, str):
        audience = Audience.EVERY if tenants == "*" else Audience.NAMED
    elif tenants is not None:
        audience = Audience.NAMED
    reading.columns["audience"] = str(audience)
    reading.columns["tenants"] = []
    if audience is Audience.NAMED:
        reading.take("tenants", "tenants", "TENANTS", lambda: _named(tenants), tenants)


def _named(tenants: Any) -> list[str]:
    if isinstance(tenants, str) or not isinstance(tenants, Iterable):
        raise InvalidInput(
            f"tenants: expected '*' for every tenant, or a list of their ids, got {shown(tenants)}."
        )
    names = {text(name, "tenants", 100) for name in tenants}
    if not names or "" in names or len(names) > MAX_TENANTS:
        raise InvalidInput(
            f"tenants: expected 1 to {MAX_TENANTS} ids of tenants, none of them empty; leave tenants out for one "
            "run for the whole host."
        )
    if "*" in names:
        raise InvalidInput("tenants: '*' in a list is no tenant. Write '*' alone for every one of them.")
    return sorted(names)
