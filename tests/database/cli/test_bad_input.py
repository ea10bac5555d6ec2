"""What people get wrong: one line that helps, exit code 2, nothing changed, never a traceback."""

import logging
import os
import sys
from uuid import UUID

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from jobsplatform.testing.factory import make_job
from tasks.models import Job, Suspension
from tests.database.cli.ran import from_shell, ran

WRONG = [
    # (arguments, what the one line must hold)
    (["jobs"], "required: subcommand"),
    (["jobs", "lst"], "Did you mean 'list'?"),
    (["jobs", "list", "--stat", "failed"], "Did you mean '--state'?"),
    (["jobs", "list", "--state", "fialed"], "Did you mean 'failed'?"),
    (["jobs", "list", "--type", "cli.ading"], "Did you mean 'cli.adding'?"),
    (["jobs", "list", "--app", "vidoe"], "Did you mean 'video'?"),
    (["jobs", "list", "--queue", "defualt"], "Did you mean 'default'?"),
    (["jobs", "list", "--priority", "urgnt"], "Did you mean 'urgent'?"),
    (["jobs", "list", "--priority", "10000"], "0 to 9999"),
    (["jobs", "list", "--created-after", "yesterday-ish"], "Expected e.g. 2026-01-31T12:00"),
    (["jobs", "list", "--created-after", "3 houres"], "Did you mean 'hours'?"),
    (["jobs", "list", "--limit", "0"], "from 1 to 10000"),
    (["jobs", "list", "--limit", "ten"], "from 1 to 10000"),
    (["jobs", "list", "--after", "42"], "not a job id"),
    (["jobs", "list", "--parent", "42"], "no job id"),
    (["jobs", "list", "--data", "step"], "Expected KEY=VALUE"),
    (["jobs", "list", "--data", "a__b=1"], "without '__'"),
    (["jobs", "list", "--user", "x" * 5000], "at most 255"),
    (["jobs", "list", "extra"], "Unexpected argument 'extra'"),
    (["jobs", "show"], "required: ID"),
    (["jobs", "show", "42"], "not a job id"),
    (["jobs", "show", str(UUID(int=42))], "retention has passed"),
    (["jobs", "show", "\udcff"], "not UTF-8"),
    (["jobs", "wait", "42"], "not a job id"),
    (["jobs", "wait", str(UUID(int=42)), "--timeout", "soon"], "no length of time"),
    (["jobs", "cancel", "--yes", "--queue="], "--queue is empty"),
    (["jobs", "cancel", "--yes", "--created-before="], "--created-before is empty"),
    (["jobs", "cancel", "--yes", "--user", ""], "--user is empty"),
    (["jobs", "purge", "--yes", "--finished-before="], "--finished-before is empty"),
    (["jobs", "purge", "--yes", "--dedupe-key="], "--dedupe-key is empty"),
    (["jobs", "enqueue", "cli.adding", "-p", "first=1", "--run-after="], "--run-after is empty"),
    (["jobs", "enqueue", "cli.adding", "-p", "first=1", "--dedupe-key="], "--dedupe-key is empty"),
    (["suspend", "all", "--expires="], "--expires is empty"),
    (["jobs", "progress", "42"], "not a job id"),
    (["jobs", "cancel", "42"], "not a job id"),
    (["jobs", "retry", "42"], "not a job id"),
    (["jobs", "resume", "42"], "not a job id"),
    (["jobs", "purge", "--older-than", "long"], "no length of time"),
    (["jobs", "tail", "--interval", "often"], "no length of time"),
    (["jobs", "enqueue"], "required: [APP:]TYPE"),
    (["jobs", "enqueue", "cli.ading"], "Did you mean 'cli.adding'?"),
    (["jobs", "enqueue", "cli.looping"], "Did you mean 'video:cli.looping'?"),
    (["jobs", "enqueue", "cli.looping", "--app", "vidoe"], "Did you mean 'video'?"),
    (["jobs", "enqueue", "video:cli.looping", "--app", "audio"], "not of the app 'audio'"),
    (["jobs", "enqueue", "cli.adding"], "first"),
    (["jobs", "enqueue", "cli.adding", "--param", "frist=1"], "Did you mean 'first'?"),
    (["jobs", "enqueue", "cli.adding", "--param", "first=one"], "Expected an integer"),
    (["jobs", "enqueue", "cli.adding", "--param", "first"], "Expected name=value"),
    (["jobs", "enqueue", "cli.adding", "--param", "first:=NaN"], "first"),
    (["jobs", "enqueue", "cli.adding", "--param", "first:=1" + "0" * 400], "first"),
    (["jobs", "enqueue", "cli.adding", "--param", 'note:="\\u0000"', "--param", "first=1"], "note"),
    (["jobs", "enqueue", "cli.adding", "--param", 'note:="\\ud800"', "--param", "first=1"], "note"),
    (["jobs", "enqueue", "cli.adding", "--params", "[1]"], "JSON object"),
    (["jobs", "enqueue", "cli.adding", "--params", "@/no/such"], "cannot be read"),
    (["jobs", "enqueue", "cli.adding", "--param", "first=1", "--param", "note=" + "x" * 300_000], "bytes"),
    (["jobs", "enqueue", "cli.adding", "-p", "first=1", "--queue", "defualt"], "Did you mean 'default'?"),
    (["jobs", "enqueue", "cli.adding", "-p", "first=1", "--priority", "hgih"], "priority 'hgih'"),
    (["jobs", "enqueue", "cli.adding", "-p", "first=1", "--run-after", "2026-02-30"], "is no time"),
    (["jobs", "enqueue", "cli.adding", "-p", "first=1", "--dedupe-key", "k" * 300], "at most 255"),
    (["jobs", "enqueue", "cli.adding", "-p", "first=1", "--idempotency-key", "k" * 300], "at most 255"),
    (["jobs", "enqueue", "cli.adding", "-p", "first=1", "--user", "u" * 300], "at most 100"),
    (["jobs", "enqueue", "cli.adding", "-p", "first=1", "--max-attempts", "0"], "from 1 to"),
    (["handlers", "cli.ading"], "Did you mean 'cli.adding'?"),
    (["suspend", "queu"], "Did you mean 'queue'?"),
    (["suspend", "queue"], "Which queue?"),
    (["suspend", "queue", "defualt"], "Did you mean 'default'?"),
    (["suspend", "type", "cli.ading"], "Did you mean 'cli.adding'?"),
    (["suspend", "app", "vidoe"], "Did you mean 'video'?"),
    (["suspend", "all", "default"], "'all' takes no name"),
    (["suspend", "all", "--expires", "2020-01-01"], "not in the future"),
    (["suspend", "--reason", "because"], "Name what to suspend"),
    (["suspend", "all", "--list"], "--list alone"),
    (["suspend", "all", "--reason", "x" * 5000], "at most 500"),
    (["unsuspend", "queue", "default"], "is not suspended"),
    (["unsuspend"], "required: scope"),
    (["processes", "--jsn"], "Did you mean '--json'?"),
    (["doctor", "--jsn"], "Did you mean '--json'?"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "words"), WRONG, ids=lambda value: " ".join(value)[:70] if isinstance(value, list) else ""
)
def test_a_wrong_value_is_told_in_one_line_with_code_2(jobs, adding, looping, argv, words):
    answer = ran(*argv)
    assert answer.code == 2
    assert words in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    assert answer.out == ""
    assert not Job.objects.exists()
    assert not Suspension.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "argv",
    [["jobs", "lst"], ["jobs", "show", "42"], ["jobs", "list", "--state", "fialed"], ["suspend", "queue"]],
)
def test_a_shell_gets_the_line_and_the_code(capsys, argv):
    answer = from_shell(capsys, *argv)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("Error: ")
    assert len(answer.err.splitlines()) == 1


