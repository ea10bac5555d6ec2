"""The url that child processes get leads back to the same connection."""

import pytest
from django.db import connection

from jobsplatform.kernel.database_url import parse
from tests.conftest import url_of

FACTS = ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://postgres@/jobsplatform?host=/tmp/jp-x",
        "postgresql://user:p%40ss%2Fword@db.example:6432/some%20name?sslmode=require",
        "sqlite:////tmp/some%20folder/file.sqlite3",
    ],
)
def test_url_and_settings_agree(url: str) -> None:
    settings = parse(url)
    again = parse(url_of(settings))
    assert {fact: again.get(fact) for fact in FACTS} == {fact: settings.get(fact) for fact in FACTS}
    assert again["OPTIONS"] == settings["OPTIONS"]


@pytest.mark.django_db
def test_the_test_database_is_no_ones_own() -> None:
    assert "test_default_" in connection.settings_dict["NAME"]
    assert ":memory:" not in connection.settings_dict["NAME"]
