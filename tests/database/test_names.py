"""Names and texts in any script, of any length: stored whole or refused, the same on both databases."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse

from jobsplatform.kernel.errors import ConfigError, InvalidInput, PlatformError
from jobsplatform.testing.platform import ACTOR, HandPlatform
from tasks import control, queries, submit
from tasks.filters import JobFilter
from tasks.handlers import job
from tasks.models import Job
from tasks.outcomes import Discard, Fail, Pause
from tasks.requests import JobRequest
from tasks.states import State
from tests.database.admin_support import logged_in

NAMES = [
    "Überprüfung nachts",
    "夜間バックアップ",
    "🚀 nightly",
    "نسخ احتياطي",
    'it\'s 100% "fine" %s {x} \\',
    "<img src=x onerror=alert(1)>",
    "'; DROP TABLE tasks_job; --",
    "e\u0301 and \u202e right to left",
]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_stored_run_found_and_shown(jobs: HandPlatform, name: str) -> None:
    @job(name, app_id="shop")
    def handler(text: str) -> str:
        return text

    job_id = jobs.submit(
        handler, {"text": name}, user_id=name, tenant_id=name, dedupe_key=name, concurrency_key=name,
        schedule_id=name, idempotency_key=name,
    )  # fmt: skip
    assert jobs.drain() == 1
    done = jobs.job(job_id)
    assert (done.state, done.result, done.job_type, done.user_id) == (State.COMPLETED, name, name, name)
    for wanted in (
        JobFilter(types=(name,)),
        JobFilter(types=(f"shop:{name}",)),
        JobFilter(user=name),
        JobFilter(tenant_id=name),
        JobFilter(schedule_id=name),
    ):
        assert [row.id for row in queries.page(wanted).jobs] == [job_id]
    out = StringIO()
    call_command("jobs", "list", "--type", f"shop:{name}", "--json", stdout=out, stderr=StringIO())
    assert str(job_id) in out.getvalue()
    page = logged_in("tasks.view_job").get(reverse("admin:tasks_job_changelist")).content.decode()
    assert "<img src=x" not in page


LIMITS = {
    "queue": 100, "user_id": 100, "tenant_id": 100, "dedupe_key": 255, "concurrency_key": 255,
    "idempotency_key": 255, "child_key": 255, "schedule_id": 200,
}  # fmt: skip


@pytest.mark.parametrize("field", LIMITS)
@pytest.mark.parametrize("letter", ["x", "夜", "🚀"])
def test_a_name_up_to_its_length_is_kept_whole_and_a_longer_one_refused(
    jobs: HandPlatform, field: str, letter: str
) -> None:
    @job("nam.plain")
    def plain() -> None: ...

    limit = LIMITS[field]
    job_id = jobs.submit(plain, **{field: letter * limit})
    if field != "idempotency_key":
        assert getattr(jobs.job(job_id), field) == letter * limit
    for length in (limit + 1, 256, 5000):
        with pytest.raises(InvalidInput, match=f"{field}: at most {limit} characters") as caught:
            jobs.submit(plain, **{field: letter * length})
        assert len(caught.value.message) < 200
    assert Job.objects.count() == 1


@pytest.mark.parametrize("field", LIMITS)
@pytest.mark.parametrize("value", ["a\x00b", "a\nb", "\x1b[31m", "\ud800", 5, b"x", ["x"]])
def test_names_that_cannot_be_stored_are_refused(jobs: HandPlatform, field: str, value: Any) -> None:
    @job("nam.plain")
    def plain() -> None: ...

    with pytest.raises(InvalidInput, match=f"{field}: "):
        submit.submit(JobRequest("nam.plain", **{field: value}))
    assert not Job.objects.exists()


@pytest.mark.parametrize("length", [100, 191, 200, 201, 255, 256, 5000])
def test_job_types_have_a_documented_length(jobs: HandPlatform, length: int) -> None:
    name = "夜" * length
    if length <= 200:
        job(name)(lambda: None)
        job_id = submit.enqueue(name).id
        assert job_id is not None and jobs.job(job_id).job_type == name
    else:
        with pytest.raises(ConfigError, match="200"):
            job(name)(lambda: None)


@pytest.mark.parametrize("name", ["", "x" * 100_000, "a\x00b", "\ud800", None, 5, "nam.plian"])
def test_an_unknown_type_is_one_short_line(jobs: HandPlatform, name: Any) -> None:
    @job("nam.plain")
    def plain() -> None: ...

    with pytest.raises(PlatformError) as caught:
        submit.submit(JobRequest(name))
    assert len(caught.value.message) < 600 and "\n" not in caught.value.message
    assert caught.value.message.isprintable()
    assert name != "nam.plian" or "Did you mean 'nam.plain'?" in caught.value.message


TEXTS = ["ab\x00cd", "a\ud800b", "x" * 1_000_000, *NAMES, "line\nline"]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_texts_of_a_run_never_stop_its_end(jobs: HandPlatform, text: str) -> None:
    strange = type("E" + text[:50].replace("\x00", "N") if text.isprintable() else "E", (Exception,), {})

    @job("nam.texts", max_attempts=1)
    def texts(how: str) -> None:
        raise {"fail": Fail(text), "error": strange(text), "discard": Discard(text), "pause": Pause(text)}[
            how
        ]

    ends = {"fail": State.FAILED, "error": State.FAILED, "discard": State.CANCELLED, "pause": State.PAUSED}
    made = {how: jobs.submit(texts, {"how": how}) for how in ends}
    jobs.drain()
    for how, state in ends.items():
        row = jobs.job(made[how])
        assert row.state == state
        said = row.reason if how in ("discard", "pause") else row.error
        assert said.replace("\ufffd", "").startswith(text.replace("\x00", "").replace("\ud800", "")[:100])
        assert len(row.error) <= 10_000 and len(row.reason) <= 200
        assert queries.page(JobFilter(ids=(row.id,))).jobs[0].attempts.count() == 1


@pytest.mark.parametrize("text", ["a\x00b", "x" * 501, "\ud800"])
def test_the_reason_of_a_suspension_is_held_to_the_same_rules(jobs: HandPlatform, text: str) -> None:
    with pytest.raises(InvalidInput, match="reason"):
        control.suspend("all", actor=ACTOR, reason=text)
