"""The container's health check for the web process: exit code 0 when it answers."""

import http.client
import os
import sys

PORT = 8000


def allowed_host(allowed: str) -> str:
    """A Host header that ALLOWED_HOSTS lets through; a pattern is made into a name that matches it."""
    first = allowed.split(",")[0].strip().lstrip(".")
    return first if first and first != "*" else "localhost"


def main() -> int:
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=4)
    host = allowed_host(os.environ.get("ALLOWED_HOSTS", ""))
    try:
        connection.request("GET", "/health/live", headers={"Host": host})
        status = connection.getresponse().status
    except OSError as error:
        print(f"no answer on port {PORT}: {error}", file=sys.stderr)
        return 1
    if status != http.client.OK:
        print(f"/health/live answered {status}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
