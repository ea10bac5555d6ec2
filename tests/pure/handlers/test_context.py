"""What a handler can say, and what of it is passed on."""

import logging
import math
from typing import Any

import pytest

from jobsplatform.kernel.errors import InvalidInput, ParamsInvalid
from tasks.context import Child
from tasks.outcomes import JobCancelled
from tasks.states import CancelReason
from tests.pure.handlers.ports import NotedPort, context


class Unwritable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("done", [-1, math.nan, math.inf, 1e308, "half", b"1", True, [1], object(), 10**400])
def test_silly_progress_is_left_out_and_the_job_goes_on(done: Any, caplog: pytest.LogCaptureFixture) -> None:
    port = NotedPort()
    ctx = context(port=port)
    ctx.progress(5, 10, "fine")
    with caplog.at_level(logging.WARNING):
        ctx.progress(done, 10, "silly")
        ctx.progress(done, 10, "silly")
    ctx.progress(6, 10)
    assert port.progresses == [(5, 10, "fine"), (6, 10, "")]
    assert len(caplog.records) == 1
    assert "expected a number from 0 on" in caplog.text


def test_silly_totals_and_labels_are_made_sane() -> None:
    port = NotedPort()
    ctx = context(port=port)
    ctx.progress(101, 100)
    ctx.progress(1, math.nan)
    ctx.progress(None, None, "no numbers yet")
    ctx.progress(1, 2, "a\0b" + "x" * 1_000_000)
    ctx.progress(1, 2, Unwritable())  # type: ignore[arg-type]
    assert port.progresses[:3] == [(101, 101, ""), (1, None, ""), (None, None, "no numbers yet")]
    label = port.progresses[3][2]
    assert label.startswith("a\ufffdb") and len(label) == 200
    assert port.progresses[4] == (1, 2, "")


def test_track_counts_and_checks_for_each_item() -> None:
    port = NotedPort()
    assert list(context(port=port).track(["a", "b"], label="files")) == ["a", "b"]
    assert port.progresses == [(0, 2, "files"), (1, 2, "files"), (2, 2, "files")]
    port = NotedPort()
    assert list(context(port=port).track(iter("ab"))) == ["a", "b"]
    assert port.progresses[-1] == (2, None, "")


def test_track_stops_before_the_item_after_a_cancel() -> None:
    port = NotedPort()
    seen = []
    with pytest.raises(JobCancelled) as caught:
        for item in context(port=port).track([1, 2, 3]):
            seen.append(item)
            port.reason = CancelReason.USER
    assert seen == [1]
    assert caught.value.reason is CancelReason.USER


def test_a_cancel_passes_a_broad_except() -> None:
    port = NotedPort()
    port.reason = CancelReason.SHUTDOWN
    with pytest.raises(JobCancelled):
        try:
            context(port=port).check_cancel()
        except Exception:
            pytest.fail("swallowed")


def test_checkpoint_and_data_hold_json_only() -> None:
    port = NotedPort()
    ctx = context(port=port)
    ctx.checkpoint({"after": (1, 2)})
    assert ctx.cursor == {"after": [1, 2]} == port.cursors[0]
    assert ctx.merge(seen=1) == {"seen": 1}
    assert ctx.merge(name="a") == ctx.data == {"seen": 1, "name": "a"}
    with pytest.raises(ParamsInvalid, match="checkpoint: at is NaN"):
        ctx.checkpoint({"at": math.nan})
    with pytest.raises(ParamsInvalid, match="data: blob is a bytes"):
        ctx.merge(blob=b"x")
    assert ctx.cursor == {"after": [1, 2]}
    assert port.data == {"seen": 1, "name": "a"}


def test_children_need_keys_of_their_own() -> None:
    port = NotedPort()
    ctx = context(port=port)
    assert len(ctx.spawn([Child("a", {}, "one"), Child("a", {}, "two")], on_failure="ignore")) == 2
    assert (len(port.children), port.ignore_failures) == (2, True)
    with pytest.raises(InvalidInput, match="child 2 has no key"):
        ctx.spawn([Child("a", {}, "one"), Child("a", {})])
    with pytest.raises(InvalidInput, match="'one' is given twice"):
        ctx.spawn([Child("a", {}, "one"), Child("b", {}, "one")])
    with pytest.raises(InvalidInput, match="expected 'fail' or 'ignore'"):
        ctx.spawn([], on_failure="retry")  # type: ignore[arg-type]
    assert len(port.children) == 2
