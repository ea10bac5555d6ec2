"""What must be true before a worker starts; else one clear line and an exit code that is not 0."""

from __future__ import annotations

import sys
from typing import Any

from django.core import checks
from django.db import DatabaseError, connection, connections
from django.db.migrations.executor import MigrationExecutor
from kombu.exceptions import OperationalError as BrokerError

from jobsplatform.kernel import config
from jobsplatform.kernel.database_url import shown
from jobsplatform.kernel.errors import PlatformError, Unreachable
from jobsplatform.kernel.loop import wait_until

WRONG, UNREACHABLE = 2, 3
BROKER_SECONDS = 5.0
"""How long a broker may take to come up beside the worker."""


class NotReady(PlatformError):
    """Something must be done before a worker can start."""

    code = "NOT_READY"


def or_exit(app: Any) -> None:
    """Check settings, database, migrations and broker. Raises SystemExit: 2 when something is wrong, 3 when
    something does not answer."""
    try:
        check_settings()
        check_database()
        check_broker(app)
    except PlatformError as error:
        sys.stderr.write(f"The worker cannot start: {error.message}\n")
        raise SystemExit(UNREACHABLE if isinstance(error, Unreachable) else WRONG) from None
    finally:
        # Nothing of this may be inherited by the pool's processes.
        connections.close_all()


def check_settings() -> None:
    """Raises NotReady with the first error of ``manage.py check``."""
    faults = [fault for fault in checks.run_checks() if fault.level >= checks.ERROR]
    if faults:
        hint = f" {faults[0].hint}" if faults[0].hint else ""
        raise NotReady(f"{faults[0].msg}{hint} ({faults[0].id}; see manage.py check)")


def check_database() -> None:
    """Raises Unreachable when the database does not answer, NotReady when it is not migrated."""
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        reason = str(error).strip().partition("\n")[0]
        url = shown(config.get().database_url)
        raise Unreachable(
            f"the database {url} does not answer ({reason}). Start it or correct DATABASE_URL."
        ) from None
    if missing:
        names = ", ".join(f"{migration.app_label}.{migration.name}" for migration, _ in missing[:3])
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise NotReady(f"the database is not migrated ({names}{more}). Run manage.py migrate.")


def check_broker(app: Any) -> None:
    """Raises Unreachable when the broker has not answered for 5 seconds."""
    last: list[Exception] = []

    def answers() -> bool:
        try:
            with app.connection_for_read() as broker:
                broker.ensure_connection(max_retries=1, timeout=2.0)
                broker.default_channel.close()
        except (BrokerError, OSError, *app.connection_for_read().connection_errors) as error:
            last[:] = [error]
            return False
        return True

    try:
        wait_until(answers, BROKER_SECONDS, every=0.5)
    except TimeoutError:
        url = shown(str(app.conf.broker_read_url or app.conf.broker_url or "amqp://"))
        reason = str(last[0]).strip().partition("\n")[0] if last else "no answer"
        raise Unreachable(
            f"the broker {url} does not answer ({reason}). "
            "Start it or correct REDIS_URL or CELERY_BROKER_URL."
        ) from None
