"""Identifiers that sort by the time they were made (UUID version 7, RFC 9562).

Within one process they strictly increase, so rows made in one call keep their order, and inserts land
at the end of the primary key's index.
"""

from __future__ import annotations

import os
import threading
import time
from uuid import UUID

_lock = threading.Lock()
_last = 0


def uuid7() -> UUID:
    """A new id: 48 bits of milliseconds, a 26-bit counter within them, 48 random bits."""
    global _last
    stamp = time.time_ns() // 1_000_000 << 26
    with _lock:
        _last = max(_last + 1, stamp)
        value = _last
    millis, counter = value >> 26, value & 0x3FF_FFFF
    random = int.from_bytes(os.urandom(6), "big")
    high, low = counter >> 14, counter & 0x3FFF
    bits = millis << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low << 48 | random
    return UUID(int=bits)
