"""``maintenance.refresh_caches``: refresh the registered caches of external configuration."""

from __future__ import annotations

from typing import Any

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import UnknownName
from tasks.builtin import caches
from tasks.context import JobContext
from tasks.handlers import job
from tasks.json_values import clean_text
from tasks.outcomes import Fail, Outcome

ERROR_CHARACTERS = 300


@job(
    "maintenance.refresh_caches",
    description="Refresh the registered caches of configuration that is kept elsewhere.",
    public_params=("names",),
    exclusive=True,
)
def refresh_caches(context: JobContext, names: list[str] | None = None) -> Outcome:
    """Refresh the named caches, or all. One that fails does not stop the others; the run fails at its end.

    Raises ``Fail``: never retried for an unknown name, retried when a refresh failed.
    """
    try:
        wanted = [(name, caches.get(name)) for name in names or caches.names()]
    except UnknownName as error:
        raise Fail(error.message, retryable=False) from None
    done: dict[str, Any] = {}
    failed: list[str] = []
    for name, refresh in context.track(wanted):
        started = clock.monotonic()
        try:
            refresh()
        except Exception as error:
            context.log.warning("cache %s was not refreshed", name, exc_info=True)
            failed.append(f"{name} ({type(error).__name__}: {clean_text(error, ERROR_CHARACTERS)})")
            continue
        done[name] = {"elapsed_ms": round((clock.monotonic() - started) * 1000)}
    if failed:
        raise Fail(f"{len(failed)} of {len(wanted)} caches were not refreshed: {'; '.join(failed)}")
    return Outcome({"refreshed": done}, count=len(done))
