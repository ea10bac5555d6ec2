"""Is a call-back the platform's? Its signature is ``t=<unix>,v1=<hex hmac-sha256 of "t.body">``."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

HEADER = "X-JobsPlatform-Signature"
TOLERANCE_SECONDS = 300.0
"""How old a signed call may be, and how far the two clocks may differ."""


def sign(secret: str, body: bytes, unix: int) -> str:
    """The header's value for a body that is sent at this second."""
    return f"t={unix},v1={_digest(secret, body, str(unix))}"


def is_signed(header: str, body: bytes, secrets: Iterable[str], unix: float) -> bool:
    """Was ``body`` signed with one of ``secrets`` at about ``unix``? Takes as long for a wrong signature as for a
    right one."""
    stamp, signatures = _parts(header)
    if not stamp.isdecimal() or len(stamp) > 15 or abs(unix - int(stamp)) > TOLERANCE_SECONDS:
        return False
    right = False
    for secret in secrets:
        expected = _digest(secret, body, stamp)
        for signature in signatures:
            right |= hmac.compare_digest(expected.encode(), signature.encode())
    return right


def _digest(secret: str, body: bytes, stamp: str) -> str:
    return hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _parts(header: str) -> tuple[str, list[str]]:
    stamp, signatures = "", []
    for part in header[:1000].split(","):
        name, _, value = part.strip().partition("=")
        if name == "t":
            stamp = value
        elif name == "v1":
            signatures.append(value)
    return stamp if stamp.isascii() else "", signatures[:5]
