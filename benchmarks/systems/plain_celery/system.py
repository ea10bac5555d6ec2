"""Plain Celery: what untracked speed is."""

from __future__ import annotations

from benchmarks.systems.base import SLOTS, System, python

OPTIONS = ("-c", str(SLOTS), "--without-gossip", "--without-mingle", "--without-heartbeat")


class PlainCelery(System):
    name = "celery"
    schema = "celery"
    client = "benchmarks.systems.plain_celery.client"
    needs = ("celery",)
    settings = (
        f"no results, prefork {' '.join(OPTIONS)}; one producer of the app's pool, kept open; "
        "keeps no record of its jobs"
    )
    database = False

    def workers(self) -> list[list[str]]:
        return [python("celery", "-A", "benchmarks.systems.plain_celery.app", "--quiet", "worker", *OPTIONS)]
