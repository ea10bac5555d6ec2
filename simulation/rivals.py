"""Another process at the same instant: its own connection, which gives up at once where it would have to wait."""

from __future__ import annotations

import threading
from collections.abc import Callable

from django.db import OperationalError, connection, connections

WAIT_MS = 15


def beside(work: Callable[[], object]) -> None:
    """Do ``work`` on another connection while this thread stands still, maybe within a transaction.

    What it raises is raised here, but for a lock that was not to be had: a real rival would wait for it, and find
    later what a rival of the next round finds.
    """
    failed: list[BaseException] = []

    def run() -> None:
        try:
            _impatient()
            work()
        except OperationalError:
            pass
        except BaseException as error:
            failed.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run, name="rival")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def _impatient() -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"SET lock_timeout = '{WAIT_MS}ms'")
        else:
            cursor.execute(f"PRAGMA busy_timeout = {WAIT_MS}")
