"""DATABASE_URL, as people write it."""

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobsplatform.kernel.database_url import DatabaseUrlError, parse, shown


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("sqlite:///jobs.sqlite3", "jobs.sqlite3"),
        ("sqlite:////var/lib/jobs.sqlite3", "/var/lib/jobs.sqlite3"),
        ("sqlite:////with%20space.sqlite3", "/with space.sqlite3"),
        ("sqlite://:memory:", ":memory:"),
        ("sqlite:///:memory:", ":memory:"),
    ],
)
def test_sqlite(url: str, name: str) -> None:
    found = parse(url)
    assert (found["ENGINE"], found["NAME"]) == ("django.db.backends.sqlite3", name)
    assert found["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert found["OPTIONS"]["timeout"] == 20
    assert "journal_mode=WAL" in found["OPTIONS"]["init_command"]


@pytest.mark.parametrize(
    ("url", "facts"),
    [
        ("postgresql://u:p@db:5433/jobs", ("u", "p", "db", "5433", "jobs")),
        ("postgres://db/jobs", ("", "", "db", "", "jobs")),
        ("postgresql:///jobs?host=/run/postgresql&port=5434", ("", "", "/run/postgresql", "5434", "jobs")),
        ("postgresql://%2Frun%2Fpostgresql/jobs", ("", "", "/run/postgresql", "", "jobs")),
        ("postgresql://u%40x:p%2F%3A%40@db/jobs", ("u@x", "p/:@", "db", "", "jobs")),
        ("postgresql://[::1]:5432/jobs", ("", "", "::1", "5432", "jobs")),
        ("postgresql:///?host=/s&dbname=jobs&user=u&password=p", ("u", "p", "/s", "", "jobs")),
    ],
)
def test_postgresql(url: str, facts: tuple[str, ...]) -> None:
    found = parse(url)
    assert tuple(found[key] for key in ("USER", "PASSWORD", "HOST", "PORT", "NAME")) == facts


def test_postgresql_works_behind_a_pooler_and_notices_cut_connections() -> None:
    found = parse("postgresql://db/jobs?sslmode=require&connect_timeout=3")
    assert found["DISABLE_SERVER_SIDE_CURSORS"] is True
    assert found["CONN_HEALTH_CHECKS"] is True
    assert found["OPTIONS"]["sslmode"] == "require"
    assert found["OPTIONS"]["connect_timeout"] == "3"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://db/x", "expected sqlite:///path or postgresql://host/name, got mysql://"),
        ("sqlit:///x", "Did you mean sqlite://?"),
        ("jobs.sqlite3", "no scheme"),
        ("sqlite://jobs.sqlite3", "three or four slashes"),
        ("sqlite://", "three or four slashes"),
        ("sqlite:///", "three or four slashes"),
        ("postgresql://db", "a database name"),
        ("postgresql://db/", "a database name"),
        ("postgresql://db:port/x", "postgresql://user:password@host:5432/name"),
        ("postgresql://db:99999/x", "postgresql://user:password@host:5432/name"),
        ("postgresql:///x?port=abc", "a number as port"),
        ("postgresql://db/x?sslmod=require", "Did you mean 'sslmode'?"),
        ("postgresql://db/x?sslmode", "postgresql://user:password@host:5432/name"),
    ],
)
def test_a_wrong_url_says_what_was_expected(url: str, says: str) -> None:
    with pytest.raises(DatabaseUrlError) as caught:
        parse(url)
    assert says in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        parse(text)
    except DatabaseUrlError:
        pass


@given(
    st.text(min_size=1, max_size=20),
    st.text(min_size=1, max_size=20),
    st.text(min_size=1, max_size=20),
)
def test_percent_encoding_carries_any_text(user: str, password: str, name: str) -> None:
    facts: Any = [quote(text, safe="", errors="surrogatepass") for text in (user, password, name)]
    found = parse("postgresql://{}:{}@db/{}".format(*facts))
    assert (found["USER"], found["PASSWORD"], found["NAME"]) == (user, password, name)


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("redis://:pw@host:6379/0", "redis://:***@host:6379/0"),
        ("postgresql://u:p@ss@db/x", "postgresql://u:***@db/x"),
        ("redis://host/0", "redis://host/0"),
        ("memory://", "memory://"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, text: str) -> None:
    assert shown(url) == text
