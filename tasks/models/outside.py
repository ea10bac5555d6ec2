"""Rows of sidecars and pages: who runs which type, what runs elsewhere, what an app tells, who may listen."""

from __future__ import annotations

from django.db import models

from jobsplatform.kernel.ids import uuid7
from jobsplatform.kernel.models import App, AppToken
from tasks.json_values import StoredJSON
from tasks.models.job import NAME_LENGTH

APP_LENGTH = 100
USER_LENGTH = 100


class HandlerBinding(models.Model):
    """A job type of an app that a sidecar runs. Written by the bus alone; every process reads it."""

    class Transport(models.TextChoices):
        CLAIM = "claim"  # the sidecar fetches its jobs
        HTTP = "http"  # the platform calls the sidecar
        CELERY = "celery"  # a queue on a broker of the app's own

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    app_id = models.CharField(max_length=APP_LENGTH)
    job_type = models.CharField(max_length=NAME_LENGTH)
    service = models.CharField(max_length=100)
    method = models.CharField(max_length=100)
    transport = models.CharField(max_length=8, choices=Transport.choices, default=Transport.CLAIM)
    url = models.CharField(max_length=500, blank=True, default="", help_text="Where it is called (http).")
    approved_url = models.CharField(
        max_length=500,
        blank=True,
        default="",
        help_text="What an operator has approved; calls go nowhere else.",
    )
    approved_by = models.CharField(max_length=150, blank=True, default="")
    approved_at = models.DateTimeField(null=True, blank=True)
    spec = models.JSONField(decoder=StoredJSON, default=dict, blank=True, help_text="What @job declares.")
    enabled = models.BooleanField(default=True)
    revision = models.BigIntegerField(default=0)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField(db_index=True)

    class Meta:
        default_permissions = ("view",)
        permissions = [("approve_binding", "Can approve and disable handlers of sidecars")]
        ordering = ["app_id", "job_type"]
        constraints = [models.UniqueConstraint(fields=["app_id", "job_type"], name="binding_once")]

    def __str__(self) -> str:
        return f"{self.app_id}:{self.job_type}"


class ExternalJob(models.Model):
    """The last word on a piece of work that the platform does not run. Gone at ``expires_at``."""

    class Status(models.TextChoices):
        PENDING = "pending"
        RUNNING = "running"
        COMPLETED = "completed"
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = models.BigAutoField(primary_key=True)
    app_id = models.CharField(max_length=APP_LENGTH)
    job_id = models.CharField(max_length=200, help_text="The app's own id of it.")
    title = models.CharField(max_length=300, blank=True, default="")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.RUNNING)
    progress = models.FloatField(null=True, blank=True, help_text="Percent, 0 to 100.")
    eta_seconds = models.FloatField(null=True, blank=True)
    message = models.CharField(max_length=500, blank=True, default="")
    user_id = models.CharField(max_length=USER_LENGTH, blank=True, default="", help_text="Who sees it.")
    revision = models.BigIntegerField(default=0)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField(db_index=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        default_permissions = ("view",)
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["app_id", "job_id"], name="external_job_once")]
        indexes = [models.Index("user_id", "id", name="external_by_user", condition=~models.Q(user_id=""))]

    def __str__(self) -> str:
        return f"{self.app_id} {self.job_id}"


class AppEvent(models.Model):
    """Something that an app tells one user. Kept for a while, so that a page which was away hears it."""

    id = models.BigAutoField(primary_key=True)
    app_id = models.CharField(max_length=APP_LENGTH)
    user_id = models.CharField(max_length=USER_LENGTH)
    kind = models.CharField(max_length=100)
    scope = models.CharField(max_length=200, blank=True, default="")
    payload = models.JSONField(decoder=StoredJSON, null=True)
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        default_permissions = ("view",)
        ordering = ["id"]
        indexes = [models.Index("user_id", "id", name="app_event_by_user")]

    def __str__(self) -> str:
        return f"{self.app_id} {self.kind}"


class LiveTicket(models.Model):
    """One use of the live feed by somebody who has no session here. Only its hash is stored."""

    digest = models.CharField(primary_key=True, max_length=64)
    user_id = models.CharField(max_length=USER_LENGTH, blank=True, default="")
    session_key = models.TextField(
        blank=True, default="", help_text="Of the session that asked; it ends with that."
    )
    token = models.ForeignKey(AppToken, null=True, on_delete=models.CASCADE, related_name="+")
    app = models.ForeignKey(App, null=True, on_delete=models.CASCADE, related_name="+")
    topics = models.JSONField(default=list, help_text="What it may hear; empty: whatever its user may.")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"ticket of {self.user_id or self.app_id}"
