"""The settings, as the system checks see them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.core import checks

from tasks.doctor.finding import Finding, fault, ok, warning


def check_settings(_: datetime) -> Iterator[Finding]:
    """Each complaint of Django's system checks, ours among them."""
    clean = True
    for message in checks.run_checks():
        if message.level < checks.WARNING or message.is_silenced():
            continue
        clean = False
        make = fault if message.level >= checks.ERROR else warning
        yield make("settings", f"{message.msg} ({message.id})", message.hint or "", id=message.id)
    if clean:
        yield ok("settings", "The system checks have no complaint.")
