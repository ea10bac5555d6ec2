"""One shape for every log line of a process: ours, Django's, Celery's, uvicorn's and the handlers' own.

``configure_logging`` gives the root logger one handler; structlog and the standard library both end there.
"""

from __future__ import annotations

import json
import logging
import warnings
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

import structlog
from celery.signals import setup_logging
from structlog import contextvars as log_context

from jobsplatform.kernel import context
from jobsplatform.telemetry import redact
from jobsplatform.telemetry.batching import BatchingHandler

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from jobsplatform.kernel.config import Config

FIELDS = "fields"
"""Name of the record's attribute that carries a line's fields."""

CLEAN = "clean"
"""Name of the record's attribute that says: there is nothing to redact in it."""

# They bring handlers of their own, which would write a second line of another shape.
_FOREIGN = (
    "celery", "celery.task", "celery.worker", "celery.beat", "celery.redirected",
    "django", "django.server", "django.request", "uvicorn", "uvicorn.error", "uvicorn.access",
)  # fmt: skip
_QUIET = {"asyncio": logging.WARNING, "urllib3": logging.WARNING, "kombu": logging.WARNING}


_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time (UTC), level, event, text, then the fields, then where it comes from."""

    def format(self, record: logging.LogRecord) -> str:
        return _encode(line(record, self))


class ConsoleFormatter(logging.Formatter):
    """For people: time of day (UTC), level, text, then what else there is as ``name=value``."""

    def format(self, record: logging.LogRecord) -> str:
        facts = line(record, self)
        when, level, event = facts.pop("time"), facts.pop("level"), facts.pop("event")
        text, trouble = facts.pop("text", event), facts.pop("exception", "")
        facts.pop("logger", None)
        rest = " ".join(
            f"{name}={_plain(value)}" for name, value in facts.items() if value not in (None, "", {})
        )
        shown = f"{when[11:23]} {level:<8} {_one_line(str(text))}"
        return "\n".join(part for part in (f"{shown}  {rest}" if rest else shown, trouble) if part)


def line(record: logging.LogRecord, formatter: logging.Formatter) -> dict[str, Any]:
    """The facts of one line, redacted, in the order in which they are written."""
    given: dict[str, Any] | None = record.__dict__.get(FIELDS)
    clean = record.__dict__.get(CLEAN, False)
    facts: dict[str, Any] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "event": record.msg if clean else redact.text(record.getMessage()),
    }
    if given is None or "request_id" not in given:
        facts |= context.current().log_facts()
    if given is None:
        facts |= log_context.get_contextvars()  # structlog's own loggers bring theirs along
    if given:
        facts |= given if clean else redact.fields(given)
    facts["logger"] = record.name
    if record.exc_info:
        facts["exception"] = redact.text(formatter.formatException(record.exc_info))
    return facts


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return _one_line(value) if value and " " not in value else _encode(value)
    return _encode(value)


def _one_line(text: str) -> str:
    """A line stays one line, and no control code reaches a terminal, whatever an error message contains."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _hand_over(_: Any, name: str, event_dict: MutableMapping[str, Any]) -> tuple[tuple[str], dict[str, Any]]:
    """structlog's last step: give the line to the standard library, fields and all."""
    event = str(event_dict.pop("event", ""))
    passed = {key: event_dict.pop(key) for key in ("exc_info", "stack_info") if key in event_dict}
    if name == "exception":
        passed.setdefault("exc_info", True)
    # A percent sign in the text is text: the standard library formats only when there are arguments.
    return (event,), {**passed, "extra": {FIELDS: dict(event_dict)}}


def configure_logging(config: Config, stream: TextIO | None = None) -> None:
    """Send every line of this process to ``stream`` (stderr) in the configured format; again replaces it.

    Celery leaves the root logger to us; a level below the configured one costs one comparison.
    """
    handler = BatchingHandler(stream)
    handler.setFormatter(JsonFormatter() if config.logs.format == "json" else ConsoleFormatter())
    root = logging.getLogger()
    for old in [h for h in root.handlers if isinstance(h, BatchingHandler)]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(config.logs.level)
    for name in _FOREIGN:
        foreign = logging.getLogger(name)
        foreign.handlers.clear()
        foreign.propagate = True
    for name, level in _QUIET.items():
        logging.getLogger(name).setLevel(max(level, root.level))
    # A line for each health question and each file would drown the jobs.
    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
    logging.captureWarnings(True)
    # whitenoise streams small files from a thread; the advice is for its authors, and one line a process is noise.
    warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")
    setup_logging.connect(_celery_asks, weak=False, dispatch_uid="jobsplatform.telemetry")
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, log_context.merge_contextvars, _hand_over],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def _celery_asks(**_: Any) -> None:
    """Being connected is the answer: Celery sets up no logging of its own when this signal has a receiver."""
