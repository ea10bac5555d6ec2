"""How a wrong setting is told: what was expected, what came, and the nearest known name."""

from __future__ import annotations

import difflib
import importlib.machinery
import importlib.util
import json
import zoneinfo
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

from jobsplatform.kernel.errors import nearest

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic.fields import FieldInfo

    from jobsplatform.kernel.config_schema import Config

SHOWN = 60
"""Longest value that a fault repeats."""

UNSHOWN = ("SECRET", "TOKEN", "PASSWORD", "_URL")
"""Values of variables with these parts may hold a password and are never repeated."""


def summary(faults: Iterable[str]) -> str:
    """One line a fault."""
    return "\n".join(faults)


def decoded(annotation: Any, raw: str) -> Any:
    """The text of a variable as what its type reads: lists and maps are JSON, lists also comma-separated.

    Raises ValueError for broken JSON.
    """
    if get_origin(annotation) is tuple:
        if raw.startswith("["):
            return json.loads(raw)
        return [part.strip() for part in raw.split(",") if part.strip()]
    return json.loads(raw) if get_origin(annotation) is dict else raw


def unknown_names(environ: Mapping[str, str], known: Iterable[str], sections: Iterable[str]) -> list[str]:
    """A fault for each variable with one of our prefixes that is not ours, and each that is nearly ours.

    Short names (``APPS``, ``DEBUG``) have no near misses: too many programs have variables like them. Nor has
    a name that is set itself: what looks like it is then somebody else's.
    """
    names = set(known)
    prefixes = tuple(f"{section.upper()}__" for section in sections)
    long_names = [name for name in names if len(name) >= 7]
    faults = []
    for variable in sorted(set(environ) - names):
        upper = variable.upper()
        section, nested, _ = upper.partition("__")
        ours = bool(nested) and any(_slip(f"{section}__", prefix) for prefix in prefixes)
        if ours or (upper in names and len(upper) >= 7):
            best = upper if upper in names else nearest(upper, names)
            hint = f" Did you mean {best}?" if best else ""
            faults.append(f"{variable}: no such setting.{hint}")
        elif best := next((name for name in long_names if name not in environ and _slip(upper, name)), None):
            faults.append(f"{variable}: no such setting. Did you mean {best}? (Else unset or rename it.)")
    return faults


def wrong_value(variable: str, field: FieldInfo, raw: str) -> str:
    """``TASKS__BATCH: expected a whole number of at least 1, got 'many'.``"""
    shown = "a value that is not shown" if any(part in variable for part in UNSHOWN) else repr(raw[:SHOWN])
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    best = nearest(raw, choices) or nearest(raw.lower(), choices) or nearest(raw.upper(), choices)
    hint = f" Did you mean {best!r}?" if best else ""
    return f"{variable}: expected {expected(field)}, got {shown}.{hint}"


def expected(field: FieldInfo) -> str:
    """What a field takes, in words."""
    annotation = field.annotation
    if get_origin(annotation) is Literal:
        return "one of " + ", ".join(get_args(annotation))
    if get_origin(annotation) is tuple:
        return "names separated by commas"
    if get_origin(annotation) is dict:
        return 'a JSON object such as {"default": 4}'
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    word = next((text for kind, text in words.items() if kind is annotation), "a path")
    bounds = []
    for limit in _limits(field):
        for name, text in (("ge", "at least"), ("gt", "above"), ("le", "at most")):
            if getattr(limit, name, None) is not None:
                bounds.append(f"{text} {getattr(limit, name)}")
    return word + (" " + " and ".join(bounds) if bounds else "")


def of_validation(error: ValidationError) -> list[str]:
    """The faults of a mapping that pydantic refused, named as settings are in Python."""
    return [f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}." for item in error.errors()]


