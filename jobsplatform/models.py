"""Rows of the wiring: running totals for the numbers page."""

from __future__ import annotations

from django.db import models
from django.db.models import F


class Tally(models.Model):
    """A total that only grows, shared by all processes: every web process gives the same number."""

    name = models.CharField(primary_key=True, max_length=100)
    value = models.BigIntegerField(default=0)
    facts = models.JSONField(default=dict)

    class Meta:
        default_permissions = ()
        verbose_name_plural = "tallies"

    def __str__(self) -> str:
        return f"{self.name} {self.value}"

    @classmethod
    def add(cls, name: str, amount: int = 1) -> None:
        """Raise a total by ``amount``; safe against others who do the same."""
        rows = cls.objects.filter(name=name)
        if rows.update(value=F("value") + amount):
            return
        cls.objects.bulk_create([cls(name=name)], ignore_conflicts=True)
        rows.update(value=F("value") + amount)
