"""A sidecar of this package that runs the pack's job types: ``python -m jobsplatform_sdk.conformance.sidecar``."""

from __future__ import annotations

import argparse
from pathlib import Path

import jobsplatform_sdk
from jobsplatform_sdk import Client, Sidecar
from jobsplatform_sdk.callback import Callback
from jobsplatform_sdk.conformance import scenarios
from jobsplatform_sdk.serving import serve


def main(arguments: list[str] | None = None) -> None:
    """Until SIGTERM; with ``--port`` the platform calls it there, else it fetches its jobs."""
    parser = argparse.ArgumentParser(prog="jobsplatform_sdk.conformance.sidecar", description=main.__doc__)
    parser.add_argument("--url", required=True, help="of the platform")
    parser.add_argument("--token-file", required=True, type=Path, help="holds the app's token")
    parser.add_argument("--port", type=int, help="where the platform calls it")
    parser.add_argument("--answer", type=float, default=5.0, help="seconds that a call waits for its result")
    parser.add_argument("--keep", type=float, default=60.0, help="seconds a job is waited for after a death")
    parser.add_argument("--grace", type=float, default=5.0, help="seconds that runs may go on after SIGTERM")
    chosen = parser.parse_args(arguments)
    client = Client(chosen.url, chosen.token_file.read_text().strip())
    if chosen.port is None:
        sidecar = Sidecar(client, service="conformance", grace_seconds=chosen.grace)
        scenarios.declare(sidecar.job, jobsplatform_sdk)
        sidecar.main()
        return
    sidecar = Sidecar(
        client,
        service="conformance",
        grace_seconds=chosen.grace,
        transport="http",
        url=f"http://127.0.0.1:{chosen.port}/jobs",
        keep_seconds=chosen.keep,
    )
    scenarios.declare(sidecar.job, jobsplatform_sdk)
    with serve(Callback(sidecar, answer_seconds=chosen.answer), "127.0.0.1", chosen.port):
        sidecar.main()


if __name__ == "__main__":
    main()
