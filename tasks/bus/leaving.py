"""How a process that brings jobs to their sidecars comes to its end."""

from __future__ import annotations

import threading


class Leaving:
    """In two steps: once ``asked``, nothing more is sent, while what was sent may still be answered; once it is
    ``over``, no answer is waited for either."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.over = threading.Event()
