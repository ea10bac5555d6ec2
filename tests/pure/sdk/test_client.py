"""The client: what it sends, what it gives back, what it raises, and what it sends again."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from jobsplatform_sdk import AsyncClient, Client, clock, errors
from tests.pure.sdk.fake_bus import job_output, refusal

HEADS: dict[str, str] = {}


class Script:
    """Answers one after the other; the last one again and again."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        HEADS.update(request.headers)
        self.sent.append((request.url.path, json.loads(request.content)))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [body for _, body in self.sent]


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waits are noted, and not waited."""
    noted: list[float] = []
    monkeypatch.setattr(clock, "sleep", noted.append)
    return noted


def client_of(script: Script, **options: Any) -> Client:
    return Client("http://platform.test/", "jp_secret", transport=httpx.MockTransport(script), **options)


MADE = {
    "id": "7",
    "status": "created",
    "alias_job_id": None,
    "job": job_output("7", "tv_scrape", {"show": 1}, 0),
}
GONE = httpx.ReadTimeout("no answer")
DOWN = httpx.ConnectError("refused")


def test_a_call_is_a_post_with_the_token_in_its_header() -> None:
    script = Script(MADE)
    made = client_of(script).jobs.create(
        "tv_scrape", {"show": 1}, run_after=datetime(2026, 1, 2, tzinfo=UTC), user_id="7"
    )
    path, body = script.sent[0]
    assert path == "/bus/v1/jobs.create"
    assert HEADS["authorization"] == "Bearer jp_secret"
    assert body.pop("idempotency_key").startswith("sdk:")
    assert body == {
        "job_type": "tv_scrape",
        "params": {"show": 1},
        "run_after": "2026-01-02T00:00:00Z",
        "user_id": "7",
    }
    assert made.status == "created" and made.job is not None
    assert made.job.started_at == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert made.job.params == {"show": 1} and not made.job.ended


def test_the_token_is_shown_nowhere() -> None:
    client = client_of(Script(MADE))
    assert "jp_secret" not in repr(client) + str(vars(client))


@pytest.mark.parametrize(
    "url, token", [("ftp://x", "t"), ("platform", "t"), ("http://x", ""), ("http://x", "a b")]
)
def test_what_is_no_address_or_token_is_refused_at_once(url: str, token: str) -> None:
    with pytest.raises(ValueError, match="url|token"):
        Client(url, token)


@pytest.mark.parametrize("code, known", sorted(errors.BY_CODE.items()))
def test_every_code_has_its_class(code: str, known: type[errors.BusError]) -> None:
    if code in ("UNREACHABLE", "NO_ANSWER", "INTERNAL"):
        return
    client = client_of(Script(refusal(400, code, {"a": 1})), retry_seconds=0)
    with pytest.raises(known) as caught:
        client.jobs.get("7")
    assert caught.value.code == code and caught.value.details == {"a": 1}
    assert str(caught.value) == f"{code}: no: {code}"


@pytest.mark.parametrize(
    "answer, known, code",
    [
        (refusal(418, "TEAPOT"), errors.Refused, "TEAPOT"),
        (refusal(500, "INTERNAL"), errors.Broken, "INTERNAL"),
        (httpx.Response(404, text="<html>nginx</html>"), errors.Broken, "INTERNAL"),
        (httpx.Response(200, text="<html>login</html>"), errors.Broken, "INTERNAL"),
        (httpx.Response(200, json={"jobs": [{"id": "7"}]}), errors.Broken, "INTERNAL"),
        (httpx.Response(302, headers={"Location": "http://elsewhere.test"}), errors.Broken, "INTERNAL"),
        (httpx.Response(502), errors.NoAnswer, "NO_ANSWER"),
        (DOWN, errors.Unreachable, "UNREACHABLE"),
        (GONE, errors.NoAnswer, "NO_ANSWER"),
    ],
)
def test_what_is_no_answer_of_the_bus_is_told_apart(answer: Any, known: type[Exception], code: str) -> None:
    with pytest.raises(known) as caught:
        client_of(Script(answer), retry_seconds=0).jobs.get("7")
    assert isinstance(caught.value, errors.BusError) and caught.value.code == code


def test_a_lost_answer_to_a_create_is_asked_for_again_under_the_same_key(pauses: list[float]) -> None:
    script = Script(GONE, DOWN, MADE)
    assert client_of(script).jobs.create("tv_scrape").id == "7"
    keys = {body["idempotency_key"] for body in script.bodies}
    assert len(script.sent) == 3 and len(keys) == 1
    assert len(pauses) == 2


def test_two_creates_are_two_jobs() -> None:
    script = Script(MADE)
    client = client_of(script)
    client.jobs.create("tv_scrape")
    client.jobs.create("tv_scrape")
    assert len({body["idempotency_key"] for body in script.bodies}) == 2


def test_what_may_not_be_done_twice_is_not_sent_again_when_its_answer_was_lost(pauses: list[float]) -> None:
    script = Script(GONE, {"id": "1"})
    with pytest.raises(errors.NoAnswer):
        client_of(script).events.emit("7", "folder.changed")
    assert len(script.sent) == 1


def test_but_it_is_when_it_never_arrived(pauses: list[float]) -> None:
    script = Script(DOWN, refusal(503, "UNAVAILABLE"), {"id": "1"})
    assert client_of(script).events.emit("7", "folder.changed") == "1"
    assert len(script.sent) == 3


def test_retry_after_is_never_undercut(pauses: list[float]) -> None:
    script = Script(refusal(429, "RATE_LIMITED", Retry_After="7"), MADE)
    client_of(script).jobs.create("tv_scrape")
    assert pauses == [7.0]


def test_a_retry_after_past_the_patience_is_raised_at_once(pauses: list[float]) -> None:
    script = Script(refusal(429, "RATE_LIMITED", Retry_After="600"))
    with pytest.raises(errors.RateLimited) as caught:
        client_of(script, retry_seconds=30).jobs.create("tv_scrape")
    assert caught.value.retry_after == 600 and pauses == []


def test_what_is_refused_is_not_sent_again(pauses: list[float]) -> None:
    script = Script(refusal(400, "PARAMS_INVALID"))
    with pytest.raises(errors.ParamsInvalid):
        client_of(script).jobs.create("tv_scrape")
    assert len(script.sent) == 1


@pytest.mark.parametrize("params", [{"a": float("nan")}, {"a": b"x"}, {"a": "\ud800"}])
def test_params_that_json_cannot_say_are_never_sent(params: dict[str, Any]) -> None:
    script = Script(MADE)
    with pytest.raises(errors.Invalid, match="JSON"):
        client_of(script).jobs.create("tv_scrape", params)
    assert script.sent == []


def test_a_naive_instant_is_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        client_of(Script(MADE)).jobs.create("tv_scrape", run_after=datetime(2026, 1, 1))


def test_many_jobs_in_one_call_have_a_key_each() -> None:
    script = Script({"results": [{"id": "1", "status": "created", "alias_job_id": None}] * 2})
    made = client_of(script).jobs.create_many(
        [{"job_type": "a"}, {"job_type": "a", "idempotency_key": "mine"}]
    )
    first, second = script.bodies[0]["jobs"]
    assert first["idempotency_key"].startswith("sdk:") and second["idempotency_key"] == "mine"
    assert [one.id for one in made] == ["1", "1"]


def test_a_filter_is_sent_as_it_is_and_instants_as_text() -> None:
    script = Script({"jobs": [], "next": None})
    client_of(script).jobs.query(
        {"types": ("a", "b"), "created_after": datetime(2026, 1, 1, tzinfo=UTC)}, limit=5
    )
    assert script.bodies == [
        {"filter": {"types": ["a", "b"], "created_after": "2026-01-01T00:00:00Z"}, "limit": 5}
    ]


def test_waiting_asks_until_the_job_has_ended(pauses: list[float]) -> None:
    running = {"jobs": [job_output("7", "a", {}, 1)], "next": None}
    ended = {"jobs": [job_output("7", "a", {}, 1) | {"status": "completed", "result": 5}], "next": None}
    assert client_of(Script(running, running, ended)).wait("7", every=0.5).result == 5
    assert pauses == [0.5, 0.5]
    with pytest.raises(TimeoutError, match="running"):
        client_of(Script(running)).wait("7", seconds=0)


def test_the_async_client_has_the_same_methods_and_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[float] = []

    async def note(seconds: float) -> None:
        noted.append(seconds)

    monkeypatch.setattr(clock, "asleep", note)
    script = Script(DOWN, MADE)

    async def main() -> str:
        transport = httpx.MockTransport(script)
        async with AsyncClient("http://platform.test", "jp_secret", transport=transport) as client:
            return (await client.jobs.create("tv_scrape", {"show": 1})).id

    assert asyncio.run(main()) == "7"
    assert len(noted) == 1 and len(script.sent) == 2
    for service in ("jobs", "events", "task_queue"):
        both = [
            set(dir(getattr(client_of(script), service))),
            set(dir(getattr(AsyncClient("http://x", "t"), service))),
        ]
        assert both[0] == both[1]


def test_a_method_shows_its_signature_and_what_it_promises() -> None:
    method = client_of(Script(MADE)).jobs.create
    assert "idempotency_key" in str(method.__wrapped__.__doc__)  # type: ignore[attr-defined]
    assert method.__name__ == "create"
