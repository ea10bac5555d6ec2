"""Job ids that a person typed."""

from __future__ import annotations

import difflib
from uuid import UUID

from jobsplatform.kernel.errors import InvalidInput, JobNotFound
from tasks import queries
from tasks.models import Job

_RECENT = 1000
_ALIKE = 0.85  # ids of one minute share a third of their digits, so that less says nothing


def id_text(text: str) -> str:
    """An argument that should be an id; ``find`` says what is wrong with it."""
    return text.strip()


def find(text: str) -> Job:
    """The job of this id. Raises InvalidInput or JobNotFound, with the most similar recent id."""
    try:
        return queries.get_job(text)
    except (InvalidInput, JobNotFound) as error:
        near = _nearest(text)
        if near is None:
            raise
        raise InvalidInput(f"{error.message} Did you mean {near}?") from None


def identify(text: str) -> UUID:
    """The id of an existing job; as ``find``."""
    found: UUID = find(text).id
    return found


def _nearest(text: str) -> str | None:
    recent = [str(job_id) for job_id in Job.objects.order_by("-id").values_list("id", flat=True)[:_RECENT]]
    found = difflib.get_close_matches(text.lower(), recent, n=1, cutoff=_ALIKE)
    return found[0] if found else None
