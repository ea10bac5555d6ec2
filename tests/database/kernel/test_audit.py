"""The audit trail only grows."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from jobsplatform.kernel import audit, context, processes, retention
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.locks import DatabaseLocks
from jobsplatform.kernel.models import AuditEvent, AuditIsAppendOnly, NamedLock, Process

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANN = Actor("ann", "user", ip="10.0.0.9")


def event(days_ago: int = 0) -> AuditEvent:
    return audit.record("job.cancel", "job", 7, actor=ANN, at=NOW - timedelta(days=days_ago))


def test_an_event_says_who_did_what_to_what() -> None:
    with context.bind(request_id="r1", tenant_id="t1"):
        audit.record("job.cancel", "job", 7, actor=ANN, before={"state": "running"}, after=None, at=NOW)
    row = AuditEvent.objects.get()
    assert (row.actor, row.actor_kind, row.ip, row.at) == ("ann", "user", "10.0.0.9", NOW)
    assert (row.action, row.target_type, row.target_id) == ("job.cancel", "job", "7")
    assert (row.before, row.after, row.outcome, row.error) == ({"state": "running"}, None, "ok", "")
    assert (row.request_id, row.tenant_id) == ("r1", "t1")


def test_an_error_is_an_outcome() -> None:
    row = audit.record("app.edit", "app", "video", actor=Actor.system("sync"), error="no\x00such app" * 900)
    row.refresh_from_db()
    assert (row.outcome, row.actor_kind) == ("error", "system")
    assert len(row.error) == audit.ERROR_LIMIT
    assert "\x00" not in row.error


def test_the_bus_names_its_app() -> None:
    assert audit.record("job.create", "job", 1, actor=Actor("token", "bus", app_id="video")).app_id == "video"


def test_it_falls_with_the_change_that_it_records() -> None:
    with pytest.raises(KeyError), transaction.atomic():
        event()
        raise KeyError
    assert AuditEvent.objects.count() == 0


def test_no_event_can_be_changed_or_removed() -> None:
    row = event()
    row.actor = "bob"
    again = AuditEvent.objects.get()
    for attempt in (
        row.save,
        again.save,
        row.delete,
        lambda: AuditEvent.objects.update(actor="bob"),
        lambda: AuditEvent.objects.filter(pk=row.pk).delete(),
        lambda: AuditEvent.objects.all().delete(),
        lambda: AuditEvent.objects.bulk_update([row], ["actor"]),
    ):
        with pytest.raises(AuditIsAppendOnly), transaction.atomic():
            attempt()
    assert AuditEvent.objects.get().actor == "ann"


def test_only_the_purge_removes_old_ones_in_batches() -> None:
    for days in (400, 399, 398, 10):
        event(days)
    assert audit.purge(NOW - timedelta(days=365), 2) == 2
    assert audit.purge(NOW - timedelta(days=365), 2) == 1
    assert audit.purge(NOW - timedelta(days=365), 2) == 0
    assert [row.at for row in AuditEvent.objects.all()] == [NOW - timedelta(days=10)]


def test_one_round_of_retention_covers_the_kernel() -> None:
    event(366)
    event(1)
    ended = processes.register("cli", name="c", now=NOW - timedelta(days=3))
    processes.stop(ended.pk, NOW - timedelta(days=2))
    NamedLock.objects.create(name="old", expires_at=NOW - timedelta(days=2), fence=1)
    NamedLock.objects.create(name="new", expires_at=NOW, fence=1)
    assert retention.prune(NOW) == 3
    assert AuditEvent.objects.count() == 1
    assert Process.objects.count() == 0
    assert [row.pk for row in NamedLock.objects.all()] == ["new"]
    assert DatabaseLocks().prune(NOW) == 0
