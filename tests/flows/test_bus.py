"""The bus of real web processes: what one is told, the other keeps to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from jobsplatform.kernel import clock, tokens
from jobsplatform.kernel.models import AuditEvent
from tasks.models import Job
from tests.database.bus.client import ACTOR, BusClient, make_client
from tests.flows.live_site import Web, free_port
from tests.flows.processes import until

pytestmark = pytest.mark.flow


@pytest.fixture(scope="module")
def sites(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Web]]:
    """Two web processes on one database and one Redis."""
    folder = tmp_path_factory.mktemp("bus")
    webs = [Web(folder / f"log{n}", environment, free_port()) for n in range(2)]
    try:
        for web in webs:
            web.wait_ready()
        yield webs
    finally:
        for web in webs:
            web.kill()


def call(web: Web, client: BusClient, method: str, body: Any = None, **headers: str) -> httpx.Response:
    raw = json.dumps({} if body is None else body).encode()
    return httpx.post(
        f"{web.origin}/bus/v1/{method}", content=raw, headers={**client.headers, **headers}, timeout=30
    )


def test_jobs_are_made_and_seen_by_every_process(sites: list[Web]):
    client = make_client("flowbus")
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(
                lambda n: call(sites[n % 2], client, "task_queue.upsert_job", {"job_id": str(n)}), range(40)
            )
        )
    assert {answer.status_code for answer in answers} == {200}
    unknown = call(sites[0], client, "jobs.create", {"job_type": "nothing"})
    assert unknown.json()["error"]["code"] == "UNKNOWN_HANDLER"


def test_a_revoked_token_is_refused_by_every_process_within_five_seconds(sites: list[Web]):
    client = make_client("flowbus")
    assert [call(web, client, "jobs.query").status_code for web in sites] == [200, 200]
    assert tokens.revoke(client.token.id, actor=ACTOR, now=clock.now())
    for web in sites:
        until(lambda web=web: call(web, client, "jobs.query").status_code == 401, 5)


def test_a_quota_is_one_for_all_processes(sites: list[Web]):
    client = make_client("flowquota", quotas={"events_per_minute": 4})
    body = {"user_id": "1", "kind": "k"}
    codes = [call(sites[n % 2], client, "events.emit", body).status_code for n in range(8)]
    assert codes == [200] * 4 + [429] * 4


def test_both_ways_in_give_the_same_shape(sites: list[Web]):
    client = make_client("flowbus")
    for verb, path in (("GET", "jobs.query"), ("POST", "jobs.nothing"), ("PUT", "jobs.create")):
        response = httpx.request(verb, f"{sites[0].origin}/bus/v1/{path}", headers=client.headers, timeout=30)
        assert response.json()["error"]["code"] in ("METHOD_NOT_ALLOWED", "METHOD_UNKNOWN")
    document = httpx.get(f"{sites[0].origin}/bus/v1/openapi.json", headers=client.headers, timeout=30)
    assert "/bus/v1/jobs.create" in document.json()["paths"]
    assert httpx.get(f"{sites[0].origin}/bus/v1/docs", timeout=30).status_code == 401


def test_a_large_body_is_refused_while_it_comes(sites: list[Web]):
    client = make_client("flowbus", quotas={"payload_bytes": 100_000})

    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield b"x" * 10_000

    try:
        response = httpx.post(
            f"{sites[0].origin}/bus/v1/jobs.create", content=endless(), headers=client.headers, timeout=30
        )
    except httpx.TransportError:
        return  # the server has hung up on it
    assert response.status_code == 413
    assert not Job.objects.filter(app_id="flowbus").exists()


def test_no_output_has_a_secret(sites: list[Web]):
    client = make_client("flowbus")
    call(sites[0], client, "jobs.create", {"job_type": client.text, "app_id": client.text})
    call(sites[0], client, f"jobs.create?token={client.text}", {"job_type": "x"})
    secret = client.text[36:]
    assert not [web for web in sites if secret in web.output]
    rows = AuditEvent.objects.filter(app_id="flowbus")
    assert not [row for row in rows if secret in str(row.__dict__)]
