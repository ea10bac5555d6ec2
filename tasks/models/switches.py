"""What holds jobs back: suspensions, and the lock rows of what is counted."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from tasks.models.job import NAME_LENGTH


class Suspension(models.Model):
    """A switch that stops new starts of everything, an app, a job type or a queue, until lifted or expired."""

    class Scope(models.TextChoices):
        ALL = "all"
        APP = "app"
        TYPE = "type"
        QUEUE = "queue"

    id = models.BigAutoField(primary_key=True)
    scope = models.CharField(max_length=6, choices=Scope.choices)
    target = models.CharField(
        max_length=NAME_LENGTH + 101, blank=True, default=""
    )  # app_id, handler key, queue
    reason = models.CharField(max_length=500, blank=True, default="")
    author = models.CharField(max_length=150)
    interrupt = models.BooleanField(default=False)  # running jobs were asked to stop
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.CharField(max_length=150, blank=True, default="")
    released = models.IntegerField(default=0)  # starts since the lift, while the resume is throttled

    class Meta:
        default_permissions = ("view",)
        permissions = [("suspend", "Can suspend and unsuspend")]
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "target"], name="suspension_one_open", condition=Q(lifted_at__isnull=True)
            ),
            models.CheckConstraint(
                condition=Q(scope="all", target="") | (~Q(scope="all") & ~Q(target="")) | Q(scope="app"),
                name="suspension_target",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.scope} {self.target}".strip()


class DispatchLock(models.Model):
    """The lock row of a domain that is counted (queue, limited type, concurrency key, overlap key), and its fairness
    count.

    Names are taken in ascending order: ``1:queue``, ``2:app:type``, ``3:tenant:app:key``, ``4:overlap key``.
    """

    name = models.CharField(primary_key=True, max_length=500)
    claims = models.BigIntegerField(default=0)  # starts since the last one given to the longest waiting
    fair_at = models.DateTimeField(null=True, blank=True)  # when that was

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.name
