"""From the arguments of ``@job`` to a spec that does not contradict itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import timedelta
from functools import partial
from typing import Any, Literal, cast

from jobsplatform.kernel.errors import ConfigError, did_you_mean
from tasks.params import Schema
from tasks.retry import rule_of
from tasks.spec import (
    MAX_APP,
    MAX_NAME,
    JobSpec,
    check_rule,
    choice_of,
    length_of,
    name_of,
    priority_of,
    queue_of,
    whole,
)
from tasks.states import Dedupe


def spec_of(job_type: str, declared: Mapping[str, Any]) -> tuple[JobSpec, Callable[[Schema], None]]:
    """The spec, and a check of its keys that waits for the schema. Raises ConfigError."""
    try:
        spec = _spec(job_type, declared)
        _agree(spec)
    except ConfigError as error:
        raise ConfigError(f"@job({job_type!r}): {error.message}") from None
    return spec, partial(_check_keys, spec)


_DEFAULTS = {f.name: f.default for f in fields(JobSpec) if f.name != "job_type"}


def declared(job_type: str, options: Mapping[str, Any], shown: str) -> JobSpec:
    """The spec with these options of ``@job``; what is left out has its usual value. ``shown``: what is declared, for
    the message. Raises ConfigError."""
    try:
        for name in options:
            if name not in _DEFAULTS:
                raise ConfigError(f"there is no option {name!r}.{did_you_mean(name, _DEFAULTS)}")
        spec = _spec(job_type, {**_DEFAULTS, **options})
        _agree(spec)
    except ConfigError as error:
        raise ConfigError(f"{shown}: {error.message}") from None
    return spec


def _spec(job_type: str, options: Mapping[str, Any]) -> JobSpec:
    given = dict(options)
    if not name_of(job_type, "job type", MAX_NAME):
        raise ConfigError("job type: expected a name, got empty text.")
    if ":" in name_of(given["app_id"], "app_id", MAX_APP):
        raise ConfigError(f"app_id: {given['app_id']!r} has a colon, which ends an app's name in a key.")
    for name in ("max_attempts", "max_concurrency", "crash_budget"):
        given[name] = None if given[name] is None else whole(given[name], name, 1)
    retention = length_of(given["retention"], "retention")
    public = given["public_params"]
    if isinstance(public, str) or not all(isinstance(name, str) for name in public):
        raise ConfigError(f"public_params: expected a list of names, got {public!r}.")
    return JobSpec(
        job_type=job_type,
        app_id=given["app_id"],
        queue=queue_of(given["queue"]),
        priority=priority_of(given["priority"]),
        max_attempts=given["max_attempts"],
        backoff=None if given["backoff"] is None else rule_of(given["backoff"]),
        timeout=length_of(given["timeout"], "timeout"),
        soft_timeout=length_of(given["soft_timeout"], "soft_timeout"),
        cancel_grace=length_of(given["cancel_grace"], "cancel_grace"),
        exclusive=bool(given["exclusive"]),
        max_concurrency=given["max_concurrency"],
        concurrency_key=given["concurrency_key"],
        concurrency_limit=whole(given["concurrency_limit"], "concurrency_limit", 1),
        dedupe_key=given["dedupe_key"],
        dedupe=Dedupe(choice_of(given["dedupe"], "dedupe", tuple(str(mode) for mode in Dedupe))),
        preemptible=bool(given["preemptible"]),
        on_interrupt=cast(
            Literal["resume", "cancel"],
            choice_of(given["on_interrupt"], "on_interrupt", ("resume", "cancel")),
        ),
        retention=None if retention is None else timedelta(seconds=retention),
        public_params=tuple(public),
        description=str(given["description"]),
        confirm=str(given["confirm"]),
        crash_budget=given["crash_budget"],
        packable=bool(given.get("packable", True)),
        own_queue=bool(given.get("own_queue", False)),
    )


def _agree(spec: JobSpec) -> None:
    """Refuse what cannot all be meant."""
    if spec.timeout is not None and spec.soft_timeout is not None and spec.soft_timeout >= spec.timeout:
        raise ConfigError(
            f"soft_timeout ({spec.soft_timeout:g} s) must be below timeout ({spec.timeout:g} s), "
            "else the handler never sees it."
        )
    if spec.exclusive and spec.max_concurrency is not None and spec.max_concurrency != 1:
        raise ConfigError(
            f"exclusive means one at a time, and max_concurrency says {spec.max_concurrency}. Leave one out."
        )
    if spec.concurrency_limit != 1 and spec.concurrency_key is None:
        raise ConfigError(
            "concurrency_limit counts jobs of one concurrency_key, which is not given. "
            "Give it, or say max_concurrency for all jobs of the type."
        )


def _check_keys(spec: JobSpec, schema: Schema) -> None:
    try:
        check_rule(spec.dedupe_key, schema, "dedupe_key")
        check_rule(spec.concurrency_key, schema, "concurrency_key")
    except ConfigError as error:
        raise ConfigError(f"@job({spec.job_type!r}): {error.message}") from None
