"""The job row. The database refuses illegal ones by itself."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Least
from django.db.models.lookups import Exact, GreaterThanOrEqual, IsNull

from jobsplatform.kernel.ids import uuid7
from tasks.json_values import StoredJSON
from tasks.sql.one_of import OneOf
from tasks.sql.recent import RecentIndex
from tasks.states import (
    ACTIVE,
    FINAL,
    IN_FLIGHT,
    CancelReason,
    Cause,
    Dedupe,
    Hold,
    Overlap,
    Priority,
    Role,
    State,
)

_FINAL = sorted(FINAL)
_ACTIVE = sorted(ACTIVE)
_IN_FLIGHT = sorted(IN_FLIGHT)
_CLAIMABLE = Q(state=State.PENDING, hold=Hold.NONE)

NAME_LENGTH = 200
KEY_LENGTH = 255
OVERLAP_KEY_LENGTH = 320


def _choices(enum: type) -> list[tuple[str, str]]:
    return [(str(item), str(item) or "-") for item in enum]  # type: ignore[attr-defined]


class Job(models.Model):
    """One request to run a handler, and where it stands. Its row is the outbox: messages are only hints."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    app_id = models.CharField(max_length=100, blank=True, default="")
    job_type = models.CharField(max_length=NAME_LENGTH)
    # "app_id:job_type", kept beside the two so that one index walks from type to type.
    handler_key = models.CharField(max_length=NAME_LENGTH + 101, editable=False)
    queue = models.CharField(max_length=100, default="default")
    priority = models.IntegerField(default=Priority.NORMAL)

    state = models.CharField(max_length=12, choices=_choices(State), default=State.PENDING)
    hold = models.CharField(max_length=12, choices=_choices(Hold), blank=True, default=Hold.NONE)
    reason = models.CharField(max_length=200, blank=True, default="")
    cause = models.CharField(max_length=12, choices=_choices(Cause), blank=True, default=Cause.NONE)
    revision = models.BigIntegerField(default=0)

    params = models.JSONField(decoder=StoredJSON, default=dict, blank=True)
    data = models.JSONField(decoder=StoredJSON, default=dict, blank=True)
    result = models.JSONField(decoder=StoredJSON, null=True, blank=True)
    error_type = models.CharField(max_length=200, blank=True, default="")
    error = models.TextField(blank=True, default="")
    checkpoint = models.JSONField(decoder=StoredJSON, null=True, blank=True)

    lease = models.BigIntegerField(default=0)
    worker_id = models.UUIDField(null=True, blank=True)
    pack = models.UUIDField(null=True, blank=True)  # the message that carries it together with others
    slot = models.UUIDField(null=True, blank=True)  # of its worker, where it takes turns with others
    solo = models.BooleanField(default=False)  # not to be packed: a pack it was in died, or was held up by it
    attempt = models.IntegerField(default=0)  # number of the current or last counted attempt
    failures = models.IntegerField(default=0)  # attempts used up
    crashes = models.IntegerField(default=0)  # in a row without a new checkpoint, pinned on this job
    losses = models.IntegerField(default=0)  # in a row, with a whole worker or not to be pinned on one job
    max_attempts = models.IntegerField(default=3)

    progress_done = models.FloatField(null=True, blank=True)
    progress_total = models.FloatField(null=True, blank=True)
    progress_label = models.CharField(max_length=200, blank=True, default="")
    progress_at = models.DateTimeField(null=True, blank=True)

    cancel_reason = models.CharField(max_length=12, choices=_choices(CancelReason), blank=True, default="")
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    preempted_by = models.UUIDField(null=True, blank=True)

    created_at = models.DateTimeField()
    run_after = models.DateTimeField(null=True, blank=True)  # as asked for
    due_at = models.DateTimeField()  # may start from here on: run_after, or the end of a backoff
    latest_start_at = models.DateTimeField(null=True, blank=True)  # its first run begins by then, or never
    dispatched_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)  # start of the current or last run
    first_started_at = models.DateTimeField(null=True, blank=True)
    deadline_at = models.DateTimeField(null=True, blank=True)  # running: hard limit; waiting: outside finish
    finished_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField()
    purge_at = models.DateTimeField(null=True, blank=True)

    concurrency_key = models.CharField(max_length=KEY_LENGTH, blank=True, default="")
    concurrency_limit = models.IntegerField(default=1)  # of the key
    exclusive = models.BooleanField(default=False)
    overlap = models.CharField(max_length=14, choices=_choices(Overlap), blank=True, default=Overlap.NONE)
    overlap_key = models.CharField(max_length=OVERLAP_KEY_LENGTH, blank=True, default="")
    dedupe_key = models.CharField(max_length=KEY_LENGTH, blank=True, default="")
    dedupe = models.CharField(max_length=12, choices=_choices(Dedupe), default=Dedupe.ALIAS)
    role = models.CharField(max_length=10, choices=_choices(Role), blank=True, default=Role.NONE)
    leader = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="aliases",
        db_constraint=False,
        db_index=False,  # job_aliases; one of all rows would be written at each of their moves
    )

    parent = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="children",
        db_constraint=False,
        db_index=False,  # job_children, likewise
    )
    child_key = models.CharField(max_length=KEY_LENGTH, blank=True, default="")
    spawned = models.BooleanField(default=False)  # it has, or had, children
    ignore_child_failures = models.BooleanField(default=False)
    open_end = models.BooleanField(default=False)  # waiting for a finish from outside
    continuing = models.BooleanField(default=False)  # the next run is the continuation, after the children

    user_id = models.CharField(max_length=100, blank=True, default="")
    tenant_id = models.CharField(max_length=100, blank=True, default="")
    request_id = models.CharField(max_length=100, blank=True, default="")
    traceparent = models.CharField(max_length=64, blank=True, default="")
    schedule_id = models.CharField(max_length=NAME_LENGTH, blank=True, default="")
    planned_at = models.DateTimeField(null=True, blank=True)
    window_start = models.DateTimeField(null=True, blank=True)
    origin = models.CharField(max_length=10, default="live")  # live, catch_up, backfill, manual
    force = models.BooleanField(default=False)

    class Meta:
        default_permissions = ("view",)
        permissions = [
            ("cancel_job", "Can cancel jobs"),
            ("retry_job", "Can retry jobs"),
            ("resume_job", "Can resume paused jobs"),
            ("enqueue_job", "Can enqueue jobs"),
            ("view_payload", "Can see params, data and results"),
        ]
        ordering = ["-id"]
        indexes = [
            # The claim: one walk a (queue, type), most urgent first, then oldest.
            models.Index(
                "queue",
                "handler_key",
                F("priority").desc(),
                "due_at",
                "id",
                name="job_claim",
                condition=_CLAIMABLE,
            ),
            models.Index(
                "tenant_id",
                "app_id",
                "concurrency_key",
                name="job_key_open",
                condition=_CLAIMABLE & ~Q(concurrency_key=""),
            ),
            models.Index("due_at", name="job_later", condition=Q(state=State.PENDING, hold=Hold.LATER)),
            models.Index(
                "tenant_id",
                "app_id",
                "concurrency_key",
                "queue",
                "handler_key",
                F("priority").desc(),
                "due_at",
                "id",
                name="job_key_held",
                condition=Q(state=State.PENDING, hold=Hold.KEY),
            ),
            models.Index(
                "tenant_id", name="job_tenant_held", condition=Q(state=State.PENDING, hold=Hold.TENANT)
            ),
            models.Index(
                "preempted_by", name="job_preempted", condition=Q(state=State.PENDING, hold=Hold.PREEMPTED)
            ),
            models.Index("worker_id", name="job_owner", condition=Q(state__in=_IN_FLIGHT)),
            models.Index(
                "concurrency_key",
                name="job_key_busy",
                condition=Q(state__in=_IN_FLIGHT) & ~Q(concurrency_key=""),
            ),
            models.Index("deadline_at", name="job_deadline", condition=Q(deadline_at__isnull=False)),
            models.Index(
                "state", "due_at", name="job_resting", condition=Q(state__in=[State.WAITING, State.PAUSED])
            ),
            models.Index("parent", "state", name="job_children", condition=Q(parent__isnull=False)),
            models.Index("leader", "state", name="job_aliases", condition=Q(leader__isnull=False)),
            models.Index("purge_at", name="job_purge", condition=Q(purge_at__isnull=False)),
            RecentIndex(fields=["updated_at"], name="job_written"),
            models.Index("state", "id", name="job_by_state"),
            models.Index("handler_key", "id", name="job_by_type"),
            models.Index("user_id", "id", name="job_by_user", condition=~Q(user_id="")),
            models.Index("schedule_id", "id", name="job_by_schedule", condition=~Q(schedule_id="")),
            models.Index(
                "schedule_id",
                "tenant_id",
                "finished_at",
                "id",
                name="job_schedule_ends",
                condition=~Q(schedule_id=""),
            ),
            models.Index("dedupe_key", "id", name="job_by_dedupe", condition=~Q(dedupe_key="")),
            models.Index(
                "overlap_key",
                "hold",
                "due_at",
                "id",
                name="job_overlap",
                condition=~Q(overlap_key="") & Q(finished_at__isnull=True),
            ),
            models.Index(
                "latest_start_at",
                name="job_latest_start",
                condition=Q(
                    latest_start_at__isnull=False, first_started_at__isnull=True, finished_at__isnull=True
                ),
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant_id", "app_id", "job_type", "dedupe_key"],
                name="job_one_leader",
                condition=Q(role=Role.LEADER, state__in=_ACTIVE),
            ),
            models.UniqueConstraint(
                fields=["tenant_id", "app_id", "job_type", "dedupe_key"],
                name="job_one_successor",
                condition=Q(role=Role.SUCCESSOR, state__in=_ACTIVE),
            ),
            models.UniqueConstraint(
                fields=["handler_key"],
                name="job_exclusive",
                condition=Q(exclusive=True, state__in=_IN_FLIGHT),
            ),
            models.UniqueConstraint(
                fields=["parent", "child_key"], name="job_one_child", condition=Q(parent__isnull=False)
            ),
            # PostgreSQL reads all checks anew for each statement that writes a job, most of what a statement on one row
            # costs: none of them says what another has said, and all are short.
            models.CheckConstraint(condition=OneOf("hold", list(Hold)), name="job_hold_known"),
            models.CheckConstraint(
                condition=Q(hold="") | Q(state=State.PENDING), name="job_hold_only_pending"
            ),
            models.CheckConstraint(condition=OneOf("state", [*_ACTIVE, *_FINAL]), name="job_state_known"),
            models.CheckConstraint(
                condition=Exact(OneOf("state", _FINAL), IsNull(F("finished_at"), False)),
                name="job_finished_only_final",
            ),
            models.CheckConstraint(
                condition=Exact(OneOf("state", _IN_FLIGHT), IsNull(F("worker_id"), False)),
                name="job_owner_only_in_flight",
            ),
            models.CheckConstraint(
                condition=Q(lease__gt=0) | Q(worker_id__isnull=True), name="job_owner_has_lease"
            ),
            models.CheckConstraint(
                condition=~Q(state=State.RUNNING) | Q(started_at__isnull=False), name="job_running_has_start"
            ),
            models.CheckConstraint(
                condition=Q(pack__isnull=True, slot__isnull=True) | Q(worker_id__isnull=False),
                name="job_pack_only_in_flight",
            ),
            models.CheckConstraint(
                condition=~Q(state=State.FAILED) | ~Q(cause=""),
                name="job_failed_has_cause",
            ),
            models.CheckConstraint(condition=OneOf("cause", list(Cause)), name="job_cause_known"),
            # The hold of such a job has its role's name, and only pending jobs are held.
            models.CheckConstraint(
                condition=~Q(OneOf("role", [Role.ALIAS, Role.SUCCESSOR]))
                | Q(hold=F("role"))
                | Q(finished_at__isnull=False),
                name="job_follower_never_runs",
            ),
            models.CheckConstraint(condition=Q(role="") | ~Q(dedupe_key=""), name="job_role_has_key"),
            models.CheckConstraint(
                condition=GreaterThanOrEqual(
                    Least("lease", "attempt", "failures", "crashes", "losses", F("max_attempts") - 1), 0
                ),
                name="job_counts_sane",
            ),
            models.CheckConstraint(
                condition=Q(cancel_reason="") | Q(cancel_requested_at__isnull=False),
                name="job_cancel_has_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.handler_key.lstrip(':')} {self.id}"
