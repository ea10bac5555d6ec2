"""From a call to an HTTP request, and from the answer to a value or an error; no network in here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from jobsplatform_sdk.calls.call import Call
from jobsplatform_sdk.errors import Broken, BusError, Invalid, NoAnswer, Unreachable, error_of

T = TypeVar("T")

VERSION = "0.1.0"
PATH = "/bus/v1/"

_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True, slots=True)
class Address:
    """Where the platform is, and who asks."""

    url: str
    token: str
    timeout: float

    def __repr__(self) -> str:
        return f"Address({self.url!r})"  # the token is shown nowhere

    @classmethod
    def of(cls, url: str, token: str, timeout: float) -> Address:
        """Raises ValueError for what is no address or token."""
        parsed = httpx.URL(url)
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise ValueError(f"url: expected one such as https://jobs.example.org, got {url!r}.")
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ValueError("token: expected the text that `manage.py tokens create` has printed.")
        base = url.rstrip("/")
        return cls(base.removesuffix("/bus/v1"), token, timeout)

    @property
    def headers(self) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "User-Agent": f"jobsplatform-sdk-python/{VERSION}",
        }

    def request(self, call: Call[Any], timeout: float | None = None) -> dict[str, Any]:
        """The arguments of ``httpx.Client.post``. Raises Invalid for a body that JSON cannot say."""
        try:
            body = json.dumps(call.body, allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise Invalid(f"{call.method}: the body cannot be written as JSON ({error}).") from None
        seconds = self.timeout if timeout is None else timeout
        return {
            "url": f"{self.url}{PATH}{call.method}",
            "content": body,
            "timeout": httpx.Timeout(seconds, read=seconds + call.wait),
        }


def read(call: Call[T], response: httpx.Response) -> T:
    """The value that the answer means. Raises BusError."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if response.status_code != 200:
        raise error_of(response.status_code, body, _retry_after(response))
    try:
        return call.read(body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Broken(
            f"{call.method}: the answer is none of the bus ({type(error).__name__}: {error}). "
            "Is the address that of the platform?",
            status=200,
        ) from error


def trouble(call: Call[Any], error: httpx.HTTPError) -> BusError:
    """The error that a failed exchange means."""
    told = f"{call.method}: {type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, _NEVER_SENT):
        return Unreachable(f"{told}. Is the platform up, and the address right?")
    return NoAnswer(f"{told}. Nobody knows whether it was done.")


def _retry_after(response: httpx.Response) -> float | None:
    try:
        seconds = float(response.headers.get("Retry-After", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < 86_400 else None
