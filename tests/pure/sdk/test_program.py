"""A sidecar as a program: signals and exit codes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from jobsplatform_sdk import Client, JobContext, Sidecar
from tests.pure.sdk.fake_bus import FakeBus, refusal


def program(bus: FakeBus, make_sidecar: Callable[..., Sidecar], body: Callable[[JobContext], Any]) -> int:
    """Its exit code."""
    sidecar = make_sidecar(grace_seconds=20)
    sidecar.job("work")(body)
    bus.offer("work")
    with pytest.raises(SystemExit) as ended:
        sidecar.main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_run_finish_and_ends_with_0(bus: FakeBus, make_sidecar: Any, number: int) -> None:
    before = signal.getsignal(number)

    def body(ctx: JobContext) -> str:
        os.kill(os.getpid(), number)
        bus.wait_for(lambda: any(beat["stopping"] for beat in bus.calls("jobs.heartbeat")))
        return "finished"

    assert program(bus, make_sidecar, body) == 0
    assert bus.end_of()["result"] == "finished"
    assert signal.getsignal(number) is before


def test_a_second_signal_hands_back_at_once(bus: FakeBus, make_sidecar: Any) -> None:
    end = threading.Event()

    def body(ctx: JobContext) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        bus.wait_for(lambda: any(beat["stopping"] for beat in bus.calls("jobs.heartbeat")))
        os.kill(os.getpid(), signal.SIGTERM)
        end.wait(10)

    assert program(bus, make_sidecar, body) == 0
    assert bus.end_of() == {"kind": "interrupted", "reason": "shutdown"}
    end.set()


def test_a_sidecar_that_may_not_register_ends_with_1(bus: FakeBus, make_sidecar: Any, capsys: Any) -> None:
    bus.faults.append(refusal(403, "SCOPE_MISSING"))
    assert program(bus, make_sidecar, lambda ctx: None) == 1
    assert "error: SCOPE_MISSING" in capsys.readouterr().err


def test_one_whose_token_is_revoked_later_drains_and_ends_with_1(bus: FakeBus, make_sidecar: Any) -> None:
    def body(ctx: JobContext) -> str:
        bus.faults.append(refusal(401, "UNAUTHENTICATED"))
        bus.wait_for(lambda: not bus.faults)
        return "finished"

    assert program(bus, make_sidecar, body) == 1


def test_one_that_finds_no_platform_ends_with_3(capsys: Any) -> None:
    def down(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    client = Client("http://platform.test", "jp_t", retry_seconds=0, transport=httpx.MockTransport(down))
    sidecar = Sidecar(client)
    sidecar.job("work")(lambda ctx: None)
    with pytest.raises(SystemExit) as ended:
        sidecar.main()
    assert ended.value.code == 3 and "Is the platform up" in capsys.readouterr().err
