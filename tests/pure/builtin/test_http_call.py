"""http.call against real sockets: what is sent, what is kept, and what it cannot be tricked into."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from jobsplatform.kernel import config
from jobsplatform.kernel.errors import ParamsInvalid
from tasks.builtin.http import call as call_module
from tasks.builtin.http.addresses import Blocked
from tasks.builtin.http.call import Caller, call
from tasks.builtin.http.connection import Deadline
from tasks.builtin.http.request import target_of
from tasks.outcomes import Fail, JobCancelled, Retry
from tasks.states import CancelReason
from tests.pure.builtin.fakes import FakePort, run
from tests.pure.builtin.servers import Server, reply, serving

SECRET = "Bearer sesame-open-please"


@pytest.fixture
def server() -> Iterator[Server]:
    with (
        serving({}) as started,
        config.override(tasks={"url_allow_hosts": ["*:*"], "url_allow_private": True}),
    ):
        yield started


def test_a_json_answer_is_kept(server: Server) -> None:
    server.replies["/ok"] = reply(200, b'{"a": [1, 2]}', Content_Type="application/json")
    outcome = run(call, url=server.url("/ok?token=s3cret"), timeout_seconds=10)
    assert outcome.result["json"] == {"a": [1, 2]}
    assert (outcome.result["status"], outcome.result["bytes"], outcome.count) == (200, 13, 13)
    assert outcome.result["url"] == server.url("/ok")
    assert server.requests[0][1] == "/ok?token=s3cret"
    assert server.requests[0][2]["Host"] == f"127.0.0.1:{server.port}"


def test_a_json_body_is_sent_with_a_key_that_stays_the_same(server: Server) -> None:
    server.replies["/in"] = reply(201)
    run(call, url=server.url("/in"), method="post", json={"ü": 1}, expect_status=[201])
    method, _, headers, body = server.requests[0]
    assert (method, json.loads(body), headers["Content-Type"]) == ("POST", {"ü": 1}, "application/json")
    assert len(headers["Idempotency-Key"]) == 36


def test_a_host_that_no_setting_names_is_not_called(server: Server) -> None:
    with config.override(tasks={"url_allow_hosts": []}), pytest.raises(Blocked):
        run(call, url=server.url("/ok"))
    assert server.requests == []


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "127.1", "[::ffff:127.0.0.1]"]
)
def test_this_machine_is_not_called_under_any_spelling(server: Server, host: str) -> None:
    with config.override(tasks={"url_allow_private": False}), pytest.raises(Blocked, match="itself"):
        run(call, url=server.url("/ok", host))
    assert server.requests == []


def caller(addresses: list[list[str]], **options: Any) -> Caller:
    """One whose resolver gives these answers, one after the other."""
    answers = iter(addresses)
    return Caller(Deadline(10, lambda: None), 1000, resolver=lambda _host, _port: next(answers), **options)


def test_the_checked_address_is_the_one_that_is_called(server: Server) -> None:
    """The name is resolved once: a second, different answer is never asked for."""
    server.replies["/"] = reply(200, b"hello", Content_Type="text/plain")
    once = caller([["127.0.0.1"]])
    answer = once.follow(target_of(server.url("/", "rebind.test")), "GET", {}, None, 0)
    assert answer.body == b"hello"
    assert server.requests[0][2]["Host"] == f"rebind.test:{server.port}"


def test_one_private_address_among_public_ones_blocks_the_call(server: Server) -> None:
    with config.override(tasks={"url_allow_private": False}), pytest.raises(Blocked, match="itself"):
        caller([["93.184.216.34", "127.0.0.1"]]).follow(
            target_of(server.url("/", "x.test")), "GET", {}, None, 0
        )
    assert server.requests == []


def test_a_redirect_to_a_private_address_is_blocked(server: Server) -> None:
    server.replies["/go"] = reply(302, Location="http://169.254.169.254/latest/meta-data/")
    with pytest.raises(Blocked, match="metadata"):
        run(call, url=server.url("/go"))


def test_a_redirect_is_checked_against_the_allowed_hosts(server: Server) -> None:
    server.replies["/go"] = reply(302, Location=server.url("/there", "localhost"))
    with (
        config.override(tasks={"url_allow_hosts": [f"127.0.0.1:{server.port}"]}),
        pytest.raises(Blocked, match="localhost"),
    ):
        run(call, url=server.url("/go"))
    assert len(server.requests) == 1


def test_secrets_do_not_go_along_to_another_host(server: Server) -> None:
    server.replies["/go"] = reply(307, Location=server.url("/there", "localhost"))
    server.replies["/there"] = reply(200)
    headers = {"Authorization": SECRET, "X-Api-Key": "k-123456", "Accept": "text/plain"}
    run(call, url=server.url("/go"), headers=headers)
    first, second = (request[2] for request in server.requests)
    assert first["Authorization"] == SECRET and first["X-Api-Key"] == "k-123456"
    assert "Authorization" not in second and "X-Api-Key" not in second and second["Accept"] == "text/plain"


def test_secrets_go_along_on_the_same_host(server: Server) -> None:
    server.replies["/go"] = reply(307, Location="/there")
    server.replies["/there"] = reply(200)
    outcome = run(call, url=server.url("/go"), headers={"Authorization": SECRET})
    assert server.requests[1][2]["Authorization"] == SECRET
    assert outcome.result["redirects"] == 1


@pytest.mark.parametrize(
    ("status", "method", "body"), [(303, "GET", b""), (302, "GET", b""), (308, "POST", b"[1]")]
)
def test_what_a_redirect_makes_of_a_post(server: Server, status: int, method: str, body: bytes) -> None:
    server.replies["/go"] = reply(status, Location="/there")
    server.replies["/there"] = reply(200)
    run(call, url=server.url("/go"), method="POST", json=[1])
    assert (server.requests[1][0], server.requests[1][3]) == (method, body)


def test_redirects_are_bounded(server: Server) -> None:
    server.replies["/loop"] = reply(302, Location="/loop")
    with pytest.raises(Fail, match="More than 3 redirects") as failure:
        run(call, url=server.url("/loop"), max_redirects=3)
    assert failure.value.retryable is False
    assert len(server.requests) == 4


def test_a_large_answer_is_cut(server: Server) -> None:
    server.replies["/big"] = reply(200, b"x" * 500_000, Content_Type="text/plain")
    result = run(call, url=server.url("/big"), max_response_bytes=1_000).result
    assert (result["bytes"], result["truncated"], result["text"]) == (1_000, True, "x" * 1_000)


def test_an_answer_without_end_is_cut(server: Server) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while True:
            handler.wfile.write(b"3e8\r\n" + b"x" * 1000 + b"\r\n")

    server.replies["/endless"] = endless
    assert run(call, url=server.url("/endless"), max_response_bytes=5_000).result["truncated"] is True


def test_a_byte_now_and_then_does_not_get_around_the_timeout() -> None:
    """Each read gets something before its own limit; only the whole call's deadline ends it."""
    ours, theirs = socket.socketpair()
    left = iter([5.0, 5.0, 5.0])

    class Clockwork(Deadline):
        def left(self) -> float:
            theirs.send(b"H")
            try:
                return next(left)
            except StopIteration:
                raise TimeoutError("time is over") from None

    from tasks.builtin.http.connection import _Wire

    reader = _Wire(ours, Clockwork(1, lambda: None)).makefile("rb")
    with pytest.raises(TimeoutError):
        reader.readline()
    ours.close()
    theirs.close()


