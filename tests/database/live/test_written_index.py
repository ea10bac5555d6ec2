"""The look at what was written since goes by its index, however many jobs there are."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import Q

from jobsplatform.kernel import clock
from jobsplatform.testing.factory import make_job
from tasks.live import reads
from tasks.models import Job

pytestmark = pytest.mark.django_db


@pytest.mark.postgres
def test_postgres_looks_by_the_small_index() -> None:
    make_job()
    columns = ", ".join(f'"{f.column}"' for f in Job._meta.concrete_fields)
    values = ", ".join(
        "gen_random_uuid()"
        if f.column == "id"
        else "updated_at - n * interval '1 second'"
        if f.column == "updated_at"
        else f'"{f.column}"'
        for f in Job._meta.concrete_fields
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO tasks_job ({columns}) SELECT {values} FROM tasks_job, generate_series(1, 20000) n"
        )
        cursor.execute("SELECT brin_summarize_new_values('job_written')")
        cursor.execute("ANALYZE tasks_job")
        rows = Job.objects.filter(updated_at__gte=clock.now() - timedelta(seconds=3)).order_by()
        sql, params = rows.values_list("id", "revision")[:1001].query.sql_with_params()
        cursor.execute(f"EXPLAIN {sql}", params)
        plan = "\n".join(line for (line,) in cursor.fetchall())
        cursor.execute(
            "SELECT amname FROM pg_class JOIN pg_am ON pg_am.oid = relam WHERE relname = 'job_written'"
        )
        kind = cursor.fetchone()[0]
    assert kind == "brin"
    assert "job_written" in plan


def test_it_finds_what_was_written_since_and_no_more() -> None:
    now = clock.now()
    old, new = make_job(updated_at=now - timedelta(seconds=10)), make_job(updated_at=now)
    found = reads.changed_jobs(now - timedelta(seconds=3), Q(), 10)
    assert found == [(new.id, new.revision)]
    assert len(reads.changed_jobs(old.updated_at, Q(), 1)) == 1