@pytest.mark.django_db(transaction=True)
def test_a_shell_gets_0_for_success_and_1_for_a_failed_job(capsys):
    assert from_shell(capsys, "jobs", "list").code == 0
    failed = make_job("failed")
    answer = from_shell(capsys, "jobs", "wait", str(failed.id))
    assert (answer.code, answer.err) == (1, "")
    assert "failed" in answer.out


def test_code_gets_a_command_error_with_the_code(jobs):
    with pytest.raises(CommandError) as caught:
        call_command("jobs", "show", "42")
    assert caught.value.returncode == 2


def test_an_almost_right_id_names_the_job_that_was_meant(jobs):
    row = make_job()
    typed = str(row.id)
    wrong = typed[:-1] + ("0" if typed[-1] != "0" else "1")
    assert f"Did you mean {typed}?" in ran("jobs", "show", wrong).err
    assert f"Did you mean {typed}?" in ran("jobs", "show", typed[:-1]).err


@pytest.mark.django_db(transaction=True)
def test_the_traceback_behind_an_error_is_shown_on_request(capsys):
    with pytest.raises(CommandError):
        from_shell(capsys, "jobs", "show", "42", "--traceback")


@pytest.mark.django_db(transaction=True)
def test_a_reader_that_goes_away_ends_it_quietly(capsys, monkeypatch):
    make_job()
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", stream)
        answer = from_shell(capsys, "jobs", "list")
    assert (answer.code, answer.err) == (141, "")


@pytest.mark.django_db(transaction=True)
def test_log_lines_stay_out_of_what_is_printed(capsys, monkeypatch):
    levels = []
    monkeypatch.setattr(logging, "disable", levels.append)
    from_shell(capsys, "jobs", "list")
    assert levels[0] == logging.WARNING
    levels.clear()
    from_shell(capsys, "jobs", "list", "-v", "2")
    assert levels == [logging.NOTSET]
