"""The rows: schedules, how far each is decided, what became of each slot, pauses, backfills."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import models
from django.db.models import F, Q

from jobsplatform.kernel.ids import uuid7
from scheduler.readable import ReadableInstant, ReadableJSON, told, unreadable_columns
from scheduler.rules import EDITED_OUTSIDE
from scheduler.states import (
    Audience,
    Misfire,
    Overlap,
    PauseScope,
    ResumeRule,
    Status,
    TriggerType,
)

NAME_LENGTH = 200
REASON_LENGTH = 500
ORIGIN_LENGTH = 300


def _choices(enum: type) -> list[tuple[str, str]]:
    return [(str(item), str(item) or "-") for item in enum]  # type: ignore[attr-defined]


class Schedule(models.Model):
    """A timetable, a job type, params and policies. ``revision`` counts its edits: the token of a change."""

    class Source(models.TextChoices):
        CODE = "code"
        ADMIN = "admin"

    id = models.CharField(primary_key=True, max_length=NAME_LENGTH)
    description = models.CharField(max_length=REASON_LENGTH, blank=True, default="")
    app_id = models.CharField(max_length=100, blank=True, default="")
    job_type = models.CharField(max_length=NAME_LENGTH)
    params = models.JSONField(decoder=ReadableJSON, default=dict, blank=True)

    trigger_type = models.CharField(max_length=10, choices=_choices(TriggerType))
    trigger_config = models.JSONField(decoder=ReadableJSON, default=dict, blank=True)
    timezone = models.CharField(max_length=100, default="UTC")

    misfire = models.CharField(max_length=20, choices=_choices(Misfire))
    misfire_grace_seconds = models.FloatField(null=True, blank=True)  # None: SCHEDULER__MISFIRE_GRACE_SECONDS
    catch_up_window_seconds = models.FloatField(
        null=True, blank=True
    )  # None: SCHEDULER__CATCH_UP_WINDOW_SECONDS
    catch_up_max = models.IntegerField(null=True, blank=True)  # of one episode; None: no bound
    overlap = models.CharField(max_length=14, choices=_choices(Overlap), blank=True, default=Overlap.DEFAULT)
    latest_start_seconds = models.FloatField(null=True, blank=True)  # a job that waited longer is not run
    pause_after_failures = models.IntegerField(null=True, blank=True)  # in a row

    priority = models.IntegerField(null=True, blank=True)  # None: the job type's
    queue = models.CharField(max_length=100, blank=True, default="")
    max_attempts = models.IntegerField(null=True, blank=True)

    audience = models.CharField(max_length=8, choices=_choices(Audience), default=Audience.GLOBAL)
    tenants = models.JSONField(decoder=ReadableJSON, default=list, blank=True)  # ids, of a NAMED audience

    source = models.CharField(max_length=6, choices=Source.choices, default=Source.ADMIN)
    module = models.CharField(max_length=NAME_LENGTH, blank=True, default="")  # where code declares it
    revision = models.BigIntegerField(default=1)
    applied = models.TextField(
        blank=True, default=""
    )  # the rule as last seen by us; else it was edited outside
    fault = models.CharField(max_length=REASON_LENGTH, blank=True, default="")  # why it is parked
    fault_at = ReadableInstant(null=True, blank=True)
    log_days = models.IntegerField(null=True, blank=True)  # None: SCHEDULER__LOG_RETENTION_DAYS
    created_at = ReadableInstant()
    created_by = models.CharField(max_length=150, blank=True, default="")
    edited_at = ReadableInstant()  # of the rule: slots up to then are of an earlier one
    updated_at = ReadableInstant()
    archived_at = ReadableInstant(null=True, blank=True)

    class Meta:
        default_permissions = ("view", "add", "change", "delete")
        permissions = [
            ("pause_schedule", "Can pause and resume schedules"),
            ("run_schedule", "Can run a schedule now"),
            ("backfill_schedule", "Can backfill slots"),
            ("skip_schedule", "Can skip coming slots, and take that back"),
            ("pause_all_schedules", "Can pause and resume everything, or a tenant"),
        ]
        ordering = ["id"]
        indexes = [
            models.Index("job_type", name="schedule_by_type"),
            models.Index("fault_at", name="schedule_faulty", condition=Q(fault_at__isnull=False)),
            models.Index("id", name="schedule_edited", condition=EDITED_OUTSIDE),
            models.Index("id", name="schedule_for_every", condition=Q(audience=Audience.EVERY)),
        ]
        constraints = [
            models.CheckConstraint(condition=~Q(id=""), name="schedule_has_id"),
            models.CheckConstraint(condition=~Q(job_type=""), name="schedule_has_job_type"),
            models.CheckConstraint(
                condition=Q(trigger_type__in=[str(t) for t in TriggerType]), name="schedule_trigger_known"
            ),
            models.CheckConstraint(
                condition=Q(misfire__in=[str(m) for m in Misfire]), name="schedule_misfire_known"
            ),
            models.CheckConstraint(
                condition=Q(overlap__in=[str(o) for o in Overlap]), name="schedule_overlap_known"
            ),
            models.CheckConstraint(condition=Q(revision__gt=0), name="schedule_revision_positive"),
        ]

    def __str__(self) -> str:
        return self.id

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any]) -> Schedule:
        row = super().from_db(db, field_names, values)
        tell_unreadable(row.__dict__)
        return row


def tell_unreadable(columns: dict[str, Any]) -> None:
    """A schedule with an instant that cannot be read is faulty, whether or not somebody has noted that yet."""
    if broken := unreadable_columns(columns, _INSTANTS):
        columns["fault"] = columns.get("fault") or told(broken)


_INSTANTS = ("created_at", "edited_at", "updated_at", "archived_at", "fault_at")
STATE_INSTANTS = (
    "last_planned_at",
    "last_fired_at",
    "last_triggered_at",
    "last_checked_at",
    "next_due_at",
    "next_slot_at",
)


class ScheduleState(models.Model):
    """How far the slots of a schedule are decided, for one tenant (empty: for the host). A cursor, never "last run".

    ``next_due_at`` is when somebody has to look again; empty when there is nothing to come.
    """

    id = models.BigAutoField(primary_key=True)
    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="states", db_index=False)
    tenant_id = models.CharField(max_length=100, blank=True, default="")
    last_planned_at = ReadableInstant()  # every slot up to here is decided
    last_fired_at = ReadableInstant(null=True, blank=True)  # planned_at of the last slot that fired by itself
    last_triggered_at = ReadableInstant(null=True, blank=True)  # when that was
    last_checked_at = ReadableInstant(null=True, blank=True)
    next_due_at = ReadableInstant(null=True, blank=True)
    next_slot_at = ReadableInstant(null=True, blank=True)  # the next slot, for people to read
    revision = models.BigIntegerField(default=0)  # of the schedule, that next_due_at was computed from
    fired = models.BigIntegerField(default=0)  # slots fired by itself, for max_runs
    episode = models.IntegerField(default=0)  # slots fired in this catch-up episode
    skips = models.JSONField(
        decoder=ReadableJSON, default=list, blank=True
    )  # slots to be skipped, instants as text

    class Meta:
        verbose_name = "cursor"
        default_permissions = ("view",)
        ordering = ["schedule_id", "tenant_id"]
        indexes = [
            models.Index("next_due_at", "id", name="state_due", condition=Q(next_due_at__isnull=False)),
        ]
        constraints = [
            models.UniqueConstraint(fields=["schedule", "tenant_id"], name="state_one_per_tenant"),
        ]

    def __str__(self) -> str:
        return f"{self.schedule_id} {self.tenant_id}".strip()


class ScheduleTriggerLog(models.Model):
    """What was decided about a slot, or about a run of slots that share one decision (``planned_until``).

    Written once and never changed. What became of a fired slot is read from its job. Schedules are named, not
    referred to: their history outlives them.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    schedule_id = models.CharField(max_length=NAME_LENGTH)
    tenant_id = models.CharField(max_length=100, blank=True, default="")
    planned_at = ReadableInstant(null=True, blank=True)  # None: run now, without a slot
    planned_until = ReadableInstant(null=True, blank=True)  # the last slot of a range
    slot_count = models.BigIntegerField(default=1)
    origin = models.CharField(max_length=ORIGIN_LENGTH)
    triggered_at = ReadableInstant()  # when it was decided
    status = models.CharField(max_length=10, choices=_choices(Status))
    reason = models.CharField(max_length=REASON_LENGTH, blank=True, default="")
    task_id = models.UUIDField(null=True, blank=True)
    task_type = models.CharField(max_length=NAME_LENGTH + 101, blank=True, default="")  # app_id:job_type
    request_id = models.CharField(max_length=100, blank=True, default="")
    trace_id = models.CharField(max_length=32, blank=True, default="")
    error = models.TextField(blank=True, default="")
    revision = models.BigIntegerField(default=0)  # of the schedule
    decided_by = models.CharField(max_length=255, blank=True, default="")  # instance or person
    lock_key = models.CharField(max_length=500, blank=True, default="")
    fencing_token = models.BigIntegerField(null=True, blank=True)
    purge_at = ReadableInstant(null=True, blank=True)

    class Meta:
        verbose_name = "decision"
        default_permissions = ("view",)
        ordering = ["-triggered_at", "-id"]
        indexes = [
            # Slots are found by log_one_per_slot.
            models.Index("schedule_id", "triggered_at", "id", name="log_by_schedule"),
            models.Index(
                "schedule_id",
                "tenant_id",
                "planned_until",
                name="log_ranges",
                condition=Q(planned_until__isnull=False),
            ),
            # Almost every row is a fired one: those are found by their time.
            models.Index(
                "status", "triggered_at", "id", name="log_not_fired", condition=~Q(status=Status.FIRED)
            ),
            models.Index("triggered_at", "id", name="log_by_time"),
            models.Index("task_id", name="log_by_job", condition=Q(task_id__isnull=False)),
            models.Index("purge_at", name="log_purge", condition=Q(purge_at__isnull=False)),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["schedule_id", "tenant_id", "planned_at", "origin"],
                name="log_one_per_slot",
                condition=Q(planned_at__isnull=False),
            ),
            models.UniqueConstraint(
                fields=["schedule_id", "tenant_id", "origin"],
                name="log_one_per_key",
                condition=Q(planned_at__isnull=True),
            ),
            models.CheckConstraint(
                condition=Q(planned_at__isnull=False) | ~Q(origin="auto"), name="log_auto_has_slot"
            ),
            models.CheckConstraint(
                condition=Q(planned_until__isnull=True, slot_count=1)
                | Q(planned_until__gt=F("planned_at"), slot_count__gt=1),
                name="log_range_sane",
            ),
            models.CheckConstraint(condition=Q(status=Status.FIRED) | ~Q(reason=""), name="log_has_reason"),
            models.CheckConstraint(
                condition=~Q(status=Status.FIRED) | Q(task_id__isnull=False), name="log_fired_has_job"
            ),
            models.CheckConstraint(condition=Q(status__in=[str(s) for s in Status]), name="log_status_known"),
        ]

    def __str__(self) -> str:
        return f"{self.schedule_id} {self.planned_at or self.origin}: {self.status}"


