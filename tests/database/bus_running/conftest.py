"""A sidecar of the app ``video`` and what it has bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from jobsplatform.testing.platform import HandPlatform
from tasks import registry
from tasks.bus import bindings
from tests.database.bus.client import BusClient, MakeClient


class Side:
    """A sidecar: a client, and the id of its incarnation."""

    def __init__(self, client: BusClient) -> None:
        self.client = client
        self.runner_id = str(uuid4())

    def bind(self, job_type: str = "scrape", **spec: Any) -> dict[str, Any]:
        """Bind a type to it by claim."""
        body = {"job_type": job_type, "service": "media", "spec": spec}
        return self.client.ok("jobs.register_handler", body)["handler"]

    def create(self, job_type: str = "scrape", params: dict[str, Any] | None = None, **fields: Any) -> str:
        """Create a job; its id."""
        return self.client.ok("jobs.create", {"job_type": job_type, "params": params or {}, **fields})["id"]

    def claim(self, *job_types: str, limit: int = 1, **fields: Any) -> list[dict[str, Any]]:
        """Fetch jobs."""
        types = list(job_types) or ["scrape"]
        body = {"runner_id": self.runner_id, "job_types": types, "limit": limit, **fields}
        return self.client.ok("jobs.claim", body)["jobs"]

    def run(self, **fields: Any) -> dict[str, Any]:
        """A job that was created and claimed: {id, lease}."""
        job_id = self.create(**fields)
        (given,) = self.claim(fields.get("job_type", "scrape"))
        assert given["job"]["id"] == job_id
        return key(given)

    def end(self, run: dict[str, Any], kind: str, **fields: Any) -> dict[str, Any]:
        """The end of a run."""
        return self.client.ok("jobs.update_status", {**run, "ending": {"kind": kind, **fields}})

    def beat(self, *runs: dict[str, Any], stopping: bool = False) -> dict[str, Any]:
        """A heartbeat that names these runs."""
        body = {"runner_id": self.runner_id, "running": list(runs), "stopping": stopping}
        return self.client.ok("jobs.heartbeat", body)

    def job(self, run: dict[str, Any]) -> dict[str, Any]:
        """The job as it stands."""
        return self.client.ok("jobs.query", {"id": run["id"]})["jobs"][0]


def key(given: dict[str, Any]) -> dict[str, Any]:
    """The run of a delivery, as its sidecar names it."""
    return {"id": given["job"]["id"], "lease": given["lease"]}


@pytest.fixture(autouse=True)
def following_bindings(jobs: HandPlatform) -> Iterator[None]:
    """The registry follows the rows, and forgets them with the test."""
    with registry.preserved():
        bindings.install()
        bindings.refresh()
        yield


@pytest.fixture
def side(bus_client: MakeClient) -> Side:
    """A sidecar that has bound ``scrape``."""
    made = Side(bus_client("video"))
    made.bind()
    return made
