"""Work that is done elsewhere, and events that apps tell."""

import pytest

from jobsplatform.kernel.app_events import AppsChanged
from jobsplatform.kernel.models import App, AuditEvent
from jobsplatform.testing.platform import HandPlatform
from tasks.events import AppEventTold, ExternalJobChanged
from tasks.models import AppEvent, ExternalJob
from tests.database.bus.client import BusClient


def test_work_is_shown_changed_and_ended(video: BusClient, jobs: HandPlatform):
    made = video.ok("task_queue.upsert_job", {"job_id": "7", "title": "Encode", "user_id": "u"})["job"]
    assert (made["status"], made["revision"], made["progress"]) == ("running", 1, None)
    moved = video.ok("task_queue.update_progress", {"job_id": "7", "progress": 40.5, "eta_seconds": 9})["job"]
    assert (moved["progress"], moved["eta_seconds"], moved["revision"]) == (40.5, 9.0, 2)
    more = video.ok("task_queue.upsert_job", {"job_id": "7", "message": "half way"})["job"]
    assert (more["title"], more["progress"], more["message"]) == ("Encode", 40.5, "half way")
    ended = video.ok("task_queue.complete_job", {"job_id": "7"})["job"]
    assert (ended["status"], ended["progress"], ended["eta_seconds"]) == ("completed", 100.0, None)
    assert ended["finished_at"] is not None
    row = ExternalJob.objects.get()
    assert [event.user_id for event in jobs.told(ExternalJobChanged)] == ["u"] * 4
    assert {event.external_id for event in jobs.told(ExternalJobChanged)} == {row.pk}
    actions = AuditEvent.objects.filter(target_type="external_job").order_by("id")
    assert list(actions.values_list("action", flat=True)) == ["external.upsert", "external.complete"]


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_what_has_ended_stays_as_it_is(video: BusClient, status):
    video.ok("task_queue.upsert_job", {"job_id": "7", "progress": 90})
    video.ok("task_queue.complete_job", {"job_id": "7", "status": status})
    before = ExternalJob.objects.values().get()
    for method, more in (
        ("update_progress", {"progress": 10}),
        ("upsert_job", {"status": "running"}),
        ("complete_job", {}),
    ):
        video.refused("STATE_CONFLICT", f"task_queue.{method}", {"job_id": "7", **more})
    assert ExternalJob.objects.values().get() == before


def test_progress_of_what_was_never_shown(video: BusClient):
    video.refused("NOT_FOUND", "task_queue.update_progress", {"job_id": "7", "progress": 1})


@pytest.mark.parametrize("progress", [-1, 101, "half", 1e308, True, None, [], "x" * 1_000_000])
def test_silly_progress_is_refused_and_changes_nothing(video: BusClient, progress):
    video.ok("task_queue.upsert_job", {"job_id": "7", "progress": 5})
    before = ExternalJob.objects.values().get()
    video.refused("INVALID", "task_queue.update_progress", {"job_id": "7", "progress": progress})
    assert ExternalJob.objects.values().get() == before


def test_a_number_that_is_none_is_no_json(video: BusClient):
    video.refused("MALFORMED_JSON", "task_queue.update_progress", b'{"job_id": "7", "progress": NaN}')
    video.refused("INVALID", "task_queue.update_progress", b'{"job_id": "7", "progress": 1e999}')


def test_it_is_forgotten_after_its_time(video: BusClient, jobs: HandPlatform):
    video.ok("task_queue.upsert_job", {"job_id": "old"})
    jobs.advance(6 * 86_400)
    video.ok("task_queue.upsert_job", {"job_id": "new"})
    video.ok("events.emit", {"user_id": "1", "kind": "k"})
    jobs.advance(86_400 + 1)
    jobs.prune()
    assert list(ExternalJob.objects.values_list("job_id", flat=True)) == ["new"]
    assert not AppEvent.objects.exists()


def test_an_event_is_kept_told_and_recorded_without_its_payload(video: BusClient, jobs: HandPlatform):
    sent = {"user_id": "u", "kind": "scanned", "scope": "/films", "payload": {"private": [1, None, "ü"]}}
    made = video.ok("events.emit", sent)
    row = AppEvent.objects.get()
    assert (str(row.pk), row.app_id, row.payload) == (made["id"], "video", sent["payload"])
    (told,) = jobs.told(AppEventTold)
    assert (told.event_id, told.app_id, told.user_id, told.kind) == (row.pk, "video", "u", "scanned")
    event = AuditEvent.objects.get(action="event.emit")
    assert "private" not in str(event.after)


def test_an_event_that_cannot_be_stored(video: BusClient):
    video.refused("TOO_LARGE", "events.emit", {"user_id": "1", "kind": "k", "payload": "x" * 300_000})
    video.refused("PARAMS_INVALID", "events.emit", {"user_id": "1", "kind": "k", "payload": "\x00"})
    video.refused("INVALID", "events.emit", {"user_id": "", "kind": "k"})
    assert not AppEvent.objects.exists()


def test_changes_of_an_app_are_told_and_that_it_was_seen_is_none(jobs: HandPlatform, bus_client, scan):
    video = bus_client("video")
    video.ok("jobs.query")
    assert [event.app_id for event in jobs.told(AppsChanged)] == ["video"]
    app = App.objects.get()
    app.title = "Video"
    app.save()
    app.delete()
    assert len(jobs.told(AppsChanged)) == 3
