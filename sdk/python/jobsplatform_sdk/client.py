"""The clients: every method of the bus, waiting for its answer or awaitable."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from jobsplatform_sdk import clock, wire
from jobsplatform_sdk.calls.call import Call
from jobsplatform_sdk.errors import BusError
from jobsplatform_sdk.retrying import Attempts
from jobsplatform_sdk.services import AsyncEvents, AsyncJobs, AsyncTaskQueue, Events, Jobs, TaskQueue
from jobsplatform_sdk.shapes import Job

T = TypeVar("T")

TIMEOUT_SECONDS = 15.0
RETRY_SECONDS = 30.0


class Client:
    """The platform's bus, for any number of threads: ``client.jobs.create("tv_scrape", {"show": 7})``.

    ``timeout``: seconds for each phase of one exchange. ``retry_seconds``: for how long a call that is refused for
    now, or whose answer was lost and that may be repeated, is sent again; 0: never. Calls raise ``BusError``.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = TIMEOUT_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Raises ValueError for what is no address or token; nothing is sent yet."""
        self._address = wire.Address.of(url, token, timeout)
        self._retry_seconds = retry_seconds
        self._transport = transport
        self._http, self._pid = self._connect(), os.getpid()
        self.jobs = Jobs(self)
        self.events = Events(self)
        self.task_queue = TaskQueue(self)

    def send(self, call: Call[T]) -> T:
        """Send a call, again where that is safe; its answer. Raises BusError."""
        attempts = Attempts(call.repeatable, self._retry_seconds, clock.monotonic())
        while True:
            try:
                return self.send_once(call)
            except BusError as error:
                pause = attempts.pause_after(error, clock.monotonic())
                if pause is None:
                    raise
            clock.sleep(pause)

    def send_once(self, call: Call[T], *, timeout: float | None = None) -> T:
        """Send a call once; ``timeout``: seconds, when other than the client's. Raises BusError."""
        request = self._address.request(call, timeout)
        if self._pid != os.getpid():  # connections of the parent would be shared with it
            self._http, self._pid = self._connect(), os.getpid()
        try:
            response = self._http.post(**request)
        except httpx.HTTPError as error:
            raise wire.trouble(call, error) from error
        return wire.read(call, response)

    def wait(self, job_id: str, seconds: float = 60.0, *, every: float = 0.5) -> Job:
        """The job, once it has ended; asked for ``every`` so many seconds. Raises TimeoutError, NotFound."""
        until = clock.monotonic() + seconds
        while True:
            job = self.jobs.get(job_id)
            if job.ended:
                return job
            if clock.monotonic() >= until:
                raise TimeoutError(f"Job {job_id} is {job.status} after {seconds:g} seconds.")
            clock.sleep(every)

    def _connect(self) -> httpx.Client:
        # A sidecar has a call open for each of its runs, and the claim besides.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=50)
        return httpx.Client(headers=self._address.headers, transport=self._transport, limits=limits)

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self._address.url}>"


class AsyncClient:
    """The same methods, awaitable: ``await client.jobs.create("tv_scrape", {"show": 7})``."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = TIMEOUT_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Raises ValueError for what is no address or token; nothing is sent yet."""
        self._address = wire.Address.of(url, token, timeout)
        self._retry_seconds = retry_seconds
        self._http = httpx.AsyncClient(headers=self._address.headers, transport=transport)
        self.jobs = AsyncJobs(self)
        self.events = AsyncEvents(self)
        self.task_queue = AsyncTaskQueue(self)

    async def send(self, call: Call[T]) -> T:
        """Send a call, again where that is safe; its answer. Raises BusError."""
        attempts = Attempts(call.repeatable, self._retry_seconds, clock.monotonic())
        while True:
            try:
                return await self._send_once(call)
            except BusError as error:
                pause = attempts.pause_after(error, clock.monotonic())
                if pause is None:
                    raise
            await clock.asleep(pause)

    async def _send_once(self, call: Call[T]) -> T:
        request = self._address.request(call)
        try:
            response = await self._http.post(**request)
        except httpx.HTTPError as error:
            raise wire.trouble(call, error) from error
        return wire.read(call, response)

    async def aclose(self) -> None:
        """Give the connections back."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *what: Any) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<AsyncClient of {self._address.url}>"
