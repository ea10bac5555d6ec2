"""One verdict at every door: what is no cron expression is refused by the check, the preview, the form of the
command line and the import, quickly, with a correction, and nothing is stored. The admin's form has its own test."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from scheduler import definition
from scheduler.models import Schedule
from scheduler.spec import ScheduleSpec
from tests.database.cli.ran import ran
from tests.pure.timetables.cases import REFUSED

pytestmark = pytest.mark.usefixtures("work")

EXPRESSIONS = [(expression, code) for expression, code, _ in REFUSED]


@pytest.mark.parametrize(("expression", "code"), EXPRESSIONS)
def test_refused_at_every_door(expression: str, code: str, tmp_path: Path) -> None:
    began = time.process_time()
    (fault,) = definition.check(ScheduleSpec(id="s", job="tests.work", cron=expression, misfire="skip"))
    assert time.process_time() - began < 0.1
    assert (fault.field, fault.code) == ("cron", code) and fault.message
    preview = ran("schedules", "preview", "--cron", expression, "--json")
    assert preview.code == 2 and preview.json["error"]["code"] == code
    assert preview.json["error"]["message"] and "suggestion" in preview.json["error"]
    added = ran("schedules", "add", "s", "--job", "tests.work", "--cron", expression, "--misfire", "skip")
    assert added.code == 2 and added.err.startswith("Schedule 's': ") and "Traceback" not in added.err
    crontab = tmp_path / "crontab"
    crontab.write_text(f"{expression} manage.py clearsessions\n5 4 * * * manage.py clearsessions\n")
    imported = ran("schedules", "import", "--crontab", str(crontab), "--misfire", "skip")
    assert imported.code != 0 and "Traceback" not in imported.err
    assert not any(row.trigger_config.get("cron") == expression for row in Schedule.objects.all())