class Pause(models.Model):
    """Nothing of its scope fires by itself until it is lifted or expires. Run now still works."""

    id = models.BigAutoField(primary_key=True)
    scope = models.CharField(max_length=8, choices=_choices(PauseScope))
    target = models.CharField(max_length=NAME_LENGTH, blank=True, default="")  # a schedule, or a tenant
    automatic = models.BooleanField(default=False)  # by failures in a row
    author = models.CharField(max_length=150)
    reason = models.CharField(max_length=REASON_LENGTH, blank=True, default="")
    resume_rule = models.CharField(max_length=8, choices=_choices(ResumeRule), default=ResumeRule.DROP)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.CharField(max_length=150, blank=True, default="")

    class Meta:
        default_permissions = ("view",)
        ordering = ["-id"]
        indexes = [
            models.Index("lifted_at", name="pause_lifted", condition=Q(lifted_at__isnull=False)),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "target"], name="pause_one_open", condition=Q(lifted_at__isnull=True)
            ),
            models.CheckConstraint(
                condition=Q(scope=PauseScope.ALL, target="") | (~Q(scope=PauseScope.ALL) & ~Q(target="")),
                name="pause_target",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.scope} {self.target}".strip()


class Backfill(models.Model):
    """Slots of a range, to be run (again). Its jobs carry origin ``backfill:<id>``."""

    class Mode(models.TextChoices):
        MISSING = "missing"  # slots that did not fire
        FAILED = "failed"  # slots whose job did not complete
        ALL = "all"

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    schedule_id = models.CharField(max_length=NAME_LENGTH)
    tenant_id = models.CharField(max_length=100, blank=True, default="")
    after = models.DateTimeField()  # exclusive
    until = models.DateTimeField()  # inclusive
    mode = models.CharField(max_length=8, choices=Mode.choices)
    concurrency = models.IntegerField(default=1)  # jobs of it at once
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    cursor = models.DateTimeField()  # slots of the range up to here are looked at
    total = models.IntegerField(default=0)  # slots of the range
    submitted = models.IntegerField(default=0)
    passed_over = models.IntegerField(default=0)
    open = models.JSONField(default=list, blank=True)  # ids of its jobs that had not ended at the last look
    done = models.IntegerField(default=0)  # its jobs that completed
    failed = models.IntegerField(default=0)  # its jobs that ended otherwise, and slots that made none
    note = models.CharField(
        max_length=REASON_LENGTH, blank=True, default=""
    )  # what it waits for, why it ended
    author = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    next_look_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        default_permissions = ("view",)
        ordering = ["-id"]
        indexes = [
            models.Index("next_look_at", name="backfill_due", condition=Q(state="running")),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(until__gt=F("after")), name="backfill_range"),
            models.CheckConstraint(condition=Q(concurrency__gt=0), name="backfill_concurrency"),
        ]

    def __str__(self) -> str:
        return f"backfill of {self.schedule_id} ({self.mode})"
