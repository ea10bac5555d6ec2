"""Who sits at the command line."""

from __future__ import annotations

import getpass

from jobsplatform.kernel.audit import Actor


def operator() -> Actor:
    """The actor for the audit trail: the account that this process runs under."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = "unknown account"
    return Actor(name, "cli")
