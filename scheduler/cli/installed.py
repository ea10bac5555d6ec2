"""``--installed-app LABEL``: whose declared schedules a scheduler stores when it starts."""

from __future__ import annotations

from collections.abc import Sequence

from django.apps import apps

from jobsplatform.kernel.errors import UnknownName


def modules_of(labels: Sequence[str]) -> tuple[str, ...]:
    """The Python packages of installed apps, named by label or by package. Raises UnknownName."""
    found = {config.label: config.name for config in apps.get_app_configs()}
    by_name = {**{name: name for name in found.values()}, **found}
    for label in labels:
        if label not in by_name:
            raise UnknownName("installed app", label, found)
    return tuple(dict.fromkeys(by_name[label] for label in labels))
