"""Reading crontabs."""

import pytest

from scheduler.importing.crontab import Entry, looks_like_system, read, split_input


def entries(text: str, **options: object) -> list[Entry]:
    return read(text, **{"timezone": "UTC", "system": False, **options}).entries  # type: ignore[arg-type]


def test_a_crontab_of_a_user():
    text = "# comment\n\n  */5 * * * *\t/usr/bin/report  --all\n@daily backup\n#@daily no\n"
    first, second = entries(text)
    assert (first.number, first.expression, first.command) == (3, "*/5 * * * *", "/usr/bin/report  --all")
    assert (second.number, second.expression, second.command, second.user) == (4, "@daily", "backup", "")


def test_a_system_crontab_has_a_user_before_the_command():
    text = "17 *\t* * *\troot    cd / && run-parts /etc/cron.hourly\n@hourly www-data touch x\n"
    first, second = entries(text, system=True)
    assert (first.expression, first.user, first.command) == (
        "17 * * * *",
        "root",
        "cd / && run-parts /etc/cron.hourly",
    )
    assert (second.expression, second.user, second.command) == ("@hourly", "www-data", "touch x")


def test_windows_line_ends_and_a_byte_order_mark_are_nothing():
    (entry,) = entries("\ufeff0 3 * * * report\r\n")
    assert (entry.expression, entry.command) == ("0 3 * * *", "report")


def test_cron_tz_holds_for_what_follows():
    text = "0 1 * * * a\nCRON_TZ=Europe/Berlin\n0 1 * * * b\nCRON_TZ = 'Asia/Tokyo'\n0 1 * * * c\nCRON_TZ=\n@daily d\n"
    assert [entry.timezone for entry in entries(text)] == ["UTC", "Europe/Berlin", "Asia/Tokyo", "UTC"]


def test_a_tz_line_that_may_or_may_not_move_the_times_is_asked_about():
    found = read("0 1 * * * a\nTZ=Europe/Berlin\n0 1 * * * b\n", timezone="UTC", system=False)
    assert [entry.command for entry in found.entries] == ["a"]
    (refused,) = found.refused
    assert refused.number == 3
    assert "--timezone Europe/Berlin" in refused.message


@pytest.mark.parametrize("text", ["TZ=UTC\n0 1 * * * a\n", "TZ=Europe/Berlin\nCRON_TZ=UTC\n0 1 * * * a\n"])
def test_a_tz_line_that_says_nothing_else_is_no_question(text):
    assert len(entries(text)) == 1


def test_a_zone_that_a_person_named_settles_it():
    (entry,) = entries("TZ=Europe/Berlin\n0 1 * * * a\n", timezone="Europe/Berlin", zone_is_sure=True)
    assert entry.timezone == "Europe/Berlin"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("date +\\%F", ("date +%F", None)),
        ("mail -s hi x%hello%world", ("mail -s hi x", "hello\nworld")),
        ("mail x%a\\%b%", ("mail x", "a%b\n")),
        ("plain", ("plain", None)),
    ],
)
def test_a_percent_sign_starts_the_input(command, expected):
    assert split_input(command) == expected


@pytest.mark.parametrize("line", ["* * * * *", "5 4 * *", "@daily", "report", "@daily   "])
def test_a_line_without_a_command_is_refused_with_its_number(line):
    found = read(f"\n{line}\n0 1 * * * fine\n", timezone="UTC", system=False)
    assert [(refused.number, refused.text) for refused in found.refused] == [(2, line.strip())]
    assert len(found.entries) == 1


def test_a_system_line_without_a_user_is_refused():
    found = read("* * * * * /usr/bin/report now\n* * * * * root\n", timezone="UTC", system=True)
    assert [refused.number for refused in found.refused] == [1, 2]
    assert "--format user" in found.refused[0].message


def test_variables_that_are_lost_are_told_once_each():
    found = read(
        'MAILTO=ops@example.org\nPATH=/bin\nDEBUG="1"\nRANDOM_DELAY=5\n', timezone="UTC", system=False
    )
    assert [remark.number for remark in found.remarks] == [1, 2, 3, 4]
    assert "no mail" in found.remarks[0].message
    assert "jitter" in found.remarks[3].message


def test_a_dash_that_only_silences_the_log_is_nothing():
    (entry,) = entries("-*/15 * * * * report\n")
    assert entry.expression == "*/15 * * * *"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 1 * * * root report\n@daily www-data touch x\n", True),
        ("0 1 * * * root report\n0 1 * * * report now\n", False),
        ("0 1 * * * root\n", False),
        ("# nothing\nPATH=/bin\n", False),
    ],
)
def test_a_system_crontab_is_known_by_its_accounts(text, expected):
    assert looks_like_system(text, {"root", "www-data"}) is expected
