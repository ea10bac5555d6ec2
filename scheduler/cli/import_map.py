"""What stands for which command or Celery task: ``--map NAME=[APP:]TYPE`` and ``--map @FILE``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jobsplatform.kernel.errors import InvalidInput, UnknownName
from scheduler.importing.candidates import Mapped, Target
from tasks import registry
from tasks.cli import names

MAX_BYTES = 2**20
_KEYS = ("job", "params", "id")


def mapped_by(arguments: Iterable[str]) -> Mapped:
    """All that was said. Raises InvalidInput, UnknownName for a job type that nobody declares."""
    targets: dict[str, Target] = {}
    for argument in arguments:
        for name, target in _read(argument).items():
            if name in targets:
                raise InvalidInput(f"--map: {name!r} is mapped twice.")
            targets[name] = target
    return Mapped(targets)


def _read(argument: str) -> Mapping[str, Target]:
    if argument.startswith("@"):
        return _of_file(argument[1:])
    name, sign, job = argument.rpartition("=")
    if not sign or not name.strip() or not job.strip():
        raise InvalidInput(f"--map: {argument!r} is no mapping. Expected 'NAME=[APP:]TYPE' or @FILE.")
    return {name.strip(): _target(job.strip())}


def _target(job: str, params: Mapping[str, Any] | None = None, schedule_id: str = "") -> Target:
    app_id, job_type = names.split(job)
    if registry.find(app_id, job_type) is None:
        raise UnknownName("job type", job, map(registry.shown, registry.keys()))
    return Target(job_type, app_id, params, schedule_id)


def _of_file(name: str) -> dict[str, Target]:
    try:
        with Path(name).open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise InvalidInput(f"--map: the file {name!r} is longer than {MAX_BYTES:,} bytes.")
        value = json.loads(raw)
    except OSError as error:
        raise InvalidInput(f"--map: the file {name!r} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"--map: the file {name!r} is no JSON ({error}).") from None
    if not isinstance(value, dict):
        raise InvalidInput(
            f'--map: {name!r} must hold a JSON object like {{"/usr/bin/report *": "reports.daily"}}.'
        )
    return {pattern: _of_value(pattern, wanted) for pattern, wanted in value.items()}


def _of_value(pattern: str, wanted: Any) -> Target:
    if isinstance(wanted, str):
        return _target(wanted)
    if not isinstance(wanted, dict) or not isinstance(wanted.get("job"), str):
        raise InvalidInput(
            f'--map: {pattern!r} needs a job type, or an object like {{"job": "reports.daily", "params": {{}}}}.'
        )
    for key in wanted:
        if key not in _KEYS:
            raise UnknownName(f"key of --map {pattern!r}", key, _KEYS)
    params, schedule_id = wanted.get("params"), wanted.get("id", "")
    if not isinstance(params, dict | None) or not isinstance(schedule_id, str):
        raise InvalidInput(f"--map: params of {pattern!r} must be an object, and id a text.")
    return _target(wanted["job"], params, schedule_id)
