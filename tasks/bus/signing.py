"""How a sidecar knows that a call comes from the platform: HMAC-SHA-256 over the time and the body.

The key of an app is made of the platform's secret, so that nothing of it is stored; a new secret means new keys.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime

from jobsplatform.kernel import config

HEADER = "X-JobsPlatform-Signature"
TOLERANCE_SECONDS = 300
"""A receiver refuses what is older: whoever has recorded a call cannot use it for long."""

_PURPOSE = b"jobsplatform.bus.callback:"


def secret_of(app_id: str) -> str:
    """The key that calls to this app are signed with."""
    return hmac.new(config.get().secret_key.encode(), _PURPOSE + app_id.encode(), hashlib.sha256).hexdigest()


def signature(secret: str, body: bytes, now: datetime) -> str:
    """The header's value: ``t=<unix seconds>,v1=<hex>``."""
    stamp = str(int(now.timestamp()))
    return f"t={stamp},v1={_digest(secret, stamp, body)}"


def verify(secret: str, header: str, body: bytes, now: datetime) -> bool:
    """Whether ``body`` was signed with ``secret`` not long ago."""
    parts = dict(part.partition("=")[::2] for part in header.split(","))
    stamp = parts.get("t", "")
    if not stamp.isascii() or not stamp.isdigit() or abs(int(stamp) - now.timestamp()) > TOLERANCE_SECONDS:
        return False
    return hmac.compare_digest(_digest(secret, stamp, body), parts.get("v1", ""))


def _digest(secret: str, stamp: str, body: bytes) -> str:
    return hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
