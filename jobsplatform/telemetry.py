"""Log lines of every process."""

from __future__ import annotations

import logging

from jobsplatform.kernel.config import Config


def configure_logging(config: Config) -> None:
    """Send log lines to stderr at the configured level."""
    logging.basicConfig(level=config.logs.level)
