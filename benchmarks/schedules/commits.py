"""When something was committed, by PostgreSQL itself: seen from outside, and no look comes too late."""

from __future__ import annotations

from typing import Any

import psycopg

from benchmarks.session import Session
from benchmarks.stage import Stage

FACT = "PostgreSQL: track_commit_timestamp on, so that it tells when a decision was committed"

_LOG = "scheduler_scheduletriggerlog"
_SECONDS = "extract(epoch FROM pg_xact_commit_timestamp({}.xmin))::float8"


def remember(stage: Stage) -> None:
    """Have the server note when each transaction was committed; it starts anew for that."""
    stage.sql("postgres", "ALTER SYSTEM SET track_commit_timestamp = on")
    stage.postgres.restart()


class Decisions:
    """The decisions of our schedules that the bench has made, and their commits (Unix time)."""

    def __init__(self, session: Session) -> None:
        self._connection: psycopg.Connection[Any] = psycopg.connect(
            session.place.database_url, autocommit=True
        )

    def __enter__(self) -> Decisions:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def fired(self, since: float) -> int:
        """Decided slots from ``since`` on that have become jobs."""
        return int(self._one(f"SELECT count(*) FROM {_LOG} WHERE {_OF_BENCH} AND status = 'fired'", since))

    def jobs(self, since: float) -> int:
        """Jobs of slots from ``since`` on."""
        return int(self._one(f"SELECT count(*) FROM tasks_job WHERE {_OF_BENCH}", since))

    def last_commit(self, since: float) -> float:
        """When the last of all these decisions and jobs was committed."""
        parts = [
            f"SELECT {_SECONDS.format('r')} AS at FROM {table} r WHERE {_OF_BENCH}"
            for table in (_LOG, "tasks_job")
        ]
        return float(self._one(f"SELECT max(at) FROM ({' UNION ALL '.join(parts)}) AS written", since, since))

    def lateness(self, since: float, until: float) -> list[float]:
        """Seconds from each slot in between to the commit of its decision."""
        late = f"{_SECONDS.format('r')} - extract(epoch FROM planned_at)::float8"
        rows = self._connection.execute(
            f"SELECT {late} FROM {_LOG} r WHERE {_OF_BENCH} AND planned_at < to_timestamp(%s)".encode(),
            [since, until],
        )
        return [float(row[0]) for row in rows]

    def edit_seen(self, schedule_id: str) -> float | None:
        """Seconds from the commit of a schedule's last edit, or from its new instant when that is later, to the commit
        of its decision; None while there is none."""
        row = self._connection.execute(
            f"""SELECT {_SECONDS.format("l")}
                  - greatest({_SECONDS.format("s")}, extract(epoch FROM l.planned_at)::float8)
                FROM {_LOG} l JOIN scheduler_schedule s ON s.id = l.schedule_id
                WHERE l.schedule_id = %s AND l.status = 'fired'""".encode(),
            [schedule_id],
        ).fetchone()
        return None if row is None else float(row[0])

    def _one(self, sql: str, *values: float) -> Any:
        row = self._connection.execute(sql.encode(), values).fetchone()
        assert row is not None
        return row[0]


_OF_BENCH = "schedule_id LIKE 'bench-%%' AND planned_at >= to_timestamp(%s)"
