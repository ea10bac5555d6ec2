"""Processes: who went silent, and whether anybody runs jobs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from jobsplatform.kernel import config, processes
from jobsplatform.kernel.models import Process
from tasks.doctor.finding import Finding, fault, ok, warning


def check_silent(now: datetime) -> Iterator[Finding]:
    """Processes that neither beat nor said goodbye."""
    silent = list(processes.silent(now, config.get().tasks.lease_seconds).order_by("heartbeat_at")[:20])
    for process in silent:
        age = int((now - process.heartbeat_at).total_seconds())
        who = f"{process.role} {process.name}{_place(process)}"
        text = f"{who} has been silent for {age} s."
        advice = "See whether it hangs and stop it; a live worker then takes its jobs back."
        yield fault("processes", text, advice, id=str(process.id))
    if not silent:
        yield ok("processes", "No process is silent.")


def _place(process: Process) -> str:
    if process.app_id:
        return f" of the app {process.app_id}"
    return f" (pid {process.pid} on {process.host})"


def check_workers(now: datetime) -> Iterator[Finding]:
    """Whether a live worker takes jobs."""
    if config.get().tasks.provider == "sync":
        yield ok("workers", "Jobs run in their callers (TASKS__PROVIDER=sync).")
        return
    live = live_workers(now)
    taking = [process for process in live if not process.stopping]
    if not live:
        advice = "Start one: 'manage.py runplatform' or 'celery -A jobsplatform worker'."
        yield fault("workers", "No live worker: no job is run.", advice)
    elif not taking:
        yield warning(
            "workers", "All live workers are draining: nothing new is started.", "Start one, or wait for it."
        )
    else:
        slots = sum(process.concurrency for process in taking)
        stuck = sum(process.busy_threads for process in taking)
        if stuck:
            text = f"{stuck} of {slots} slots are held by runs that could not be killed."
            advice = (
                "Restart that worker; handlers that ignore their cancel need a pool that can kill (prefork)."
            )
            yield warning("workers", text, advice, slots=slots, stuck=stuck)
        else:
            yield ok("workers", f"{len(taking)} live, {slots} slots.", workers=len(taking), slots=slots)


def live_workers(now: datetime) -> list[Process]:
    """Processes that run jobs and were heard of within the lease."""
    live = processes.live(now, config.get().tasks.lease_seconds)
    return list(live.filter(role=Process.Role.WORKER).order_by("name"))
