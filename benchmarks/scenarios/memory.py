"""Memory of a worker: at rest, and after many jobs."""

from __future__ import annotations

import time
from collections.abc import Mapping

from benchmarks.bench import Bench
from benchmarks.processes import main_memory, whole_memory
from benchmarks.results import Bound, Metric, Row
from benchmarks.scenarios.base import OURS, Scenario
from benchmarks.session import Session
from benchmarks.systems.celery_results.system import CeleryDjango

CELERY_DJANGO = CeleryDjango()

MAIN_COUNTED = (
    "resident memory of the worker's main process, shared pages included, after some seconds of rest"
)
ALL_COUNTED = (
    "memory of the worker's processes together, a shared page counted once (PSS), at the same moments"
)
IDLE_MAIN = Metric(
    "idle worker, main process", "MiB", "lower", MAIN_COUNTED, (Bound("<=", 1.3, CELERY_DJANGO.name),)
)
IDLE_ALL = Metric("idle worker, all processes", "MiB", "lower", ALL_COUNTED)
AFTER_MAIN = Metric("main process after 20,000 jobs", "MiB", "lower", MAIN_COUNTED)
AFTER_ALL = Metric("all processes after 20,000 jobs", "MiB", "lower", ALL_COUNTED)

MANY_SECONDS = 900.0
"""The slowest system may take so long for all jobs."""

ALL = (OURS, CELERY_DJANGO)


def run(bench: Bench) -> list[Row]:
    sizes = bench.sizes

    def measure(session: Session) -> Mapping[str, float]:
        session.start_workers()
        session.do("one_by_one", kind="noop", count=1)
        session.wait("the first job", lambda: session.done() >= 1)
        time.sleep(sizes.rest)
        idle = main_memory(session.workers[0]), whole_memory(session.workers)
        session.do("fill", kind="noop", count=sizes.memory_jobs)
        session.wait("all jobs", lambda: session.done() > sizes.memory_jobs, MANY_SECONDS, every=0.2)
        time.sleep(sizes.rest)
        return {
            IDLE_MAIN.name: idle[0],
            IDLE_ALL.name: idle[1],
            AFTER_MAIN.name: main_memory(session.workers[0]),
            AFTER_ALL.name: whole_memory(session.workers),
        }

    figures = bench.measure("memory", ALL, measure)
    rivals = [CELERY_DJANGO.name]
    return [figures.row(metric, rivals) for metric in (IDLE_MAIN, IDLE_ALL, AFTER_MAIN, AFTER_ALL)]


SCENARIO = Scenario("memory", "memory of a worker, idle and after 20,000 jobs", ALL, run)
