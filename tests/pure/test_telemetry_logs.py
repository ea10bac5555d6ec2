"""What a log line looks like, whoever writes it."""

import io
import json
import logging
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from jobsplatform.kernel import config, context
from jobsplatform.telemetry import batching, configure_logging
from jobsplatform.telemetry.logs import FIELDS


class Stream(io.StringIO):
    """Remembers that something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def write(self, text: str) -> int:
        count = super().write(text)
        self.written.set()
        return count


@pytest.fixture
def stream() -> Iterator[Stream]:
    target = Stream()
    before = list(logging.getLogger().handlers), logging.getLogger().level
    yield target
    handlers, level = before
    root = logging.getLogger()
    for handler in list(root.handlers):
        if isinstance(handler, batching.BatchingHandler) and handler not in handlers:
            root.removeHandler(handler)
    for handler in handlers:
        if handler not in root.handlers:
            root.addHandler(handler)
    root.setLevel(level)


def lines(stream: Stream) -> list[dict[str, Any]]:
    batching.flush()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def use(stream: Stream, style: str, level: str = "INFO") -> None:
    with config.override(logs={"format": style, "level": level}) as changed:
        configure_logging(changed, stream)


def test_structlog_and_the_standard_library_write_the_same_shape(stream: Stream) -> None:
    use(stream, "json")
    structlog.get_logger("app").info("hello", answer=42)
    logging.getLogger("django.request").warning("Not Found: %s", "/x")
    first, second = lines(stream)
    assert (first["event"], first["answer"], first["level"], first["logger"]) == ("hello", 42, "info", "app")
    assert (second["event"], second["level"]) == ("Not Found: /x", "warning")
    assert first["time"].endswith("+00:00") and second["time"].endswith("+00:00")


def test_lines_carry_the_context_they_were_written_in(stream: Stream) -> None:
    use(stream, "json")
    with context.fresh(
        request_id="r-1", tenant_id="t-1", traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    ):
        structlog.get_logger("app").info("inside")
        logging.getLogger("app").info("also inside")
    logging.getLogger("app").info("outside")
    inside, also, outside = lines(stream)
    for line in (inside, also):
        assert (line["request_id"], line["tenant_id"], line["trace_id"]) == ("r-1", "t-1", "a" * 32)
    assert "request_id" not in outside


def test_a_percent_sign_in_an_event_is_text(stream: Stream) -> None:
    use(stream, "json")
    structlog.get_logger("app").info("100% done, %s left")
    assert lines(stream)[0]["event"] == "100% done, %s left"


def test_secrets_are_masked_in_fields_messages_and_tracebacks(stream: Stream) -> None:
    use(stream, "json")
    structlog.get_logger("app").info("x", password="hunter2hunter2", nested={"token": "hunter2hunter2"})
    logging.getLogger("app").warning("Authorization: Bearer %s", "hunter2hunter2")
    try:
        raise RuntimeError("no answer from redis://:hunter2hunter2@cache/0")
    except RuntimeError:
        structlog.get_logger("app").exception("broken")
    text = stream.getvalue()
    assert "hunter2" not in text
    assert "RuntimeError" in text and "Traceback" in text


@pytest.mark.parametrize("style", ["json", "console"])
def test_a_hostile_message_stays_one_line(stream: Stream, style: str) -> None:
    use(stream, style)
    structlog.get_logger("app").error("first\nERROR forged\x1b[2J", job="a\nb")
    batching.flush()
    assert len(stream.getvalue().splitlines()) == 1
    assert "\x1b" not in stream.getvalue()


def test_the_console_shows_text_then_fields(stream: Stream) -> None:
    use(stream, "console")
    logging.getLogger("jobs").info(
        "job.run", extra={FIELDS: {"text": "job a ran in 1ms", "count": 3, "error": None}}
    )
    shown = stream.getvalue()
    assert "job a ran in 1ms  count=3" in shown and "error" not in shown


def test_levels_below_the_configured_one_write_nothing(stream: Stream) -> None:
    use(stream, "json", level="WARNING")
    structlog.get_logger("app").info("quiet")
    logging.getLogger("celery").info("quiet")
    assert lines(stream) == []


def test_marked_lines_wait_and_any_other_takes_them_along_in_order(stream: Stream) -> None:
    use(stream, "json")
    logger = logging.getLogger("jobs")
    for number in range(3):
        logger.info("short %s", number, extra={batching.BATCH: True})
    assert stream.getvalue() == ""
    logger.warning("long")
    assert [line["event"] for line in lines(stream)] == ["short 0", "short 1", "short 2", "long"]


def test_many_marked_lines_are_written_before_the_wait_is_over(stream: Stream) -> None:
    use(stream, "json")
    for number in range(batching.LINES):
        logging.getLogger("jobs").info("short %s", number, extra={batching.BATCH: True})
    assert len(stream.getvalue().splitlines()) == batching.LINES


def test_marked_lines_come_out_by_themselves(stream: Stream) -> None:
    use(stream, "json")
    logging.getLogger("jobs").info("short", extra={batching.BATCH: True})
    assert stream.written.wait(10)
    assert "short" in stream.getvalue()


def test_a_forked_child_does_not_repeat_what_waits(stream: Stream) -> None:
    use(stream, "json")
    logging.getLogger("jobs").info("parent's", extra={batching.BATCH: True})
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        batching.flush()
        os.write(write, str(len(stream.getvalue())).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 10) == b"0"
    os.close(read)
    os.close(write)
    assert [line["event"] for line in lines(stream)] == ["parent's"]


def test_configuring_again_replaces_the_first(stream: Stream) -> None:
    use(stream, "json")
    use(stream, "json")
    logging.getLogger("app").info("once")
    assert len(lines(stream)) == 1
