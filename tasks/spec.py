"""What is declared about a job type, and what every kind of handler promises."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Protocol, runtime_checkable

from jobsplatform.kernel.errors import ConfigError, ParamsInvalid, did_you_mean, nearest
from tasks.context import JobContext
from tasks.json_values import check_json
from tasks.outcomes import Ending
from tasks.params import Schema
from tasks.retry import DelayRule
from tasks.states import MAX_PRIORITY, Dedupe, Priority

MAX_APP = 100
MAX_NAME = 200
MAX_KEY = 255

KeyRule = str | Callable[[Mapping[str, Any]], str | None]
"""A key: a text with ``{param}`` in it, or a function of the stored params; None or empty means no key."""

_QUEUE = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A declared job type. Lengths are seconds; None means the platform's setting, or no limit."""

    job_type: str
    app_id: str = ""
    queue: str = "default"
    priority: int = Priority.NORMAL
    max_attempts: int | None = None
    backoff: DelayRule | None = None
    timeout: float | None = None
    soft_timeout: float | None = None
    cancel_grace: float | None = None
    exclusive: bool = False
    max_concurrency: int | None = None
    concurrency_key: KeyRule | None = None
    concurrency_limit: int = 1
    dedupe_key: KeyRule | None = None
    dedupe: Dedupe = Dedupe.ALIAS
    preemptible: bool = False
    on_interrupt: Literal["resume", "cancel"] = "resume"
    retention: timedelta | None = None
    public_params: tuple[str, ...] = ()
    description: str = ""
    confirm: str = ""
    crash_budget: int | None = None
    packable: bool = True
    """Short jobs of the type may share a message; False when others have a say in each of its ends."""
    own_queue: bool = False
    """Its jobs wait in ``queue`` alone: no other can be asked for."""

    @property
    def key(self) -> str:
        """The handler key, ``app_id:job_type``."""
        return f"{self.app_id}:{self.job_type}"

    def dedupe_key_of(self, params: Mapping[str, Any]) -> str:
        """The dedupe key of a job with these stored params, or empty. Raises ParamsInvalid."""
        return key_of(self.dedupe_key, params, "dedupe_key")

    def concurrency_key_of(self, params: Mapping[str, Any]) -> str:
        """The concurrency key likewise."""
        return key_of(self.concurrency_key, params, "concurrency_key")


class JobHandler(Protocol):
    """The code of a job type, whatever kind it is."""

    @property
    def spec(self) -> JobSpec: ...

    @property
    def schema(self) -> Schema: ...

    @property
    def place(self) -> str:
        """Where it was declared: ``file:line``."""

    @property
    def has_continuation(self) -> bool:
        """Is there something to run once all children have ended?"""

    def run(self, context: JobContext) -> Any:
        """Do the job; the answer is what ``tasks.outcomes`` allows."""

    def run_continuation(self, context: JobContext) -> Any:
        """Go on after the children; ``context.children`` has their results."""


@runtime_checkable
class ReadsErrors(Protocol):
    """A handler that has a say in what an exception of its code means."""

    def ending_of(self, error: BaseException, ending: Ending) -> Ending:
        """The ending of a run that raised ``error``; ``ending`` is what it would be for any handler."""


def key_of(rule: KeyRule | None, params: Mapping[str, Any], what: str) -> str:
    """The text that ``rule`` makes of stored ``params``. Raises ParamsInvalid when it is no storable text."""
    if rule is None:
        return ""
    if callable(rule):
        made = rule(params)
    else:
        made = "".join(
            literal + ("" if name is None else _as_text(params.get(name)))
            for literal, name, _, _ in string.Formatter().parse(rule)
        )
    if made is None:
        return ""
    if not isinstance(made, str):
        raise ParamsInvalid(f"{what}: expected text, the rule made a {type(made).__name__}.")
    if len(made) > MAX_KEY:
        raise ParamsInvalid(f"{what}: {len(made)} characters, at most {MAX_KEY} are stored.")
    text: str = check_json(made, what=what)
    return text


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def check_rule(rule: KeyRule | None, schema: Schema, what: str) -> None:
    """Raises ConfigError for a template that names params which the job type does not have."""
    if rule is None or callable(rule):
        return
    if not isinstance(rule, str):
        raise ConfigError(f"{what}: expected text such as 'user:{{user_id}}' or a function, got {rule!r}.")
    try:
        parsed = list(string.Formatter().parse(rule))
    except ValueError as error:
        raise ConfigError(f"{what}: {rule!r} is no template ({error}).") from None
    for _, name, form, conversion in parsed:
        if name is None:
            continue
        if form or conversion or not name.isidentifier():
            raise ConfigError(f"{what}: {{{name}}} in {rule!r} must be the bare name of a param.")
        if name not in schema.names and not schema.open_ended:
            raise ConfigError(f"{what}: {rule!r} names the param {name!r}.{did_you_mean(name, schema.names)}")


def name_of(value: Any, what: str, longest: int) -> str:
    """A name as given. Raises ConfigError when it is no text, too long, or has what cannot be printed."""
    if not isinstance(value, str):
        raise ConfigError(f"{what}: expected text, got {value!r}.")
    if len(value) > longest:
        raise ConfigError(f"{what}: {len(value)} characters, at most {longest} are stored.")
    if _UNPRINTABLE.search(value) or value != value.strip():
        raise ConfigError(f"{what}: {value!r} has control characters, or spaces at an end.")
    return value


def queue_of(value: Any) -> str:
    """A queue's name. Raises ConfigError."""
    if not isinstance(value, str) or not _QUEUE.fullmatch(value):
        raise ConfigError(f"queue: expected 1 to 100 of A-Z, a-z, 0-9, _ . and -, got {value!r:.60}.")
    return value


def whole(value: Any, what: str, low: int, high: int = 2**31 - 1) -> int:
    """A whole number in range. Raises ConfigError."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(f"{what}: expected a whole number from {low} to {high}, got {value!r:.60}.")
    return int(value)


def length_of(value: Any, what: str) -> float | None:
    """Seconds, from seconds or a timedelta. Raises ConfigError for zero and less."""
    if value is None:
        return None
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < 10**9:
        raise ConfigError(f"{what}: expected seconds above 0 or a timedelta, got {value!r:.60}.")
    return float(seconds)


def choice_of(value: Any, what: str, known: tuple[str, ...]) -> str:
    """One of ``known``. Raises ConfigError with the nearest."""
    if value in known:
        return str(value)
    best = nearest(str(value), known)
    hint = f" Did you mean {best!r}?" if best else ""
    raise ConfigError(f"{what}: expected one of {', '.join(known)}, got {value!r:.60}.{hint}")


def priority_of(value: Any) -> int:
    """0 to 9999. Raises ConfigError."""
    return whole(value, "priority", 0, MAX_PRIORITY)
