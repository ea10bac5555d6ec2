"""The scheduler process: what is in the store, until it is killed."""

from __future__ import annotations

from apscheduler.schedulers.blocking import BlockingScheduler

from benchmarks.schedules.apscheduler.store import options

BlockingScheduler(**options()).start()
