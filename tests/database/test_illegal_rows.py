"""The database itself refuses illegal rows, written by raw SQL; legal ones of every state it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, connection, models, transaction

from jobsplatform.kernel.ids import uuid7
from jobsplatform.testing import START
from tasks.models import IdempotencyKey, Job, JobAttempt, Suspension
from tasks.states import ACTIVE, FINAL, IN_FLIGHT, CancelReason, Cause, Hold, Role, State

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("frozen_clock")]

MakeJob = Callable[..., Job]
SOMEBODY = UUID(int=3)


def raw(value: Any) -> Any:
    """A Python value as this database's driver takes it without the ORM."""
    if isinstance(value, UUID):
        return value if connection.vendor == "postgresql" else value.hex
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value.astimezone(UTC))
    return str(value) if isinstance(value, str) else value


def write(table: str, row_id: Any, columns: Mapping[str, Any]) -> None:
    """UPDATE one row, without the ORM."""
    names = ", ".join(f"{name} = %s" for name in columns)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET {names} WHERE id = %s", [*map(raw, columns.values()), raw(row_id)]
        )
        assert cursor.rowcount == 1


def copy(row: models.Model, **columns: Any) -> None:
    """INSERT a row once more, with some columns changed, without the ORM."""
    fields = [f for f in row._meta.concrete_fields if f.column != "id" or "id" in columns]
    values = [
        raw(columns[f.column])
        if f.column in columns
        else f.get_db_prep_save(getattr(row, f.attname), connection)
        for f in fields
    ]
    names, marks = ", ".join(f.column for f in fields), ", ".join(["%s"] * len(fields))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {row._meta.db_table} ({names}) VALUES ({marks})", values)