def contradictions(config: Config, bad: Iterable[str] = ()) -> list[str]:
    """Settings that are fine alone and wrong together; those named in ``bad`` are already told."""
    tasks, told = config.tasks, set(bad)
    rules: list[tuple[tuple[str, ...], Callable[[], bool], str]] = [
        (
            ("TASKS__BACKOFF_BASE_SECONDS", "TASKS__BACKOFF_MAX_SECONDS"),
            lambda: tasks.backoff_base_seconds <= tasks.backoff_max_seconds,
            f"expected at most TASKS__BACKOFF_MAX_SECONDS ({tasks.backoff_max_seconds:g}), "
            f"got {tasks.backoff_base_seconds:g}.",
        ),
        (
            ("TASKS__LEASE_SECONDS", "TASKS__HEARTBEAT_SECONDS"),
            lambda: tasks.lease_seconds >= 2 * tasks.heartbeat_seconds,
            f"expected at least twice TASKS__HEARTBEAT_SECONDS ({2 * tasks.heartbeat_seconds:g}), "
            f"got {tasks.lease_seconds:g}: one late heartbeat would count as a death.",
        ),
        (
            ("TASKS__CUTOFF_EXIT_SECONDS", "TASKS__LEASE_SECONDS"),
            lambda: tasks.cutoff_exit_seconds >= tasks.lease_seconds,
            f"expected at least TASKS__LEASE_SECONDS ({tasks.lease_seconds:g}), "
            f"got {tasks.cutoff_exit_seconds:g}.",
        ),
        (
            ("TASKS__WATCHDOG_SECONDS", "TASKS__POLL_SECONDS"),
            lambda: tasks.watchdog_seconds >= 2 * tasks.poll_seconds,
            f"expected at least twice TASKS__POLL_SECONDS ({2 * tasks.poll_seconds:g}), "
            f"got {tasks.watchdog_seconds:g}.",
        ),
        (
            ("SCHEDULER__LOCK_TTL_SECONDS", "SCHEDULER__IDLE_SLEEP_SECONDS"),
            lambda: config.scheduler.lock_ttl_seconds >= 2 * config.scheduler.idle_sleep_seconds,
            f"expected at least twice SCHEDULER__IDLE_SLEEP_SECONDS "
            f"({2 * config.scheduler.idle_sleep_seconds:g}), got {config.scheduler.lock_ttl_seconds:g}.",
        ),
        (
            ("LOCKS__PROVIDER", "REDIS_URL"),
            lambda: config.locks.provider != "redis" or bool(config.redis_url),
            "expected a REDIS_URL beside the value redis, got none.",
        ),
    ]
    faults = [f"{names[0]}: {text}" for names, holds, text in rules if not told & set(names) and not holds()]
    return (
        faults + _zone_fault(config.time_zone) + [_app_fault(app) for app in config.apps if not _there(app)]
    )


REDIS_SCHEMES = ("redis", "rediss", "unix")
BROKER_SCHEMES = ("memory", "redis", "rediss", "redis+socket", "sentinel", "amqp", "amqps", "pyamqp", "sqs")


def url_fault(variable: str, url: str, schemes: Collection[str]) -> list[str]:
    """What is wrong with the address of a server that is spoken to later; nothing of it is repeated."""
    if not url:
        return []
    scheme, found, _ = url.partition("://")
    if not found or scheme not in schemes:
        best = nearest(scheme, schemes) if found else None
        hint = f" Did you mean {best}://?" if best else ""
        shown = f"{scheme}://…" if found else "no scheme"
        known = ", ".join(f"{one}://" for one in schemes)
        return [f"{variable}: expected one of {known}, got {shown}.{hint}"]
    try:
        _ = urlsplit(url).port
    except ValueError:
        return [f"{variable}: expected a port from 0 to 65535 after the host, or none."]
    return []


def _zone_fault(name: str) -> list[str]:
    known = zoneinfo.available_timezones()
    if name in known:
        return []
    best = nearest(name, known)
    hint = f" Did you mean {best!r}?" if best else ""
    return [f"TIME_ZONE: expected a zone name such as 'Europe/Berlin', got {name[:SHOWN]!r}.{hint}"]


def _there(app: str) -> bool:
    """Is there a module for an entry of APPS (of its configuration class's module)? Nothing is imported."""
    names = app.split(".")
    if names[-1][:1].isupper():
        names.pop()
    if not names or not all(name.isidentifier() for name in names):
        return False
    found = importlib.util.find_spec(names[0])
    for depth in range(2, len(names) + 1):
        if found is None:
            return False
        inside = found.submodule_search_locations or []
        found = importlib.machinery.PathFinder.find_spec(".".join(names[:depth]), inside)
    return found is not None


def _app_fault(app: str) -> str:
    return (
        f"APPS: expected Django apps that can be imported, got {app[:SHOWN]!r}. Is it installed, and is "
        "its folder on the Python path?"
    )


def _limits(field: FieldInfo) -> list[Any]:
    flat: list[Any] = []
    for item in field.metadata:
        flat.extend(getattr(item, "metadata", None) or [item])
    return flat


def _slip(name: str, known: str) -> bool:
    """Is ``name`` one slip of the hand (two in a long name) away from ``known``?"""
    allowed = 1 if len(known) < 10 else 2
    if abs(len(name) - len(known)) > allowed:
        return False
    blocks = difflib.SequenceMatcher(None, name, known, autojunk=False).get_matching_blocks()
    matched = sum(block.size for block in blocks)
    return max(len(name), len(known)) - matched <= allowed
