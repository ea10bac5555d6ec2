"""The web entry, spoken to over ASGI."""

import asyncio

import httpx
import pytest
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from jobsplatform import asgi
from jobsplatform.kernel.loop import wait_until
from jobsplatform.kernel.models import Tenant

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls(__name__)]


def count(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(Tenant.objects.count()))


urlpatterns = [path("count/", count)]


async def ask(times: int) -> list[httpx.Response]:
    transport = httpx.ASGITransport(app=asgi.application)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return list(await asyncio.gather(*(client.get("/count/") for _ in range(times))))


def test_it_answers_from_the_database() -> None:
    Tenant.objects.create(tenant_id="a")
    answers = asyncio.run(ask(3))
    assert [(answer.status_code, answer.text) for answer in answers] == [(200, "1")] * 3


@pytest.mark.postgres
def test_no_request_leaves_its_database_session_behind() -> None:
    def sessions() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
            return int(cursor.fetchone()[0])

    before = sessions()
    asyncio.run(ask(8))
    wait_until(lambda: sessions() == before, timeout=10)


async def fetch(**headers: str) -> httpx.Response:
    transport = httpx.ASGITransport(app=asgi.application)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get("/static/admin/css/base.css", headers=headers)


def test_static_files_come_from_their_packages_whole_in_part_or_not_again() -> None:
    whole = asyncio.run(fetch())
    assert whole.status_code == 200
    assert whole.headers["content-type"].startswith("text/css")
    assert int(whole.headers["content-length"]) == len(whole.content) > 1000
    part = asyncio.run(fetch(Range="bytes=10-19"))
    assert (part.status_code, part.content) == (206, whole.content[10:20])
    known = {"If-None-Match": whole.headers["etag"]} if "etag" in whole.headers else {}
    again = asyncio.run(fetch(**(known or {"If-Modified-Since": whole.headers["last-modified"]})))
    assert (again.status_code, again.content) == (304, b"")


def test_static_files_come_from_a_sync_server_too(client: Client) -> None:
    answer = client.get("/static/admin/css/base.css")
    assert answer.status_code == 200
    assert len(b"".join(answer.streaming_content)) > 1000  # type: ignore[attr-defined]
    answer.close()
