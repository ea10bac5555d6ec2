"""The condition of checks whose column holds one of a few words."""

from __future__ import annotations

import pytest
from django.db import connection

from tasks.models import Job
from tasks.sql.one_of import OneOf
from tasks.states import Hold, State


@pytest.mark.django_db
def test_it_means_what_in_means() -> None:
    compiler = Job.objects.all().query.get_compiler(connection=connection)
    condition = OneOf("state", [State.PENDING, State.RUNNING])
    sql, params = compiler.compile(condition.resolve_expression(compiler.query))
    assert params == []
    with connection.cursor() as cursor:
        for state, holds in ((State.PENDING, True), (State.RUNNING, True), (State.FAILED, False)):
            cursor.execute(f"SELECT {sql} FROM (SELECT %s AS state) AS tasks_job", [str(state)])
            assert bool(cursor.fetchone()[0]) is holds


@pytest.mark.parametrize("value", ["it's", "a,b", 'a"b', "a b", "{}"])
def test_what_would_need_quotes_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="plain words"):
        OneOf("hold", [value])


def test_it_is_written_into_migrations_as_it_is() -> None:
    path, args, kwargs = OneOf("hold", list(Hold)).deconstruct()
    assert path.endswith("OneOf") and OneOf(*args, **kwargs) == OneOf("hold", list(Hold))
