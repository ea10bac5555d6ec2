"""The context of HTTP requests, in sync and async servers."""

import asyncio
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client
from django.urls import path

from jobsplatform.kernel import context

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

seen: list[context.Context] = []


def plain(request: HttpRequest) -> HttpResponse:
    seen.append(context.current())
    return HttpResponse("ok")


async def coroutine(request: HttpRequest) -> HttpResponse:
    await asyncio.sleep(0)
    seen.append(context.current())
    return HttpResponse("ok")


urlpatterns = [path("plain/", plain), path("coroutine/", coroutine)]


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    seen.clear()


@pytest.mark.parametrize("url", ["/plain/", "/coroutine/"])
def test_a_request_has_a_context_and_answers_with_its_id(client: Client, url: str) -> None:
    answer = client.get(url + "?q=secret", headers={"traceparent": PARENT, "X-Request-ID": "req-7"})
    assert answer["X-Request-ID"] == "req-7"
    assert (seen[0].request_id, seen[0].trace_id) == ("req-7", PARENT[3:35])
    assert (seen[0].method, seen[0].route, seen[0].user_id) == ("GET", url, "")
    assert context.current() == context.Context()


async def _async_get(url: str) -> Any:
    return await AsyncClient().get(url, headers={"X-Request-ID": "req-8"})


@pytest.mark.parametrize("url", ["/plain/", "/coroutine/"])
def test_the_same_in_an_async_server(url: str) -> None:
    answer = asyncio.run(_async_get(url))
    assert answer["X-Request-ID"] == "req-8"
    assert seen[0].request_id == "req-8"


def test_a_wild_id_is_replaced(client: Client) -> None:
    answer = client.get("/plain/", headers={"X-Request-ID": "x" * 5000})
    assert len(answer["X-Request-ID"]) == 32
    assert seen[0].request_id == answer["X-Request-ID"]


def test_each_request_is_its_own(client: Client) -> None:
    first, second = client.get("/plain/"), client.get("/plain/")
    assert first["X-Request-ID"] != second["X-Request-ID"]
    assert seen[0].trace_id != seen[1].trace_id


def test_a_logged_in_user_is_named(client: Client) -> None:
    user = get_user_model().objects.create_user("ann")
    client.force_login(user)
    client.get("/plain/")
    assert seen[0].user_id == str(user.pk)


def test_without_a_session_the_database_is_not_asked(client: Client, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        client.get("/plain/")
