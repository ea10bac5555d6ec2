"""Where a page may come from that uses a session: this site, or an origin that the settings trust. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A scheme, a host and perhaps a port, and nothing else: no user, no path, no list.
_ORIGIN = re.compile(r"(https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?\Z")
_PORTS = {"http": 80, "https": 443}


def read(text: str) -> tuple[str, str, int] | None:
    """Scheme, host and port; None for what is no origin."""
    found = _ORIGIN.match(text.lower())
    if found is None:
        return None
    scheme, host, port = found.groups()
    return scheme, host, int(port) if port else _PORTS[scheme]


def allowed(origins: Sequence[str], host: str, *, secure: bool, trusted: Sequence[str]) -> bool:
    """May a page of this origin use the session? ``origins``: every Origin header of the request, which must be one.

    ``host``: of the request, already known to be ours; ``trusted``: further origins, a host beginning with ``*.``
    stands for all below it. ``secure``: the request came by TLS.
    """
    if len(origins) != 1:
        return False
    found = read(origins[0])
    if found is None:
        return False
    scheme, name, port = found
    if not (secure and scheme == "http") and read(f"{scheme}://{host}") == found:
        return True
    return any(_matches(scheme, name, port, pattern) for pattern in trusted)


def _matches(scheme: str, name: str, port: int, pattern: str) -> bool:
    start, mark, rest = pattern.lower().partition("://*.")
    if not mark:
        return read(pattern) == (scheme, name, port)
    below = read(f"{start}://{rest}")
    return below is not None and (scheme, port) == (below[0], below[2]) and name.endswith(f".{below[1]}")