# name of the constraint: the state it starts from, what that row has, what is written
Case = tuple[State, dict[str, Any], dict[str, Any]]
P, D, R, W, Z = State.PENDING, State.DISPATCHED, State.RUNNING, State.WAITING, State.PAUSED
C, F, X = State.COMPLETED, State.FAILED, State.CANCELLED
CHECKS: dict[str, list[Case]] = {
    "job_hold_known": [(P, {}, {"hold": "maybe"})],
    "job_hold_only_pending": [(state, {}, {"hold": "key"}) for state in State if state is not P],
    "job_state_known": [
        *[(P, {}, {"state": none}) for none in ("lost", "", "PENDING")],
        *[(C, {}, {"state": none, "finished_at": None}) for none in ("lost", "", "COMPLETED")],
    ],
    "job_finished_only_final": [
        *[(state, {}, {"finished_at": START}) for state in sorted(ACTIVE)],
        *[(state, {}, {"finished_at": None}) for state in sorted(FINAL)],
        (P, {}, {"state": "completed"}),
        (C, {}, {"state": "pending"}),
    ],
    "job_owner_has_lease": [(state, {}, {"lease": 0}) for state in sorted(IN_FLIGHT)],
    "job_owner_only_in_flight": [
        *[(state, {"lease": 1}, {"worker_id": SOMEBODY}) for state in State if state not in IN_FLIGHT],
        *[(state, {}, {"worker_id": None}) for state in sorted(IN_FLIGHT)],
        (P, {}, {"state": "dispatched"}),
        (R, {}, {"state": "waiting"}),
    ],
    "job_pack_only_in_flight": [(state, {}, {"pack": SOMEBODY}) for state in State if state not in IN_FLIGHT],
    "job_running_has_start": [(R, {}, {"started_at": None}), (D, {}, {"state": "running"})],
    "job_failed_has_cause": [(F, {}, {"cause": ""}), (C, {}, {"state": "failed"})],
    "job_cause_known": [(P, {}, {"cause": "weather"})],
    "job_follower_never_runs": [
        *[(state, {"dedupe_key": "k"}, {"role": "alias"}) for state in sorted(ACTIVE)],
        (P, {"dedupe_key": "k", "role": Role.ALIAS, "hold": Hold.ALIAS}, {"hold": ""}),
        (P, {"dedupe_key": "k", "role": Role.ALIAS, "hold": Hold.ALIAS}, {"hold": "key"}),
        (P, {"dedupe_key": "k", "role": Role.ALIAS, "hold": Hold.ALIAS}, {"hold": "successor"}),
        *[(state, {"dedupe_key": "k"}, {"role": "successor"}) for state in sorted(ACTIVE)],
        (P, {"dedupe_key": "k", "role": Role.SUCCESSOR, "hold": Hold.SUCCESSOR}, {"hold": "later"}),
    ],
    "job_role_has_key": [(C, {}, {"role": role}) for role in ("leader", "alias", "successor")],
    "job_counts_sane": [
        *[(P, {}, {name: -1}) for name in ("lease", "attempt", "failures", "crashes", "losses")],
        (P, {}, {"max_attempts": 0}),
    ],
    "job_cancel_has_time": [(R, {}, {"cancel_reason": "user"}), (X, {}, {"cancel_reason": "user"})],
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_refuses_what_is_illegal(make_job: MakeJob, name: str) -> None:
    for state, had, written in CHECKS[name]:
        job = make_job(state, **had)
        before = Job.objects.filter(id=job.id).values().get()
        with pytest.raises(IntegrityError, match=name):
            write("tasks_job", job.id, written)
        assert Job.objects.filter(id=job.id).values().get() == before
        job.delete()


def test_an_illegal_row_cannot_be_inserted_either(make_job: MakeJob) -> None:
    job = make_job()
    with pytest.raises(IntegrityError, match="job_finished_only_final"):
        copy(job, id=uuid7(), state="completed")
    assert Job.objects.count() == 1


# -- one of a kind -----------------------------------------------------------------------------------


def refused(row: models.Model, name: str, **columns: Any) -> None:
    """A second row like ``row`` is refused, by the constraint of that name."""
    count = type(row)._default_manager.count()
    with pytest.raises(IntegrityError) as caught:
        copy(row, **columns)
    text = str(caught.value)
    # SQLite names the columns of a unique index, or the index when it is over expressions.
    constraint = next(c for c in row._meta.constraints if c.name == name)
    fields = getattr(constraint, "fields", ())
    columns_told = all(row._meta.get_field(f).column in text for f in fields) and fields
    assert name in text or columns_told, text
    assert type(row)._default_manager.count() == count


@pytest.mark.parametrize("part", [Role.LEADER, Role.SUCCESSOR])
def test_one_leader_and_one_successor_a_key(make_job: MakeJob, part: Role) -> None:
    name = "job_one_leader" if part is Role.LEADER else "job_one_successor"
    hold = Hold.SUCCESSOR if part is Role.SUCCESSOR else Hold.NONE
    first = make_job(dedupe_key="k", role=part, hold=hold, tenant_id="t", app_id="a")
    refused(first, name, id=uuid7())
    for other in ({"tenant_id": "u"}, {"app_id": "b"}, {"job_type": "other"}, {"dedupe_key": "l"}):
        copy(first, id=uuid7(), **other)
    copy(make_job(State.CANCELLED, dedupe_key="k", role=part, tenant_id="t", app_id="a"), id=uuid7())


@pytest.mark.parametrize("state", sorted(ACTIVE))
def test_a_leader_leads_in_every_active_state(make_job: MakeJob, state: State) -> None:
    refused(make_job(state, dedupe_key="k"), "job_one_leader", id=uuid7())


def test_aliases_are_many(make_job: MakeJob) -> None:
    make_job(dedupe_key="k")
    alias = make_job(dedupe_key="k", role=Role.ALIAS, hold=Hold.ALIAS)
    copy(alias, id=uuid7())
    assert Job.objects.filter(role=Role.ALIAS).count() == 2


@pytest.mark.parametrize("state", sorted(IN_FLIGHT))
def test_an_exclusive_type_is_in_flight_once(make_job: MakeJob, state: State) -> None:
    first = make_job(state, exclusive=True)
    refused(first, "job_exclusive", id=uuid7())
    refused(make_job(State.DISPATCHED, job_type="x", exclusive=True), "job_exclusive", id=uuid7())
    for waiting in (State.PENDING, State.WAITING, State.PAUSED, State.COMPLETED):
        copy(make_job(waiting, exclusive=True), id=uuid7())


def test_a_parent_has_one_child_a_key(make_job: MakeJob) -> None:
    parent = make_job(State.WAITING)
    child = make_job(parent=parent, child_key="a")
    refused(child, "job_one_child", id=uuid7())
    refused(make_job(State.COMPLETED, parent=parent, child_key="b"), "job_one_child", id=uuid7())
    copy(child, id=uuid7(), child_key="c")
    copy(child, id=uuid7(), parent_id=make_job(State.WAITING).id)


def test_one_attempt_a_lease(make_job: MakeJob) -> None:
    row = JobAttempt.objects.create(
        job=make_job(), lease=1, number=1, outcome="complete", started_at=START, finished_at=START
    )
    refused(row, "attempt_one_per_lease")
    copy(row, lease=2)


def test_an_idempotency_key_is_used_once(make_job: MakeJob) -> None:
    row = IdempotencyKey.objects.create(
        tenant_id="t",
        app_id="a",
        key="k",
        job_id=make_job().id,
        fingerprint="f",
        created_at=START,
        expires_at=START + timedelta(days=1),
    )
    refused(row, "idempotency_key_once")
    copy(row, tenant_id="u")


def test_one_open_suspension_a_target() -> None:
    row = Suspension.objects.create(scope="queue", target="q", author="a", created_at=START)
    refused(row, "suspension_one_open")
    copy(row, target="r")
    copy(row, lifted_at=START)
    for scope, target in (("all", "q"), ("queue", ""), ("type", "")):
        with pytest.raises(IntegrityError, match="suspension_target"):
            write("tasks_suspension", row.id, {"scope": scope, "target": target})


def test_every_constraint_has_its_case() -> None:
    told = {
        *CHECKS,
        "job_one_leader",
        "job_one_successor",
        "job_exclusive",
        "job_one_child",
        "attempt_one_per_lease",
        "idempotency_key_once",
        "suspension_one_open",
        "suspension_target",
    }
    tables = (Job, JobAttempt, IdempotencyKey, Suspension)
    assert told == {c.name for table in tables for c in table._meta.constraints}


# -- what is legal is taken --------------------------------------------------------------------------


def test_a_legal_row_of_every_state_is_taken(make_job: MakeJob) -> None:
    for state in State:
        job = make_job(state)
        copy(job, id=uuid7())
        make_job(state, dedupe_key=f"k {state}", concurrency_key="c", parent=job, child_key="a")
        make_job(state, cancel_reason=CancelReason.USER, cancel_requested_at=START)
    assert Job.objects.count() == 4 * len(State)


def test_a_row_of_every_hold_and_cause_is_taken(make_job: MakeJob) -> None:
    for hold in Hold:
        make_job(hold=hold)
    for cause in Cause:
        make_job(State.FAILED if cause else State.COMPLETED, cause=cause)
    assert Job.objects.count() == len(Hold) + len(Cause)
