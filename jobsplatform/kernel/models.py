"""Rows of the kernel: processes, tenants, apps, the audit trail and named locks."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import PlatformError
from jobsplatform.kernel.ids import uuid7


class Process(models.Model):
    """One incarnation of a process: the same host and pid after a restart is another row."""

    class Role(models.TextChoices):
        WORKER = "worker"
        BEAT = "beat"
        SCHEDULER = "scheduler"
        WEB = "web"
        CLI = "cli"
        SIDECAR = "sidecar"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    host = models.CharField(max_length=255)
    pid = models.BigIntegerField()
    role = models.CharField(max_length=20, choices=Role.choices)
    name = models.CharField(max_length=255)
    version = models.CharField(max_length=100, blank=True, default="")
    queues = models.JSONField(default=list, help_text="Queues that it serves.")
    concurrency = models.PositiveIntegerField(default=0, help_text="Jobs that it can run at once.")
    handlers = models.JSONField(default=list, help_text='Handlers that it knows, as "app:type".')
    capabilities = models.JSONField(default=dict, help_text='What it can do, e.g. {"kill": true}.')
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField(db_index=True)
    stopping = models.BooleanField(default=False, help_text="It drains and takes nothing new.")
    stopped_at = models.DateTimeField(null=True, blank=True)
    lost_at = models.DateTimeField(null=True, blank=True, help_text="When it was declared dead.")
    busy_threads = models.PositiveIntegerField(
        default=0, help_text="Threads held by runs that could not be killed."
    )
    info = models.JSONField(default=dict)
    app_id = models.CharField(max_length=100, blank=True, default="", help_text="Whose sidecar it is.")

    class Meta:
        verbose_name_plural = "processes"
        ordering: ClassVar = ["-started_at"]
        indexes: ClassVar = [models.Index(fields=["role", "heartbeat_at"], name="kernel_process_role_beat")]

    def __str__(self) -> str:
        return f"{self.role} {self.name}"

    @property
    def ended(self) -> bool:
        """Stopped by itself, or declared dead."""
        return self.stopped_at is not None or self.lost_at is not None


class Tenant(models.Model):
    """A customer of the host; the empty id is global and has no row."""

    class State(models.TextChoices):
        ACTIVE = "active"
        SUSPENDED = "suspended"
        ARCHIVED = "archived"

    tenant_id = models.CharField(primary_key=True, max_length=100)
    title = models.CharField(max_length=200, blank=True, default="")
    state = models.CharField(max_length=20, choices=State.choices, default=State.ACTIVE, db_index=True)

    class Meta:
        ordering: ClassVar = ["tenant_id"]

    def __str__(self) -> str:
        return self.title or self.tenant_id


class App(models.Model):
    """An owner of jobs besides the host."""

    app_id = models.CharField(max_length=100, unique=True)
    title = models.CharField(max_length=200, blank=True, default="")
    enabled = models.BooleanField(default=True)
    services = models.JSONField(default=list, blank=True)
    last_seen = models.DateTimeField(null=True, blank=True)
    quotas = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering: ClassVar = ["app_id"]

    def __str__(self) -> str:
        return self.title or self.app_id


class AppToken(models.Model):
    """A credential of an app. Of the secret only a hash is stored; it is shown once, when it is made."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100, blank=True, default="")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150, blank=True, default="")
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by = models.CharField(max_length=150, blank=True, default="")
    last_used_at = models.DateTimeField(null=True, blank=True)
    last_used_ip = models.CharField(max_length=45, blank=True, default="")

    class Meta:
        default_permissions = ("view", "add")
        permissions: ClassVar = [("revoke_token", "Can revoke tokens")]
        ordering: ClassVar = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.app}: {self.name or self.id}"


class AuditIsAppendOnly(PlatformError):
    """Someone tried to change or remove an audit event."""

    code = "AUDIT_APPEND_ONLY"
    http_status = 409

    def __init__(self) -> None:
        super().__init__("Audit events are never changed; only the retention purge removes old ones.")


class AuditQuerySet(models.QuerySet):
    """Reads and inserts; nothing else."""

    def update(self, **_: Any) -> int:
        raise AuditIsAppendOnly

    def delete(self) -> tuple[int, dict[str, int]]:
        raise AuditIsAppendOnly

    def purge(self, before: datetime, limit: int) -> int:
        """Remove at most ``limit`` events older than ``before``; how many were removed."""
        oldest = list(self.filter(at__lt=before).order_by("at").values_list("pk", flat=True)[:limit])
        return self.filter(pk__in=oldest).order_by()._raw_delete(self.db) if oldest else 0


class AuditEvent(models.Model):
    """Who did what to which target, from what to what, and how it ended."""

    class ActorKind(models.TextChoices):
        USER = "user"
        CLI = "cli"
        BUS = "bus"
        SYSTEM = "system"

    class Outcome(models.TextChoices):
        OK = "ok"
        ERROR = "error"

    at = models.DateTimeField(default=clock.now)
    actor = models.CharField(max_length=200, blank=True, default="")
    actor_kind = models.CharField(max_length=10, choices=ActorKind.choices)
    action = models.CharField(max_length=100, db_index=True)
    target_type = models.CharField(max_length=50, blank=True, default="")
    target_id = models.CharField(max_length=255, blank=True, default="")
    tenant_id = models.CharField(max_length=100, blank=True, default="")
    app_id = models.CharField(max_length=100, blank=True, default="")
    before = models.JSONField(null=True, blank=True, encoder=DjangoJSONEncoder)
    after = models.JSONField(null=True, blank=True, encoder=DjangoJSONEncoder)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, default=Outcome.OK)
    error = models.TextField(blank=True, default="")
    request_id = models.CharField(max_length=100, blank=True, default="")
    ip = models.CharField(max_length=45, blank=True, default="")

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-at", "-pk"]
        indexes: ClassVar = [
            models.Index(fields=["at"], name="kernel_audit_at"),
            models.Index(fields=["target_type", "target_id", "at"], name="kernel_audit_target"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.target_type} {self.target_id}".strip()

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise AuditIsAppendOnly
        super().save(*args, **{**kwargs, "force_insert": True})

    def delete(self, *_: Any, **__: Any) -> tuple[int, dict[str, int]]:
        raise AuditIsAppendOnly


class NamedLock(models.Model):
    """A lock of the database provider; the row outlives its holder, so that its fence only grows."""

    name = models.CharField(primary_key=True, max_length=255)
    owner = models.CharField(max_length=255, blank=True, default="")
    token = models.CharField(max_length=64, blank=True, default="")
    expires_at = models.DateTimeField(db_index=True)
    fence = models.BigIntegerField()

    def __str__(self) -> str:
        return self.name
