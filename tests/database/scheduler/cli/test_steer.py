"""`schedules pause`, `resume`, `run`, `skip`, `unskip` and `backfill`."""

import pytest

from jobsplatform.kernel.models import AuditEvent
from jobsplatform.testing.platform import HandPlatform
from scheduler import backfill
from scheduler.models import Backfill, Pause
from tasks.models import Job
from tests.database.cli.ran import ran
from tests.database.scheduler.tools import at, create, decided, turn

pytestmark = pytest.mark.usefixtures("work")


def test_paused_and_resumed(jobs: HandPlatform) -> None:
    create("a")
    create("b")
    told = ran("schedules", "pause", "a", "b", "--reason", "disk full", "--expires", "+1h", "--json").json
    assert [(row["target"], row["reason"], row["expires_at"]) for row in told["pauses"]] == [
        ("a", "disk full", "2026-01-01T13:00:00Z"),
        ("b", "disk full", "2026-01-01T13:00:00Z"),
    ]
    turn(jobs, at(12, 2, 1))
    assert decided("a") == []
    assert ran("schedules", "resume", "a").out == "Resumed: a.\n"
    turn(jobs, at(12, 3, 1))
    assert [row[1] for row in decided("a")] == ["paused", "fired"]
    assert AuditEvent.objects.filter(action="schedule.resume").count() == 1


@pytest.mark.parametrize(
    ("argv", "scope", "target"), [(["--all"], "all", ""), (["--tenant", "acme"], "tenant", "acme")]
)
def test_everything_or_a_tenant(jobs: HandPlatform, argv: list[str], scope: str, target: str) -> None:
    create("a", tenants=["acme"])
    made = ran("schedules", "pause", *argv, "--resume-rule", "misfire", "--json")
    assert made.code == 0, made.err
    row = Pause.objects.get()
    assert (row.scope, row.target, row.resume_rule) == (scope, target, "misfire")
    assert ran("schedules", "resume", *argv).code == 0
    row.refresh_from_db()
    assert row.lifted_at is not None


def test_what_still_lies_still_is_told(jobs: HandPlatform) -> None:
    create("a")
    ran("schedules", "pause", "a")
    ran("schedules", "pause", "--all", "--reason", "moving house")
    assert "moving house" in ran("schedules", "resume", "a").err


def test_one_wrong_id_pauses_none(jobs: HandPlatform) -> None:
    create("nightly")
    answer = ran("schedules", "pause", "nightly", "nigthly")
    assert answer.code == 2
    assert "Did you mean 'nightly'?" in answer.err
    assert not Pause.objects.exists()


def test_run_prints_the_job_and_takes_params(jobs: HandPlatform) -> None:
    create("a", params={"hours": 2, "note": "n"})
    ran("schedules", "pause", "a")
    answer = ran("schedules", "run", "a", "--param", "hours=7", "--key", "k")
    made = Job.objects.get()
    assert answer.out == f"{made.id}\n"
    assert made.params == {"hours": 7, "note": "n"}
    again = ran("schedules", "run", "a", "--param", "hours=7", "--key", "k")
    assert (again.out, Job.objects.count()) == (answer.out, 1)
    assert "decided before" in again.err


def test_run_of_a_slot_is_that_slots_decision(jobs: HandPlatform) -> None:
    create("a", cron="0 * * * *", timezone="Asia/Tokyo")
    told = ran("schedules", "run", "a", "--planned-at", "2026-01-01T22:00", "--json").json
    assert (told["ok"], told["status"], told["planned_at"]) == (True, "fired", "2026-01-01T13:00:00Z")
    assert set(told) == {
        "ok", "schedule_id", "tenant_id", "task_id", "task_type", "status", "planned_at", "triggered_at",
        "replayed", "reason", "error",
    }  # fmt: skip
    assert (
        ran("schedules", "run", "a", "--planned-at", "2026-01-01T13:00:00Z", "--json").json["replayed"]
        is True
    )
    assert ran("schedules", "run", "a", "--planned-at", "2026-01-01T13:30:00Z").code == 2


def test_run_for_a_tenant(jobs: HandPlatform) -> None:
    create("a", tenants=["acme", "globex"])
    assert ran("schedules", "run", "a", "--tenant", "acme").code == 0
    assert Job.objects.get().tenant_id == "acme"
    assert "Did you mean 'acme'?" in ran("schedules", "run", "a", "--tenant", "acne").err
    assert ran("schedules", "run", "a").code == 2


def test_skip_and_unskip(jobs: HandPlatform) -> None:
    create("a")
    assert "12:01:00" in ran("schedules", "skip", "a").out
    told = ran("schedules", "skip", "a", "--planned-at", "2026-01-01T12:03:00Z", "--json").json
    assert told == {"schedule_id": "a", "tenant_id": "", "planned_at": "2026-01-01T12:03:00Z"}
    assert "12:01:00" in ran("schedules", "unskip", "a", "--planned-at", "2026-01-01T12:01").out
    turn(jobs, at(12, 3, 1))
    assert [(row[0], row[1]) for row in decided("a")] == [
        ("12:01:00", "fired"),
        ("12:02:00", "fired"),
        ("12:03:00", "skipped"),
    ]


