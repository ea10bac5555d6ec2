"""Who may call: tokens, scopes, expiry, revocation, disabled apps."""

from datetime import timedelta

import pytest

from jobsplatform.kernel import app_rows, clock, tokens
from jobsplatform.kernel.models import App, AppToken, AuditEvent
from jobsplatform.telemetry import redact
from jobsplatform.testing.platform import HandPlatform
from tasks.bus import auth, guesses
from tasks.bus.api import METHODS
from tests.database.bus.client import ACTOR, BusClient, MakeClient

ROUTES = [*METHODS, "openapi.json", "docs", "jobs.nothing", ""]


def without_details(answer) -> tuple[int, object]:
    return answer.status, answer.body


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_refuses_whoever_has_no_good_token_in_the_same_words(video: BusClient, route):
    good = video.text
    revoked = BusClient("video", good[:-1] + ("A" if good[-1] != "A" else "B"), None)
    bad = {
        "none": "",
        "basic": "Basic dXNlcjpwYXNz",
        "malformed": "Bearer jp_123",
        "unknown": f"Bearer jp_{'0' * 32}_{'x' * 43}",
        "wrong secret": f"Bearer {revoked.text}",
        "odd": "Bearer \udcff\x00jp_",
    }
    answers = set()
    for header in bad.values():
        for verb in ("GET", "POST"):
            response = video.django.generic(
                verb, f"/bus/v1/{route}", b"{}", "application/json", headers={"Authorization": header}
            )
            answers.add((response.status_code, response.content, response["WWW-Authenticate"]))
    in_query = video.django.post(f"/bus/v1/{route}?token={good}&access_token={good}", {}, "application/json")
    answers.add((in_query.status_code, in_query.content, in_query["WWW-Authenticate"]))
    assert len(answers) == 1
    assert answers.pop()[0] == 401


def test_an_expired_token_is_refused_and_in_the_same_words(bus_client: MakeClient, jobs: HandPlatform):
    client = bus_client(expires_at=clock.now() + timedelta(seconds=10))
    client.ok("jobs.query")
    jobs.advance(11)
    assert client.call("jobs.query").body == BusClient("x", "jp_none", None).call("jobs.query").body


def test_a_revoked_token_is_refused_within_five_seconds(video: BusClient, jobs: HandPlatform):
    video.ok("jobs.query")
    assert tokens.revoke(video.token.id, actor=ACTOR, now=clock.now())
    jobs.advance(tokens.TRUST_SECONDS)
    assert tokens.TRUST_SECONDS < 5
    video.refused("UNAUTHENTICATED", "jobs.query")
    assert not tokens.still_stands(video.token.id, clock.now())


def test_a_disabled_app_is_told_so_and_may_come_back(video: BusClient):
    video.ok("jobs.query")
    assert app_rows.set_enabled("video", False, actor=ACTOR)
    auth.forget()
    video.refused("APP_DISABLED", "jobs.query")
    assert not tokens.still_stands(video.token.id, clock.now())
    assert app_rows.set_enabled("video", True, actor=ACTOR)
    auth.forget()
    video.ok("jobs.query")
    assert list(AuditEvent.objects.filter(target_type="app").values_list("action", flat=True)) == [
        "app.enable",
        "app.disable",
        "app.create",
    ]


@pytest.mark.parametrize("name", METHODS)
def test_each_method_needs_its_scope_and_what_was_tried_is_recorded(
    bus_client: MakeClient, jobs: HandPlatform, name
):
    others = [scope for scope in tokens.SCOPES if scope != METHODS[name].scope]
    error = bus_client(scopes=others).refused("SCOPE_MISSING", name, {})
    assert error["details"] == {"scope": METHODS[name].scope}
    assert AuditEvent.objects.get(action="bus.scope_missing").target_id == name
    assert bus_client(scopes=[METHODS[name].scope]).call(name, {}).status != 403


def test_the_last_use_is_written_at_most_once_a_minute(video: BusClient, jobs: HandPlatform):
    video.ok("jobs.query")
    first = AppToken.objects.get(pk=video.token.pk)
    assert (first.last_used_at, first.last_used_ip) == (clock.now(), "127.0.0.1")
    assert App.objects.get().last_seen == clock.now()
    for _ in range(5):
        jobs.advance(10)
        video.ok("jobs.query")
    assert AppToken.objects.get(pk=video.token.pk).last_used_at == first.last_used_at
    jobs.advance(11)
    video.ok("jobs.query")
    assert AppToken.objects.get(pk=video.token.pk).last_used_at == clock.now()


def test_a_good_token_is_not_asked_for_again_within_moments(video: BusClient, django_assert_num_queries):
    video.ok("jobs.query")
    with django_assert_num_queries(1):
        video.ok("jobs.query", {"ids": ["01890a5d-ac96-774b-bcce-b302099a8057"]})


def test_an_address_that_guesses_is_not_looked_at_for_a_while(
    video: BusClient, jobs: HandPlatform, bus_client
):
    other = bus_client("video")
    video.ok("jobs.query")
    guess = BusClient("video", f"jp_{'0' * 32}_{'x' * 43}", None)
    for _ in range(guesses.MOST):
        guess.refused("UNAUTHENTICATED", "jobs.query")
    answer = guess.call("jobs.query")
    assert (answer.code, answer.headers["Retry-After"]) == ("RATE_LIMITED", "60")
    assert other.call("jobs.query").code == "RATE_LIMITED"
    video.ok("jobs.query")  # it was good here before
    event = AuditEvent.objects.get(action="bus.tokens_guessed")
    assert (event.ip, event.target_id) == ("127.0.0.1", "127.0.0.1")
    jobs.advance(60)
    guess.refused("UNAUTHENTICATED", "jobs.query")
    other.ok("jobs.query")


def test_a_token_in_a_text_is_masked(video: BusClient):
    public, secret = video.text[:35], video.text[36:]
    for text in (f"Authorization: Bearer {video.text}", f"?token={video.text}&x=1", f"said {video.text}."):
        masked = redact.text(text)
        assert secret not in masked
    assert f"{public}_***" in redact.text(f"'{video.text}'")
    assert redact.fields({"app_token": video.text, "rows": [video.text]})["rows"] == [f"{public}_***"]


def test_no_log_line_has_the_secret(video: BusClient, caplog: pytest.LogCaptureFixture, monkeypatch):
    caplog.set_level("DEBUG")

    def failing(*_: object, **__: object) -> None:
        raise RuntimeError(f"with {video.text} in it")

    monkeypatch.setattr("tasks.bus.jobs.own", failing)
    error = video.refused("INTERNAL", "jobs.query")
    assert video.text not in str(error)
    lines = [redact.text(record.getMessage()) for record in caplog.records]
    assert not [line for line in lines if video.text[36:] in line]


def test_a_secret_is_compared_in_constant_time(video: BusClient, monkeypatch):
    compared = []
    real = tokens.hmac.compare_digest
    monkeypatch.setattr(tokens.hmac, "compare_digest", lambda a, b: compared.append((a, b)) or real(a, b))
    assert tokens.find(video.text, clock.now()) is not None
    assert tokens.find(f"jp_{'0' * 32}_{'x' * 43}", clock.now()) is None
    assert len(compared) == 2
