"""What the platform tells about itself: every log line (``lines``), how it looks (``logs``), and its numbers
(``metrics``). Nothing else in the project writes a line about a job.

``logs`` needs no model; ``lines`` and ``metrics`` are imported once the apps are ready.
"""

from __future__ import annotations

from jobsplatform.telemetry.logs import configure_logging

__all__ = ["configure_logging"]