def test_a_backfill_is_looked_at_started_listed_and_cancelled(jobs: HandPlatform) -> None:
    create("a", cron="0 * * * *")
    span = ["a", "--after", "2025-12-31T20:00Z", "--until", "2026-01-01T00:00Z"]
    look = ran("schedules", "backfill", *span, "--dry-run", "--json").json
    assert (look["total"], [slot["run"] for slot in look["slots"]]) == (4, [True] * 4)
    assert not Backfill.objects.exists()
    assert "4 would run" in ran("schedules", "backfill", *span, "--dry-run").err
    assert "say --yes" in ran("schedules", "backfill", *span).err
    made = ran("schedules", "backfill", *span, "--concurrency", "2", "--yes")
    row = Backfill.objects.get()
    assert (made.out, row.mode, row.concurrency, row.total) == (f"{row.id}\n", "missing", 2, 4)
    backfill.step(jobs.clock.now())
    (listed,) = ran("schedules", "backfill", "--list", "--json").json["backfills"]
    assert (listed["id"], listed["submitted"], listed["running"]) == (str(row.id), 2, 2)
    assert "running" in ran("schedules", "backfill", "--list", "a").out
    assert ran("schedules", "backfill", "--cancel", str(row.id), "--json").json["state"] == "cancelled"
    assert "had ended" in ran("schedules", "backfill", "--cancel", str(row.id)).out


WRONG = [
    (["pause"], "Say which"),
    (["pause", "a", "--all"], "Say which"),
    (["pause", "a", "--expires", "2020-01-01"], "not in the future"),
    (["pause", "a", "--resume-rule", "drpo"], "Did you mean 'drop'?"),
    (["resume", "a"], "not paused"),
    (["resume", "b"], "Unknown schedule"),
    (["run", "b"], "Unknown schedule"),
    (["run", "a", "--tenant", "acme"], "leave --tenant out"),
    (["run", "a", "--param", "huors=1"], "Did you mean 'hours'?"),
    (["run", "a", "--param", "hours=x"], "Expected an integer"),
    (["run", "a", "--timeout", "5m"], "goes with --wait"),
    (["run", "a", "--key", "k", "--planned-at", "2026-01-01T13:00Z"], "exclude each other"),
    (["skip", "a", "--planned-at", "2026-01-01T12:00:30Z"], "slot"),
    (["unskip", "a"], "no slot"),
    (["next", "a", "-n", "0"], "from 1 to"),
    (["next", "b"], "Unknown schedule"),
    (["show", "b"], "Unknown schedule"),
    (["why", "a", "soon"], "is no time"),
    (["why", "b", "now"], "Unknown schedule"),
    (["backfill"], "Say which schedule"),
    (["backfill", "a"], "Say which schedule"),
    (["backfill", "a", "--after", "2027-01-01"], "not after"),
    (["backfill", "a", "--after", "2025-01-01", "--mode", "misisng"], "Did you mean 'missing'?"),
    (["backfill", "--cancel", "42"], "42"),
    (["backfill", "--list", "--mode", "all"], "does not go with"),
    (["add", "a", "--job", "tests.work", "--cron", "@daily", "--misfire", "skip"], "already"),
    (
        ["add", "c", "--job", "tests.wrok", "--cron", "@daily", "--misfire", "skip"],
        "Did you mean 'tests.work'?",
    ),
    (["add", "c", "--job", "tests.work", "--cron", "@daily"], "run_once"),
    (["add", "c", "--job", "tests.work", "--misfire", "skip"], "exactly one"),
    (["add", "c", "--job", "tests.work", "--cron", "@daily", "--misfire", "skpi"], "skip"),
    (
        ["add", "c", "--job", "tests.work", "--cron", "@daily", "--misfire", "skip", "--overlap", "x"],
        "buffer_one",
    ),
    (["add", "c", "--job", "tests.work", "--cron", "@daily", "--misfire", "skip", "-p", "huors=1"], "hours"),
    (["edit", "a"], "Nothing to change"),
    (["edit", "a", "--unset", "overlpa"], "Did you mean 'overlap'?"),
    (["edit", "a", "--cron", "0 25 * * *"], "0 and 23"),
    (["archive", "b"], "Unknown schedule"),
    (["list", "--type", "tests.wrok"], "Did you mean 'tests.work'?"),
    (["lst"], "Did you mean 'list'?"),
]


@pytest.mark.parametrize(
    ("argv", "words"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_what_people_get_wrong_is_one_line_that_helps(
    jobs: HandPlatform, argv: list[str], words: str
) -> None:
    create("a")
    answer = ran("schedules", *argv)
    assert (answer.code, answer.out) == (2, "")
    assert len(answer.err.splitlines()) == 1
    assert words in answer.err
    assert not (Pause.objects.exists() or Backfill.objects.exists() or Job.objects.exists())
