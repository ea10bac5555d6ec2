"""Several platforms at a time, each in a process of its own (``chaos.lane``): most of a fault is waiting."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from chaos.errors import CannotRun
from chaos.result import Result
from chaos.scale import Scale
from tests.services.guard import Guard

ROOT = Path(__file__).resolve().parents[1]
Say = Callable[[str], None]


class Lanes:
    """Hands out orders to lanes until all are carried out. ``kinds``: orders of one kind follow each other in a lane
    where possible, because they need the same workers."""

    def __init__(
        self, environment: Mapping[str, str], scale: Scale, seed: int, kinds: Mapping[str, object], say: Say
    ) -> None:
        self._environment, self._kinds, self._print = environment, kinds, say
        self._seed, self._factor = seed, scale.factor
        self._lock = threading.Lock()
        self._waiting: list[str] = []
        self._results: dict[str, Result] = {}
        self._missing = ""
        self._processes: list[subprocess.Popen[str]] = []

    def command(self) -> list[str]:
        """What starts a lane."""
        options = ["--seed", str(self._seed), "--factor", f"{self._factor:g}"]
        return [sys.executable, "-m", "chaos.lane", *options]

    def carry_out(self, orders: Sequence[str], count: int) -> dict[str, Result]:
        """The result of each order. Raises CannotRun when a lane could not do its work."""
        self._waiting = list(orders)
        lanes = [threading.Thread(target=self._lane) for _ in range(min(count, len(orders)))]
        try:
            for lane in lanes:
                lane.start()
            for lane in lanes:
                lane.join()
        except BaseException:
            self._end()
            for lane in lanes:
                lane.join()
            raise
        left = [order for order in orders if order not in self._results]
        if self._missing or left:
            raise CannotRun(self._missing or f"its process ended before it told of {', '.join(left)}")
        return self._results

    def _end(self) -> None:
        with self._lock:
            self._waiting.clear()
            for process in self._processes:
                process.terminate()

    def _lane(self) -> None:
        with self._lock:
            process = subprocess.Popen(
                self.command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=dict(self._environment),
                cwd=ROOT,
            )
            self._processes.append(process)
        # The guard removes the folder that it is given, with the process; this one is its own and empty.
        folder = Path(tempfile.mkdtemp(prefix="jp-lane-"))
        guard = Guard(process.pid, folder)
        assert process.stdin is not None and process.stdout is not None
        kind: object = None
        for text in process.stdout:
            kind, order = self._take(json.loads(text), kind)
            if order is not None:
                process.stdin.write(f"{order}\n")
                process.stdin.flush()
            elif kind is _OVER:
                process.stdin.close()
                break
        # What it says while it ends is not asked for, but must not fill the pipe.
        process.stdout.read()
        process.wait()
        guard.release()
        folder.rmdir()

    def _take(self, message: dict[str, Any], kind: object) -> tuple[object, str | None]:
        """Take note of a lane's message; the kind of its next order, and the order if it waits for one."""
        with self._lock:
            if "say" in message:
                self._print(message["say"])
                return kind, None
            if "missing" in message:
                self._missing = message["missing"]
                self._waiting.clear()
                return _OVER, None
            if "result" in message:
                self._results[message["order"]] = Result.of(message["result"])
            if not self._waiting:
                return _OVER, None
            order = next((one for one in self._waiting if self._kinds.get(one) == kind), self._waiting[0])
            self._waiting.remove(order)
            return self._kinds.get(order), order


_OVER = object()
