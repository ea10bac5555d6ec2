"""The context of a request, and how it travels."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobsplatform.kernel import context
from jobsplatform.kernel.context import Context

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_nothing_is_known_at_first() -> None:
    assert context.current() == Context()


def test_bind_adds_for_a_block() -> None:
    with context.bind(tenant_id="t1", request_id="r1"), context.bind(user_id="7") as inner:
        assert inner == Context(request_id="r1", tenant_id="t1", user_id="7")
        assert context.current() is inner
    assert context.current() == Context()


def test_a_fresh_context_inherits_nothing() -> None:
    with context.bind(tenant_id="t1", request_id="r1", user_id="7", traceparent=PARENT):
        with context.fresh(method="SCHEDULER", route="scheduler:9") as found:
            assert (found.tenant_id, found.user_id) == ("", "")
            assert (found.method, found.route) == ("SCHEDULER", "scheduler:9")
            assert found.request_id not in ("", "r1")
            assert found.trace_id not in ("", PARENT[3:35])
        assert context.current().request_id == "r1"


def test_an_error_inside_puts_the_outer_one_back() -> None:
    with pytest.raises(KeyError), context.bind(user_id="7"):
        raise KeyError
    assert context.current() == Context()
    assert context.current().log_facts() == {}


def test_log_lines_carry_it_and_only_it() -> None:
    with context.bind(user_id="7", traceparent=PARENT, request_id="r1"):
        assert context.current().log_facts() == {"user_id": "7", "trace_id": PARENT[3:35], "request_id": "r1"}
        with context.use(Context(request_id="r2")):
            assert context.current().log_facts() == {"request_id": "r2"}
        assert context.current().log_facts()["user_id"] == "7"


def test_it_survives_a_json_column() -> None:
    before = Context(request_id="r", traceparent=PARENT, tenant_id="t")
    assert before.as_dict() == {"request_id": "r", "traceparent": PARENT, "tenant_id": "t"}
    assert Context.from_dict(before.as_dict() | {"from_a_newer_release": 1}) == before
    assert Context.from_dict({}) == Context()


def test_threads_do_not_share_it() -> None:
    seen = []
    with context.bind(user_id="7"):
        thread = threading.Thread(target=lambda: seen.append(context.current()))
        thread.start()
        thread.join()
    assert seen == [Context()]


def test_a_child_stays_in_its_trace_and_is_another_span() -> None:
    child = context.child_traceparent(PARENT)
    assert child[:36] == PARENT[:36]
    assert child[36:52] != PARENT[36:52]
    assert child[-2:] == "01"


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "garbage",
        PARENT.upper(),
        PARENT[:-1],
        PARENT + "\n",
        PARENT + "-more",
        "ff" + PARENT[2:],
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-4bf92f3577b34da6a3ce929d0e0e4736-{'0' * 16}-01",
    ],
)
def test_a_malformed_parent_starts_a_new_trace(header: str | None) -> None:
    made = context.child_traceparent(header)
    assert context.TRACEPARENT.match(made)
    assert made[3:35] != PARENT[3:35]


def test_a_later_version_may_carry_more() -> None:
    assert context.child_traceparent(f"01{PARENT[2:]}-more")[3:35] == PARENT[3:35]


@given(st.text(max_size=200) | st.none())
def test_any_header_gives_a_valid_trace_and_a_sane_id(header: str | None) -> None:
    assert context.TRACEPARENT.match(context.child_traceparent(header))
    assert context.REQUEST_ID.match(context.sane_request_id(header))


@pytest.mark.parametrize("sane", ["a", "req-1", "2f3c.4:x/y", "k" * 100])
def test_a_sane_request_id_is_kept(sane: str) -> None:
    assert context.sane_request_id(sane) == sane


@pytest.mark.parametrize("wild", ["", "k" * 101, "a b", "a\nb", "é", "-x", 'a"b', "a\n"])
def test_a_wild_request_id_is_replaced(wild: str) -> None:
    assert context.sane_request_id(wild) != wild