def test_a_silent_server_times_out_and_is_tried_again(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(Fail, match="within 0.3 seconds") as failure:
            run(call, url=f"http://127.0.0.1:{port}/", timeout_seconds=0.3)
    assert failure.value.retryable is True


def test_a_cancel_is_seen_while_the_server_is_silent(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(JobCancelled):
        run(
            call,
            FakePort(stop_at=4, reason=CancelReason.USER),
            url=f"http://127.0.0.1:{silent.getsockname()[1]}/",
            timeout_seconds=60,
        )


def test_a_refused_connection_is_tried_again_and_names_no_query(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closing:
        port = closing.getsockname()[1]
    with pytest.raises(Fail, match="refused") as failure:
        run(call, url=f"http://127.0.0.1:{port}/?key=s3cret")
    assert failure.value.retryable is True
    assert "s3cret" not in str(failure.value)


@pytest.mark.parametrize(
    ("status", "again"), [(500, True), (503, True), (429, True), (404, False), (301, False)]
)
def test_which_statuses_are_tried_again(server: Server, status: int, again: bool) -> None:
    server.replies["/"] = reply(status)
    with pytest.raises(Fail, match=f"answered {status}, expected 200 to 299") as failure:
        run(call, url=server.url("/"))
    assert failure.value.retryable is again


def test_retry_after_is_kept_to_an_hour(server: Server) -> None:
    server.replies["/"] = reply(429, Retry_After="86400")
    with pytest.raises(Retry) as retry:
        run(call, url=server.url("/"))
    assert retry.value.after == 3600


def test_an_expected_error_status_is_a_success(server: Server) -> None:
    server.replies["/"] = reply(404, b"no", Content_Type="text/plain")
    assert run(call, url=server.url("/"), expect_status=[200, 404]).result["text"] == "no"


def test_a_secret_is_in_no_error_log_or_result(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    def echo(handler: BaseHTTPRequestHandler) -> None:
        reply(200, handler.headers["Authorization"].encode(), Content_Type="text/plain")(handler)

    server.replies["/echo"] = echo
    caplog.set_level("DEBUG")
    outcome = run(call, url=server.url("/echo"), headers={"Authorization": SECRET})
    assert outcome.result["text"] == "[redacted]"
    assert "sesame" not in json.dumps(outcome.result) + caplog.text


def test_tls_is_asked_for_the_hosts_name_not_the_address(server: Server) -> None:
    names: list[str] = []

    class Tls:
        def wrap_socket(self, sock: socket.socket, *, server_hostname: str) -> socket.socket:
            names.append(server_hostname)
            return sock

    server.replies["/"] = reply(200)
    target = target_of(f"https://secure.test:{server.port}/")
    caller([["127.0.0.1"]], tls=Tls()).follow(target, "GET", {}, None, 0)
    assert names == ["secure.test"]
    assert server.requests[0][2]["Host"] == f"secure.test:{server.port}"


def test_wrong_params_are_refused_at_submit() -> None:
    for wrong in (
        {"timeout_seconds": 0},
        {"max_redirects": 99},
        {"max_response_bytes": 10**9},
        {"verify": False},
    ):
        with pytest.raises(ParamsInvalid):
            call.schema.normalise({"url": "https://x.test/", **wrong})


def test_a_get_carries_no_body() -> None:
    with pytest.raises(Fail, match="carries no body"):
        run(call, url="https://x.test/", json={})


def test_headers_are_no_public_param() -> None:
    assert "headers" not in call.spec.public_params and "url" not in call.spec.public_params
    assert call_module.call is call
