"""The pack's job types in a Celery worker: ``python -m jobsplatform_sdk.conformance.celery_sidecar``."""

from __future__ import annotations

import argparse
from pathlib import Path

from celery import Celery

import jobsplatform_sdk
from jobsplatform_sdk import Client, Sidecar
from jobsplatform_sdk.celery_transport import attach
from jobsplatform_sdk.conformance import scenarios


def main(arguments: list[str] | None = None) -> None:
    """A worker with four processes, until SIGTERM."""
    parser = argparse.ArgumentParser(
        prog="jobsplatform_sdk.conformance.celery_sidecar", description=main.__doc__
    )
    parser.add_argument("--url", required=True, help="of the platform")
    parser.add_argument("--token-file", required=True, type=Path, help="holds the app's token")
    parser.add_argument("--broker", required=True, help="of the app's own")
    parser.add_argument("--keep", type=float, default=60.0, help="seconds a job is waited for after a death")
    chosen = parser.parse_args(arguments)
    client = Client(chosen.url, chosen.token_file.read_text().strip())
    sidecar = Sidecar(client, service="conformance", transport="celery", keep_seconds=chosen.keep)
    scenarios.declare(sidecar.job, jobsplatform_sdk)
    app = Celery("conformance", broker=chosen.broker)
    app.conf.update(worker_prefetch_multiplier=1, broker_connection_retry_on_startup=True)
    queue = attach(sidecar, app)
    app.worker_main(["--quiet", "worker", "-c", "4", "-Q", queue, "--without-mingle", "--without-gossip"])


if __name__ == "__main__":
    main()
