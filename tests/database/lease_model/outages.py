"""A database that goes away while a run's end is written."""

from __future__ import annotations

from unittest.mock import patch

from django.db import OperationalError, transaction

from jobsplatform.kernel import clock
from tasks import finish
from tasks.outcomes import Ending
from tests.database.lease_model import laws
from tests.database.lease_model.world import Run, everything

AWAY = OperationalError("server closed the connection unexpectedly")


def end_in_one(run: Run, ending: Ending, where: str) -> None:
    """Write ``ending`` of a run that holds its job, with the outage at ``where``; then once more, as a worker does.

    before, commit: nothing stands, and the second try lands. answer: it stands, and the second try changes
    nothing. after: it stands, but its writer died before it let go of what the job held.
    """
    end = (run.job_id, run.lease, ending, clock.now())
    if where == "after":
        with patch.object(finish, "let_go", lambda *_: None):
            assert finish.finish(*end) is not None
        return
    if where == "answer":
        assert finish.finish(*end) is not None
        stands = everything()
        assert finish.finish(*end) is None, "one end was written twice"
        laws.unchanged(stands, "an end that was written already")
        return
    before = everything()
    try:
        if where == "before":
            with patch.object(finish, "_tell", side_effect=AWAY):
                finish.finish(*end)
        else:
            with transaction.atomic():
                assert finish.finish(*end) is not None
                raise AWAY
    except OperationalError:
        laws.unchanged(before, "an end that was not committed")
    assert finish.finish(*end) is not None, "the second try was refused"
