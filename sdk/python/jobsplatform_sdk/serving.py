"""A small web server for a sidecar that is called; behind a real one, give it ``Callback`` instead."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from jobsplatform_sdk.callback import Callback


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    timeout = 30.0  # a caller that says nothing is not waited for

    def log_message(self, format: str, *args: object) -> None:
        """No line for each call."""


@contextmanager
def serve(app: Callback, host: str, port: int) -> Iterator[int]:
    """Listen while the block runs; the port, which is chosen when 0 is given."""
    server = make_server(host, port, app, server_class=_Server, handler_class=_Quiet)
    thread = threading.Thread(target=server.serve_forever, name="jobsplatform-door", daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
