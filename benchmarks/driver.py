"""The process that enqueues for one system: it holds that system's libraries and settings, and takes orders as
lines of JSON.

    python -m benchmarks.driver benchmarks.systems.ours.client
    > {"do": "bulk", "with": {"kind": "noop", "count": 10000}}
    < {"value": 0.61}
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.errors import NotMeasured, reason_of
from benchmarks.processes import Child

READY = {"ready": True}


class Driver:
    """Our end: starts the process, sends orders, waits for answers."""

    def __init__(self, name: str, client: str, environment: dict[str, str], log: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.driver", client]
        self._child = Child(f"{name}'s client", command, environment, log, talks=True)
        try:
            self._read()
        except BaseException:
            self._child.stop()
            raise

    def do(self, order: str, **arguments: Any) -> Any:
        """Have it done and return its value. Raises NotMeasured with what went wrong."""
        into, _ = self._child.pipes
        try:
            into.write(json.dumps({"do": order, "with": arguments}).encode() + b"\n")
            into.flush()
        except BrokenPipeError:
            self._child.require_alive()
            raise
        return self._read().get("value")

    def _read(self) -> dict[str, Any]:
        _, out = self._child.pipes
        line = out.readline()
        if not line:
            raise NotMeasured(f"{self._child.name} ended: {self._child.last_words()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise NotMeasured(f"{self._child.name}: {answer['error']}")
        return answer

    def stop(self) -> None:
        self._child.stop()


def serve(module: str) -> None:
    """The process itself: make the client, then obey until the pipe closes."""
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    client = import_module(module).make()
    print(json.dumps(READY), file=answers)
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = {"value": getattr(client, order["do"])(**order["with"])}
        except Exception as error:
            answer = {"error": reason_of(error)}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    serve(sys.argv[1])
