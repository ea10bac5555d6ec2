"""Calling a sidecar over HTTP: signed, to an address that an operator has approved and that is looked at again when it
is connected to. Its answer is the end of the run, or that this will be told later."""

from __future__ import annotations

import http.client
import json
import ssl
from contextlib import closing

from pydantic import ValidationError

import jobsplatform
from jobsplatform.kernel import clock, config
from tasks.builtin.http.addresses import Blocked
from tasks.builtin.http.connection import Connection, Deadline
from tasks.builtin.http.request import target_of
from tasks.bus import signing, unreached
from tasks.bus.deferring import deferred_seconds
from tasks.bus.deliveries import delivery_of
from tasks.bus.leaving import Leaving
from tasks.bus.proxy import BusProxyHandler
from tasks.json_values import clean_text
from tasks.models import Job
from tasks.outcomes import Ending, Fail
from tasks.states import Cause

ACCEPTED = 202
_READ_BYTES = 65_536


class _Leaving(Exception):
    """This process is to end: nothing more is sent, or waited for."""


def call(job: Job, handler: BusProxyHandler, leaving: Leaving) -> Ending | None:
    """Bring one run to its sidecar; what the answer means. None: this process is to end, hand the run back.

    200: the ending in the body, completed when it names no kind. 202, or nothing in ``BUS__CALL_SECONDS``: deferred.
    One that cannot be connected to is called again for a while. All else is a failure, retried by the type's backoff.
    """
    sending = False

    def check() -> None:
        if leaving.over.is_set() or (leaving.asked.is_set() and not sending):
            raise _Leaving

    body = json.dumps(delivery_of(job, handler, clock.now()), ensure_ascii=False).encode()
    try:
        check()
        target = target_of(handler.url)
        deadline = Deadline(config.get().bus.call_seconds, check)
        allow_private = config.get().bus.call_private
        with closing(Connection(target, deadline, allow_private=allow_private)) as connection:
            try:
                connection.connect()
            except ssl.SSLError:
                raise  # somebody is there
            except OSError as error:
                return unreached.ending(job, handler, _text(error), clock.now())
            check()
            sending = True
            status, content = _exchange(connection, target.path, body, job.app_id)
    except _Leaving:
        return None
    except Blocked as error:
        return _failed("Blocked", error.message, retryable=False)
    except Fail as error:
        return _failed("Fail", error.message, retryable=error.retryable)
    except _NoAnswer:
        return _later(job)
    except (OSError, http.client.HTTPException) as error:
        return _failed("BrokenOff", _text(error))
    return _answered(status, content, job)


class _NoAnswer(Exception):
    """The request is there, and its answer has not come in time."""


def _exchange(connection: Connection, path: str, body: bytes, app_id: str) -> tuple[int, bytes]:
    connection.request("POST", path, body, _headers(app_id, body))
    try:
        with connection.getresponse() as response:
            return response.status, _read(response)
    except TimeoutError:
        raise _NoAnswer from None


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__


def _headers(app_id: str, body: bytes) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "User-Agent": f"jobsplatform/{jobsplatform.__version__}",
        signing.HEADER: signing.signature(signing.secret_of(app_id), body, clock.now()),
    }


def _read(response: http.client.HTTPResponse) -> bytes:
    limit = config.get().bus.body_max_bytes
    found = bytearray()
    while len(found) <= limit:
        part = response.read1(_READ_BYTES)
        if not part:
            return bytes(found)
        found += part
    raise http.client.HTTPException(f"the answer has more than {limit} bytes")


def _answered(status: int, content: bytes, job: Job) -> Ending:
    if status == ACCEPTED:
        return _later(job)
    if status != 200:
        return _failed("BadAnswer", f"the sidecar answered {status}")
    from tasks.bus import endings  # noqa: PLC0415 (all schemas of the bus, for workers that call nobody)

    try:
        said = json.loads(content) if content.strip() else {}
        if not isinstance(said, dict):
            raise ValueError("it is no JSON object")
        return endings.read(said, job)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        return _failed("BadAnswer", f"the sidecar's answer is no ending: {where}: {first['msg']}")
    except (ValueError, RecursionError) as error:
        return _failed("BadAnswer", f"the sidecar's answer is no ending: {error}")


def _later(job: Job) -> Ending:
    return Ending("deferred", deadline=deferred_seconds(job))


def _failed(error_type: str, message: str, *, retryable: bool = True) -> Ending:
    text = clean_text(message, 1000)
    return Ending("failed", cause=Cause.HANDLER, error_type=error_type, error=text, retryable=retryable)
