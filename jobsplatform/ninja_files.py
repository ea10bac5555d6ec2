"""Templates and static files of django-ninja, for the docs page of the bus.

As an app of its own the package would be loaded by workers too, with Django's test client, which it imports: 6 MiB.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from django.apps import AppConfig


class Files(AppConfig):
    """The folder of the package, without the package."""

    name = "jobsplatform.ninja_files"
    label = "ninja_files"
    path = str(Path(find_spec("ninja").origin).parent)  # type: ignore[arg-type, union-attr]
