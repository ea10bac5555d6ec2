"""A Celery app for workers that see the world wrongly, or have a bug planted. Never part of the platform.

CHAOS_ENTRY="five clock=600" celery -A chaos.entry worker
"""

from __future__ import annotations

import os
import sys
from typing import Any

from celery.signals import celeryd_init

from chaos import twists
from jobsplatform.celery import app as app


def change(**about: Any) -> None:
    """Do what the environment asks for. A word that is not known ends the process."""
    # Imports the platform's models, which the app must have set up first.
    from chaos import planted

    for word in os.environ.get("CHAOS_ENTRY", "").split():
        name, _, value = word.partition("=")
        if name in twists.TWISTS:
            twists.TWISTS[name](app, value)
        elif name in planted.BUGS:
            planted.BUGS[name].plant()
        else:
            sys.exit(f"CHAOS_ENTRY: {name!r} is none of {', '.join([*twists.TWISTS, *planted.BUGS])}")


# Before the worker starts anything, and after the platform's own look whether it can.
celeryd_init.connect(change, weak=False)
