"""`schedules import --crontab`."""

import io
import json
from pathlib import Path

import pytest

from jobsplatform.testing.platform import HandPlatform
from scheduler.models import Schedule
from tests.database.cli.ran import Ran, ran
from tests.database.scheduler.tools import at, fired, turn

pytestmark = pytest.mark.usefixtures("work")

CRONTAB = """\
# The reports
MAILTO=ops@example.org
CRON_TZ=Europe/Berlin
30 2 * * *  cd /srv/app && .venv/bin/python manage.py clearsessions --verbosity 0 >> /var/log/x.log 2>&1
@daily      /usr/local/bin/report --all
0 25 * * *  manage.py clearsessions
@reboot     manage.py clearsessions
0 3 * * *   manage.py migrate
0 3 * * *   manage.py clearsessoins
0 4 * * *   date | mail root
0 5 * * *   /usr/local/bin/report %hello
broken
"""


@pytest.fixture
def crontab(tmp_path: Path) -> Path:
    path = tmp_path / "crontab"
    path.write_text(CRONTAB)
    return path


def imported(path: object, *argv: str) -> Ran:
    return ran("schedules", "import", "--crontab", str(path), *argv)


def test_each_line_is_taken_or_told_why_not(jobs: HandPlatform, crontab: Path) -> None:
    answer = imported(crontab, "--map", "/usr/local/bin/report --*=tests.work", "--json")
    assert answer.code == 2
    told = answer.json
    assert [(row["place"], row["verdict"], row["rule"]) for row in told["schedules"]] == [
        ("line 4", "created", "30 2 * * *"),
        ("line 5", "created", "0 0 * * *"),
    ]
    reasons = {row["place"]: row["reason"] for row in told["refused"]}
    assert list(reasons) == [f"line {number}" for number in range(6, 13)]
    for place, words in {
        "line 6": "0 and 23",
        "line 7": "@reboot",
        "line 8": "TASKS__ALLOWED_COMMANDS",
        "line 9": "Did you mean 'clearsessions'?",
        "line 10": "needs a shell",
        "line 11": "input",
        "line 12": "five fields",
    }.items():
        assert words in reasons[place], reasons[place]
    rows = {row.job_type: row for row in Schedule.objects.all()}
    assert set(rows) == {"system.command", "tests.work"}
    row = rows["system.command"]
    assert row.params == {"command": "clearsessions", "arguments": ["--verbosity", "0"]}
    assert (row.timezone, row.misfire, row.source) == ("Europe/Berlin", "skip", "admin")


def test_a_dry_run_tells_the_same_and_stores_nothing(jobs: HandPlatform, crontab: Path) -> None:
    dry = imported(crontab, "--dry-run", "--json").json
    assert not Schedule.objects.exists()
    wet = imported(crontab, "--json").json
    assert (dry.pop("dry_run"), wet.pop("dry_run")) == (True, False)
    assert dry == wet


def test_again_makes_no_second_one(jobs: HandPlatform, crontab: Path) -> None:
    first = imported(crontab, "--json").json
    again = imported(crontab, "--json").json
    assert [row["verdict"] for row in again["schedules"]] == ["unchanged"]
    assert again["schedules"][0]["schedule_id"] == first["schedules"][0]["schedule_id"]
    assert Schedule.objects.count() == 1


def test_a_changed_line_is_told_and_updated_on_demand(jobs: HandPlatform, crontab: Path) -> None:
    imported(crontab)
    crontab.write_text(CRONTAB.replace("30 2 * * *", "45 2 * * *"))
    (row,) = imported(crontab, "--json").json["schedules"]
    assert (row["verdict"], row["difference"]) == ("differs", ["trigger_config"])
    assert "--update" in imported(crontab).err
    assert Schedule.objects.get().trigger_config == {"cron": "30 2 * * *"}
    (row,) = imported(crontab, "--update", "--json").json["schedules"]
    assert row["verdict"] == "updated"
    assert Schedule.objects.get().trigger_config == {"cron": "45 2 * * *"}


def test_one_command_at_two_times_is_two_schedules(jobs: HandPlatform, tmp_path: Path) -> None:
    path = tmp_path / "crontab"
    path.write_text("0 1 * * * manage.py clearsessions\n0 13 * * * manage.py clearsessions\n")
    assert imported(path).code == 0
    first, second = Schedule.objects.order_by("id")
    assert second.id == f"{first.id}-2"
    assert imported(path, "--json").json["counts"]["unchanged"] == 2


def test_what_was_imported_runs(jobs: HandPlatform, tmp_path: Path) -> None:
    path = tmp_path / "crontab"
    path.write_text("30 12 13 * 4 report\n")
    assert imported(path, "--map", "report=tests.work").code == 0
    # 1 January 2026 is a Thursday: either day field matches, as in cron.
    turn(jobs, at(12, 30, 1))
    assert fired(Schedule.objects.get().id) == ["12:30:00"]


