"""Redis and the broker: do they answer, and may they forget."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from kombu import Connection
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError
from redis.retry import Retry

from jobsplatform.kernel import config
from tasks.doctor.finding import Finding, fault, ok, unreachable, warning

TIMEOUT_SECONDS = 2.0
FULL = 0.8
_REDIS = ("redis", "rediss", "unix", "redis+socket")


def check_broker(_: datetime) -> Iterator[Finding]:
    """The Celery broker, and REDIS_URL where that is another server."""
    settings = config.get()
    urls = {"broker": settings.celery_broker_url}
    if settings.redis_url and settings.redis_url != settings.celery_broker_url:
        urls["redis"] = settings.redis_url
    for name, url in urls.items():
        yield from look_at(name, url)


def look_at(name: str, url: str, timeout: float = TIMEOUT_SECONDS) -> Iterator[Finding]:
    """One server, by its url; silence of ``timeout`` seconds is no answer."""
    scheme = urlsplit(url).scheme
    if scheme == "memory":
        yield ok(name, "In memory: one process runs everything.")
    elif scheme in _REDIS:
        yield from _redis(name, url, timeout)
    else:
        yield _other(name, url)


def _redis(name: str, url: str, timeout: float) -> Iterator[Finding]:
    variable = "CELERY_BROKER_URL" if name == "broker" and not config.get().redis_url else "REDIS_URL"
    try:
        client = Redis.from_url(
            url.replace("redis+socket://", "unix://"),
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),
        )
    except ValueError as error:
        yield fault(name, f"Its url is wrong: {error}.", f"Look at {variable}.")
        return
    try:
        client.ping()
        info = client.info()
        policy = _policy(client)
    except (RedisError, OSError) as error:
        text = " ".join(str(error).split())
        yield unreachable(
            name, f"It does not answer: {text}", f"Look at {variable}, and whether the server runs."
        )
        return
    finally:
        client.close()
    yield from _of_memory(name, info, policy)


def _policy(client: Any) -> str:
    """The eviction policy; empty where the server does not tell (managed services)."""
    try:
        return str(client.config_get("maxmemory-policy").get("maxmemory-policy", ""))
    except ResponseError:
        return ""


def _of_memory(name: str, info: dict[str, Any], policy: str) -> Iterator[Finding]:
    policy = policy or str(info.get("maxmemory_policy", ""))
    used, limit = int(info.get("used_memory", 0)), int(info.get("maxmemory", 0))
    version = info.get("valkey_version") or info.get("redis_version", "?")
    product = "Valkey" if info.get("valkey_version") else "Redis"
    facts = {"version": version, "policy": policy, "used_bytes": used, "limit_bytes": limit}
    if policy not in ("", "noeviction"):
        text = f"{product} {version} may throw keys away when memory is short (maxmemory-policy {policy})."
        make = fault if limit else warning
        yield make(name, text, "Set maxmemory-policy to noeviction: lost messages cost time.", **facts)
    elif limit and used > FULL * limit:
        text = f"{product} {version} has used {used / limit:.0%} of its memory."
        yield warning(name, text, "Raise maxmemory, or find out what fills it.", **facts)
    else:
        yield ok(name, f"{product} {version}, {used / 2**20:.1f} MiB used.", **facts)


def _other(name: str, url: str) -> Finding:
    """A broker of another kind: only whether it answers."""
    try:
        with Connection(url, connect_timeout=TIMEOUT_SECONDS) as connection:
            connection.ensure_connection(max_retries=1, timeout=TIMEOUT_SECONDS)
            return ok(name, f"{urlsplit(url).scheme} answers.")
    except Exception as error:
        # Each transport has exceptions of its own; whatever it was, no connection was made.
        text = " ".join(str(error).split())
        return unreachable(
            name, f"It does not answer: {text}", "Look at CELERY_BROKER_URL, and whether the server runs."
        )
