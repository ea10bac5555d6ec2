"""What the command of a crontab's line means here."""

import pytest

from scheduler.importing.command_line import Management, NotTaken, management


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("manage.py clearsessions", ("clearsessions",)),
        ("/srv/app/manage.py clearsessions --verbosity 0", ("clearsessions", "--verbosity", "0")),
        ("python manage.py clearsessions", ("clearsessions",)),
        ("/srv/.venv/bin/python3.11 -u /srv/manage.py a b", ("a", "b")),
        ("python -m django check", ("check",)),
        ("django-admin check", ("check",)),
        ("manage.py say 'a > b' \"it's\" a\\ b", ("say", "a > b", "it's", "a b")),
        ("manage.py say a#b", ("say", "a#b")),
    ],
)
def test_a_management_command_is_known(text, expected):
    found = management(text)
    assert (found.command, *found.arguments) == expected
    assert found.lost == ()


def test_folder_and_redirections_are_left_out_and_told():
    found = management("cd /srv/app && python manage.py report --all >> /var/log/report.log 2>&1")
    assert found == Management(
        "report",
        ("--all",),
        (
            "It runs in this project, whatever lies in /srv/app.",
            ">> /var/log/report.log is left out: the output is kept with the job.",
            "2>&1 is left out: the output is kept with the job.",
        ),
    )


@pytest.mark.parametrize("end", [">/dev/null", "> /dev/null 2>&1", "&> /dev/null", "< /dev/null", "2>> x"])
def test_any_usual_redirection_at_the_end(end):
    found = management(f"manage.py report {end}")
    assert (found.command, found.arguments) == ("report", ())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/usr/bin/backup --all", "no 'manage.py COMMAND'"),
        ("run-parts /etc/cron.hourly", "--map"),
        ("manage.py a | mail x", "needs a shell ('|')"),
        ("manage.py a; manage.py b", "needs a shell (';')"),
        ("manage.py a && manage.py b", "needs a shell ('&')"),
        ("manage.py a $HOME", "needs a shell ('$')"),
        ('manage.py a "$HOME"', "needs a shell ('$')"),
        ("manage.py a `date`", "needs a shell ('`')"),
        ("manage.py a *.txt", "needs a shell ('*')"),
        ("manage.py a ~/x", "needs a shell ('~')"),
        ("manage.py a # b", "needs a shell ('#')"),
        ("manage.py a < /etc/passwd", "needs a shell ('<')"),
        ("manage.py a > x &", "needs a shell"),
        ("manage.py a 'b", "left open"),
        ("manage.py a \\", "left open"),
        ("DEBUG=1 manage.py a", "sets DEBUG"),
        ("flock -n /tmp/x manage.py a", "'flock'"),
        ("sudo -u app manage.py a", "'sudo'"),
        ("manage.py", "No management command"),
        ("manage.py --version", "No management command"),
        ("", "Nothing"),
    ],
)
def test_what_a_shell_would_do_more_is_refused_with_the_reason(text, words):
    with pytest.raises(NotTaken) as refused:
        management(text)
    assert words in str(refused.value)


def test_a_dollar_in_single_quotes_is_a_dollar():
    assert management("manage.py a '$HOME'").arguments == ("$HOME",)
