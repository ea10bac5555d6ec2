"""Which hosts and addresses may be called. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from tasks.outcomes import Fail

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Machines of a cloud read their credentials here; some of these are public addresses by their number.
METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "fd00:ec2::254")
)
_NAT64 = tuple(ipaddress.ip_network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48"))
_COMPATIBLE = ipaddress.ip_network("::/96")
DEFAULT_PORTS = {"http": 80, "https": 443}


class Blocked(Fail):
    """The call is refused by the rules; trying again changes nothing."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retryable=False)


def check_host(host: str, port: int, scheme: str, allowed: Sequence[str]) -> None:
    """Raises ``Blocked`` unless an entry of TASKS__URL_ALLOW_HOSTS names the host and port.

    Entries: ``api.example.com`` (the scheme's usual port), ``api.example.com:8443``, ``api.example.com:*``
    (any port), ``*.example.com`` (its subdomains, not itself), ``*`` (any host). IPv6 in brackets.
    """
    for entry in allowed:
        name, wanted = _split(entry)
        fits = name in ("*", host) or (name.startswith("*.") and host.endswith(name[1:]))
        if fits and (wanted == "*" or port == (int(wanted) if wanted else DEFAULT_PORTS[scheme])):
            return
    shown = f"{host}:{port}" if port != DEFAULT_PORTS[scheme] else host
    known = f"Allowed: {', '.join(allowed)}." if allowed else "None is allowed yet."
    raise Blocked(f"{shown} may not be called: TASKS__URL_ALLOW_HOSTS does not name it. {known}")


def check_address(text: str, *, allow_private: bool) -> None:
    """Raises ``Blocked`` for an address that is not on the public internet.

    ``allow_private`` (TASKS__URL_ALLOW_PRIVATE) lets private and loopback ones through; metadata services,
    link-local, multicast, unspecified and reserved addresses are refused all the same. An IPv4 address inside
    an IPv6 one (mapped, 6to4, Teredo, NAT64) is judged as well.
    """
    address = ipaddress.ip_address(text.partition("%")[0])
    for inner in (address, *_embedded(address)):
        why = _forbidden(inner) or ("" if allow_private else _private(inner))
        if why:
            raise Blocked(f"{address} may not be called: it is {why}.")


def _split(entry: str) -> tuple[str, str]:
    entry = entry.strip().lower()
    if entry.startswith("["):
        name, _, port = entry[1:].partition("]")
        port = port.removeprefix(":")
    elif entry.count(":") > 1:
        name, port = entry, ""
    else:
        name, _, port = entry.partition(":")
    # An entry whose port is no number allows nothing.
    return name.rstrip("."), port if not port or port == "*" or port.isdigit() else "-1"


def _embedded(address: Address) -> list[Address]:
    if isinstance(address, ipaddress.IPv4Address):
        return []
    found: list[Address | None] = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if any(address in network for network in _NAT64) or (address in _COMPATIBLE and int(address) > 0xFFFF):
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    return [inner for inner in found if inner is not None]


def _forbidden(address: Address) -> str:
    if address in METADATA:
        return "a metadata service"
    if address.is_unspecified:
        return "the unspecified address"
    if address.is_multicast:
        return "a multicast address"
    if address.is_link_local:
        return "link-local"
    if isinstance(address, ipaddress.IPv4Address) and address.is_reserved:
        return "reserved"
    return ""


def _private(address: Address) -> str:
    if address.is_loopback:
        return "this machine itself (TASKS__URL_ALLOW_PRIVATE is off)"
    if isinstance(address, ipaddress.IPv6Address) and (address.ipv4_mapped or address.sixtofour):
        return ""  # judged by the address inside
    if not address.is_global or (isinstance(address, ipaddress.IPv6Address) and address.is_site_local):
        return "private (TASKS__URL_ALLOW_PRIVATE is off)"
    return ""
