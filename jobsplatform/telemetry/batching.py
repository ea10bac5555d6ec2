"""Writes log lines, those of short jobs several at a time.

A line marked with ``BATCH`` may wait a moment for others; any other line goes out at once, after those that
wait, so that the order is kept. At most ``WAIT`` seconds of marked lines die with a killed process.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import weakref
from typing import TextIO

BATCH = "batch"
"""Name of the record's attribute that lets a line wait."""
LINES = 100
WAIT = 0.2

_handlers: weakref.WeakSet[BatchingHandler] = weakref.WeakSet()


class BatchingHandler(logging.Handler):
    """A stream handler that joins marked lines into one write. Without a stream: stderr, as it is by then."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__()
        self._stream = stream
        self.forget()
        _handlers.add(self)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._waiting.append(self.format(record))
            if not record.__dict__.get(BATCH) or len(self._waiting) >= LINES:
                self._write()
            elif len(self._waiting) == 1:
                self._start_waiting()
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        """Write what waits."""
        with self.lock:  # type: ignore[union-attr]
            try:
                self._write()
            except (OSError, ValueError):
                # The stream is gone (closed terminal, end of the process): nobody is left to tell.
                self._waiting.clear()

    def close(self) -> None:
        self.flush()
        self._closed = True
        self._first.set()
        super().close()

    def forget(self) -> None:
        """In a new or forked process: nothing waits here (the parent writes its own), and no thread runs."""
        self._waiting: list[str] = []
        self._first = threading.Event()
        self._closed = False
        self._flusher: threading.Thread | None = None

    def _start_waiting(self) -> None:
        if self._flusher is None:
            self._flusher = threading.Thread(target=self._flush_in_time, name="log-flusher", daemon=True)
            self._flusher.start()
        self._first.set()

    def _flush_in_time(self) -> None:
        never = threading.Event()
        while not self._closed:
            self._first.wait()
            never.wait(WAIT)
            self._first.clear()
            self.flush()

    def _write(self) -> None:
        if self._waiting:
            text = "\n".join(self._waiting) + "\n"
            self._waiting.clear()
            stream = self._stream or sys.stderr
            stream.write(text)
            stream.flush()


def flush() -> None:
    """Write what waits in every handler of this process."""
    for handler in list(_handlers):
        handler.flush()


def _forget_in_child() -> None:
    for handler in list(_handlers):
        handler.forget()


atexit.register(flush)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
