"""A sidecar without any of our code: the standard library, one loop that fetches and runs, one thread that beats.

Its jobs: ``{"go": path}`` waits until the file is there; ``{"path": path}`` notes each start there.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from typing import Any

url, token = sys.argv[1:3]
runner_id = str(uuid.uuid4())
running: list[dict[str, Any]] = []


def call(method: str, body: dict[str, Any]) -> dict[str, Any]:
    """One call; again while the platform is away. Raises LookupError when it refuses."""
    request = urllib.request.Request(
        f"{url}/bus/v1/{method}",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    while True:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise LookupError(error.read().decode()) from None
        except OSError:
            pass
        time.sleep(0.05)


def beat() -> None:
    while True:
        call("jobs.heartbeat", {"runner_id": runner_id, "running": list(running)})
        time.sleep(0.2)


def work(given: dict[str, Any]) -> None:
    params, run = given["job"]["params"], {"id": given["job"]["id"], "lease": given["lease"]}
    with open(params["path"], "a", encoding="utf-8") as notes:
        notes.write(f"start {os.getpid()}\n")
    while not os.path.exists(params["go"]):
        time.sleep(0.02)
    ending = {"kind": "completed", "result": {"pid": os.getpid(), "cursor": given["cursor"]}}
    try:
        call("jobs.update_status", {**run, "ending": ending})
    except LookupError as error:
        print(error, flush=True)


threading.Thread(target=beat, daemon=True).start()
print("ready.", flush=True)
while True:
    wish = {"runner_id": runner_id, "job_types": ["wait"], "capacity": 1, "wait_seconds": 10}
    for each in call("jobs.claim", wish)["jobs"]:
        running.append({"id": each["job"]["id"], "lease": each["lease"]})
        work(each)
        running.clear()
