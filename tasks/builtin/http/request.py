"""What is to be sent: the URL taken apart and the headers checked. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from tasks.builtin.http.addresses import DEFAULT_PORTS
from tasks.outcomes import Fail

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
MAX_URL = 8_000
MAX_HEADERS = 50
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]{0,8000}")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
# They decide where a message ends or who it is for: the client alone sets them.
_OURS = frozenset(
    {
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "proxy-authorization",
        "proxy-connection",
        "accept-encoding",
    }
)
# Sent on to another host after a redirect; everything else might be a secret meant for the first.
HARMLESS = frozenset({"accept", "accept-language", "content-type", "user-agent"})


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes."""

    scheme: str
    host: str  # lower case, ASCII; an IPv6 address without brackets
    port: int
    path: str  # with the query

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def shown(self) -> str:
        """The URL without its query, which may hold a secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path.partition('?')[0]}"


def target_of(url: str) -> Target:
    """Take a URL apart. Raises ``Fail`` (never retried) that says what is wrong, without repeating it."""
    if len(url) > MAX_URL:
        raise _wrong(f"it is longer than {MAX_URL} characters")
    if any(character <= " " or character in "\\\x7f" for character in url):
        raise _wrong("it holds a space, a backslash or a control character; encode them with %")
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError:
        raise _wrong("its host or port cannot be read") from None
    if parts.scheme not in DEFAULT_PORTS:
        raise _wrong(f"it must begin with http:// or https://, not {parts.scheme or 'nothing'!r}")
    if "@" in parts.netloc:
        raise _wrong("a name or password in it would be stored and logged; send a header")
    if not host or port == 0:
        raise _wrong("it names no host" if not host else "port 0 cannot be called")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = quote(parts.query, safe="/?%:@!$&'()*+,;=~-._[]")
    return Target(
        scheme=parts.scheme,
        host=_ascii(host),
        port=port or DEFAULT_PORTS[parts.scheme],
        path=f"{path}?{query}" if query else path,
    )


def redirected(target: Target, location: str) -> Target:
    """Where a ``Location`` header leads from ``target``. Raises ``Fail``; never from https to http."""
    base = f"{target.scheme}://{_bracketed(target.host)}:{target.port}{target.path}"
    try:
        following = target_of(urljoin(base, location.strip()))
    except ValueError:
        raise _wrong("the server redirects to something that is no URL") from None
    if target.scheme == "https" and following.scheme == "http":
        raise Fail("The server redirects from https to http; that is not followed.", retryable=False)
    return following


def checked_method(method: str) -> str:
    """The method in capitals. Raises ``Fail``."""
    if method.upper() not in METHODS:
        raise Fail(f"method takes one of {', '.join(METHODS)}, got {method!r:.40}.", retryable=False)
    return method.upper()


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers, if they may be sent. Raises ``Fail`` that names a wrong one, never its value."""
    if len(headers) > MAX_HEADERS:
        raise Fail(f"headers takes at most {MAX_HEADERS}, got {len(headers)}.", retryable=False)
    seen: set[str] = set()
    for name, value in headers.items():
        low = name.lower()
        if not _TOKEN.fullmatch(name):
            raise Fail(f"headers: {name!r:.60} is no header name.", retryable=False)
        if low in _OURS:
            raise Fail(f"headers: {name} is set by the platform itself; leave it out.", retryable=False)
        if low in seen:
            raise Fail(f"headers: {name} is there twice.", retryable=False)
        if not _VALUE.fullmatch(value):
            raise Fail(
                f"headers: the value of {name} holds a character that a header cannot, or is too long.",
                retryable=False,
            )
        seen.add(low)
    return dict(headers)


def _wrong(why: str) -> Fail:
    return Fail(f"url: {why}.", retryable=False)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _ascii(host: str) -> str:
    host = host.rstrip(".").lower()
    if ":" in host:
        if "%" in host:
            raise _wrong("an address with a zone cannot be called")
        return host
    try:
        host = host.encode("ascii" if host.isascii() else "idna").decode("ascii")
    except UnicodeError:
        raise _wrong("its host is no host name") from None
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise _wrong("its host is no host name")
    return host
