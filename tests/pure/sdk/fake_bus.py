"""A platform in memory, as much of it as a sidecar sees. Answers are what the wire says."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import httpx

from jobsplatform_sdk import Client

Handle = Callable[[dict[str, Any]], Any]
INSTANT = "2026-01-01T12:00:00Z"
PATIENCE = 10.0


def job_output(job_id: str, job_type: str, params: dict[str, Any], lease: int) -> dict[str, Any]:
    return {
        "id": job_id,
        "app_id": "video",
        "job_type": job_type,
        "status": "running",
        "attempt": 1,
        "lease": lease,
        "params": params,
        "data": {},
        "progress": {"done": None, "total": None, "label": "", "pct": None, "eta_seconds": None},
        "started_at": INSTANT,
        "from_a_newer_platform": True,
    }


class FakeBus:
    """``offer`` a job, then look at ``ended``, ``told`` and ``cancels``."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.tokens: set[str] = set()
        self.ended: dict[str, dict[str, Any]] = {}
        self.cancels: dict[str, str] = {}
        self.stale: set[str] = set()
        self.claims = True  # not a bus that brings jobs, where "deferred" keeps one
        self.faults: deque[httpx.Response | Exception] = deque()
        self.heartbeat_seconds, self.lease_seconds = 0.05, 15.0
        self._offered: deque[dict[str, Any]] = deque()
        self._changed = threading.Condition()

    # -- what a test does ---------------------------------------------------------------------------------

    def client(self, **options: Any) -> Client:
        transport = httpx.MockTransport(self.handle)
        return Client("http://platform.test", "jp_secret", transport=transport, **options)

    def offer(self, job_type: str, job_id: str = "one", lease: int = 1, **more: Any) -> None:
        job = job_output(job_id, job_type, more.pop("params", {}), lease)
        run = {"job": job, "lease": lease, "cursor": None, "attempt": 1, "run_reason": "live", **more}
        with self._changed:
            self._offered.append(run)
            self._changed.notify_all()

    def end_of(self, job_id: str = "one") -> dict[str, Any]:
        """How the job ended, once it has."""
        with self._changed:
            assert self._changed.wait_for(lambda: job_id in self.ended, PATIENCE), self.told
            return self.ended[job_id]

    def wait_for(self, condition: Callable[[], object]) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, PATIENCE), self.told

    def give_way(self, condition: Callable[[], object], seconds: float = 0.2) -> None:
        """From within an answer: let other calls be answered first, until one of them has done this."""
        self._changed.wait_for(condition, seconds)

    def calls(self, method: str) -> list[dict[str, Any]]:
        with self._changed:
            return [body for name, body in self.told if name == method]

    # -- what the wire does -------------------------------------------------------------------------------

    def handle(self, request: httpx.Request) -> httpx.Response:
        method = request.url.path.removeprefix("/bus/v1/")
        body = json.loads(request.content)
        with self._changed:
            self.tokens.add(request.headers["Authorization"])
            self.told.append((method, body))
            self._changed.notify_all()
            if self.faults and method != "jobs.heartbeat":
                fault = self.faults.popleft()
                if isinstance(fault, Exception):
                    raise fault
                return fault
            handle: Handle = getattr(self, method.replace(".", "_"))
            answer = handle(body)
            self._changed.notify_all()
        return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)

    def jobs_register_handler(self, body: dict[str, Any]) -> Any:
        answer: dict[str, Any] = {"handler": {"job_type": body["job_type"], "app_id": "video"}}
        return answer | ({"signing_secret": "hush"} if body["transport"] == "http" else {})

    def jobs_claim(self, body: dict[str, Any]) -> Any:
        self._changed.wait_for(lambda: bool(self._offered), body["wait_seconds"])
        some = [self._offered.popleft() for _ in range(min(body["limit"], len(self._offered)))]
        times = {"heartbeat_seconds": self.heartbeat_seconds, "lease_seconds": self.lease_seconds}
        return {"jobs": some, "lease_expires_at": INSTANT, **times}

    def jobs_heartbeat(self, body: dict[str, Any]) -> Any:
        runs = [
            {**run, "held": run["id"] not in self.stale, "cancel": self.cancels.get(run["id"])}
            for run in body["running"]
        ]
        return {"runs": runs, "lease_expires_at": INSTANT}

    def jobs_update_status(self, body: dict[str, Any]) -> Any:
        if body["id"] in self.stale or body["id"] in self.ended:
            return refusal(409, "LEASE_LOST", {"state": "completed"})
        if body["ending"]["kind"] != "deferred" or self.claims:
            self.ended[body["id"]] = body["ending"]
        return {"state": "completed", **self._standing(body)}

    def _write(self, body: dict[str, Any]) -> Any:
        if body["id"] in self.stale:
            return refusal(409, "LEASE_LOST", {"state": "pending"})
        return self._standing(body)

    jobs_update_progress = jobs_checkpoint = _write

    def jobs_merge_data(self, body: dict[str, Any]) -> Any:
        answer = self._write(body)
        return answer if isinstance(answer, httpx.Response) else {"data": body["data"], **answer}

    def jobs_batch_children(self, body: dict[str, Any]) -> Any:
        return {"ids": [child["child_key"] for child in body["children"]], **self._standing(body)}

    def _standing(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"cancel": self.cancels.get(body["id"]), "lease_expires_at": INSTANT}


def refusal(status: int, code: str, details: Any = None, **headers: str) -> httpx.Response:
    """An answer of the bus that says no."""
    body = {"error": {"code": code, "message": f"no: {code}", "details": details or {}}}
    return httpx.Response(status, json=body, headers={k.replace("_", "-"): v for k, v in headers.items()})