def test_a_system_crontab(jobs: HandPlatform, tmp_path: Path) -> None:
    path = tmp_path / "crontab"
    path.write_text("0 1 * * *\troot\tmanage.py clearsessions\n@daily root report now\n")
    for argv in (["--format", "system"], []):
        told = imported(path, *argv, "--map", "report now=tests.work", "--dry-run", "--json").json
        assert [row["job_type"] for row in told["schedules"]] == ["system.command", "tests.work"]
        assert "ran as root" in told["schedules"][0]["remarks"][0]
    assert imported(path, "--format", "user", "--dry-run", "--json").json["counts"]["refused"] == 2


def test_a_map_in_a_file_gives_params_and_ids(jobs: HandPlatform, tmp_path: Path) -> None:
    path, mapping = tmp_path / "crontab", tmp_path / "map.json"
    path.write_text("0 1 * * * report --all\n")
    mapping.write_text(
        json.dumps({"report *": {"job": "tests.work", "params": {"hours": 5}, "id": "report"}})
    )
    assert imported(path, "--map", f"@{mapping}").code == 0
    row = Schedule.objects.get()
    assert (row.id, row.job_type, row.params) == ("report", "tests.work", {"hours": 5})


def test_params_that_do_not_fit_are_a_refused_line(jobs: HandPlatform, tmp_path: Path) -> None:
    path, mapping = tmp_path / "crontab", tmp_path / "map.json"
    path.write_text("0 1 * * * report\n0 2 * * * manage.py clearsessions\n")
    mapping.write_text(json.dumps({"report": {"job": "tests.work", "params": {"huors": 5}}}))
    told = imported(path, "--map", f"@{mapping}", "--json").json
    assert "hours" in told["refused"][0]["reason"]
    assert Schedule.objects.get().job_type == "system.command"


def test_the_zone_of_a_tz_line_is_asked_for(jobs: HandPlatform, tmp_path: Path) -> None:
    path = tmp_path / "crontab"
    path.write_text("TZ=Asia/Tokyo\n0 1 * * * manage.py clearsessions\n")
    assert "--timezone Asia/Tokyo" in imported(path).err
    assert not Schedule.objects.exists()
    assert imported(path, "--timezone", "Asia/Tokyo").code == 0
    assert Schedule.objects.get().timezone == "Asia/Tokyo"


def test_standard_input(jobs: HandPlatform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"0 1 * * * manage.py clearsessions\n")))
    assert imported("-").code == 0
    assert Schedule.objects.count() == 1


def test_an_empty_crontab_is_nothing_to_import(jobs: HandPlatform, tmp_path: Path) -> None:
    path = tmp_path / "crontab"
    path.write_text("# nothing\n")
    answer = imported(path)
    assert (answer.code, answer.out) == (0, "")
    assert "Nothing to import" in answer.err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "--crontab FILE"),
        (["--crontab", "/no/such"], "cannot be read"),
        (["--crontab", "/tmp"], "cannot be read"),
        (["--crontab", "{path}", "--django-celery-beat"], "exclude each other"),
        (["--crontab", "{path}", "--take-over"], "does not go with --crontab"),
        (["--django-celery-beat", "--format", "user"], "does not go with --django-celery-beat"),
        (["--crontab", "{path}", "--map", "report"], "Expected 'NAME=[APP:]TYPE'"),
        (["--crontab", "{path}", "--map", "report=tests.wrok"], "Did you mean 'tests.work'?"),
        (["--crontab", "{path}", "--map", "@/no/such"], "cannot be read"),
        (["--crontab", "{path}", "--map", "@{path}"], "no JSON"),
        (["--crontab", "{path}", "--map", "a=tests.work", "--map", "a=tests.work"], "mapped twice"),
        (["--crontab", "{path}", "--timezone", "Mars/Base"], "no time zone"),
        (["--crontab", "{path}", "--misfire", "skpi"], "Did you mean 'skip'?"),
        (["--crontab", "{path}", "--format", "sytem"], "Did you mean 'system'?"),
    ],
)
def test_what_people_get_wrong(jobs: HandPlatform, crontab: Path, argv: list[str], words: str) -> None:
    answer = ran("schedules", "import", *[word.format(path=crontab) for word in argv])
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err
    assert not Schedule.objects.exists()


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"0 1 * * * a\0b\n", b"#" * (2**20 + 1)])
def test_what_is_no_crontab(jobs: HandPlatform, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "crontab"
    path.write_bytes(content)
    assert imported(path).code == 2
