"""Asks for the thumbnails of a folder and shows how far they are: ``python make.py --folder holidays …``."""

from __future__ import annotations

import argparse
import sys
import threading
from pathlib import Path

from jobsplatform_sdk import BusError, Client

LOOK_SECONDS = 0.3


def main() -> int:
    """0 when the job completed, 1 when not, 3 when the platform cannot be reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="of the platform")
    parser.add_argument("--token-file", required=True, type=Path, help="holds the app's token")
    parser.add_argument("--folder", required=True, help="below the sidecar's root")
    parser.add_argument("--size", type=int, default=256, help="pixels, at most, either way")
    parser.add_argument("--force", action="store_true", help="make those anew that are there")
    chosen = parser.parse_args()
    params = {"folder": chosen.folder, "size": chosen.size, "force": chosen.force}
    try:
        with Client(chosen.url, chosen.token_file.read_text().strip()) as client:
            return _follow(client, client.jobs.create("thumbnails.folder", params).id)
    except BusError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3


def _follow(client: Client, job_id: str) -> int:
    while True:
        job = client.jobs.get(job_id)
        summary = client.jobs.progress_summary(parent_id=job_id)
        print(f"{job.status}: {summary.done} of {summary.total} images", flush=True)
        if job.ended:
            print(job.result if job.status == "completed" else job.error)
            return 0 if job.status == "completed" else 1
        threading.Event().wait(LOOK_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
