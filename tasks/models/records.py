"""What is kept of a job beside its row: its runs, the pace of its type, the key that made it."""

from __future__ import annotations

from django.db import models

from tasks.models.job import KEY_LENGTH, NAME_LENGTH, Job


class JobAttempt(models.Model):
    """One ended run of a job, under one lease. Written in the transaction that ends the run; never changed."""

    id = models.BigAutoField(primary_key=True)
    # Found by attempt_one_per_lease, which begins with the job.
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="attempts", db_index=False)
    lease = models.BigIntegerField()
    number = models.IntegerField()  # of the counted attempt; runs that use none repeat it
    outcome = models.CharField(max_length=20)  # name of the move that ended it
    reason = models.CharField(max_length=200, blank=True, default="")
    cause = models.CharField(max_length=12, blank=True, default="")
    worker_id = models.UUIDField(null=True, blank=True)
    worker = models.CharField(max_length=255, blank=True, default="")
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField()
    count = models.BigIntegerField(null=True, blank=True)
    error_type = models.CharField(max_length=200, blank=True, default="")
    error = models.TextField(blank=True, default="")
    traceback = models.TextField(blank=True, default="")

    class Meta:
        default_permissions = ("view",)
        ordering = ["job", "lease"]
        constraints = [models.UniqueConstraint(fields=["job", "lease"], name="attempt_one_per_lease")]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.job_id}: {self.outcome}"


class TypePace(models.Model):
    """How long the runs of a type take: a running mean over about the last two hundred."""

    handler_key = models.CharField(primary_key=True, max_length=NAME_LENGTH + 101)
    runs = models.BigIntegerField(default=0)
    mean_seconds = models.FloatField(default=0.0)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.handler_key}: {self.mean_seconds:.3f} s"


class IdempotencyKey(models.Model):
    """Which job an idempotency key made. Outlives the job's row when ``expires_at`` is later."""

    id = models.BigAutoField(primary_key=True)
    tenant_id = models.CharField(max_length=100, blank=True, default="")
    app_id = models.CharField(max_length=100, blank=True, default="")
    key = models.CharField(max_length=KEY_LENGTH)
    job_id = models.UUIDField()
    fingerprint = models.CharField(max_length=64)  # of job type and params as sent
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["tenant_id", "app_id", "key"], name="idempotency_key_once")
        ]

    def __str__(self) -> str:
        return self.key
