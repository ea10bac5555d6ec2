"""What can be listened to. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from tasks.live.plain import is_plain
from tasks.live.refusals import Refused

LONGEST = 320


class Kind(StrEnum):
    """The kinds of topics, by the word that a topic begins with."""

    JOB = "job"
    TYPE = "type"
    APP = "app"
    USER = "user"
    SCHEDULE = "schedule"
    JOBS = "jobs"
    SYSTEM = "system"


WHOLE = frozenset({Kind.JOBS, Kind.SYSTEM})


@dataclass(frozen=True, slots=True)
class Topic:
    """``name`` is its text in the one way of writing it; ``value`` what follows the kind (of a type: the job type)."""

    kind: Kind
    name: str
    value: str = ""
    app_id: str = ""

    @property
    def job_id(self) -> UUID:
        """Of a job's topic."""
        return UUID(self.value)


def parse(text: object) -> Topic:
    """A topic from outside. Raises Refused with UNKNOWN_TOPIC."""
    if not isinstance(text, str) or not text or len(text) > LONGEST or not is_plain(text):
        raise _unknown("expected a text such as 'job:<id>'")
    word, colon, value = text.partition(":")
    if word not in list(Kind):
        raise _unknown(f"expected one of {', '.join(_FORMS)}")
    kind = Kind(word)
    if kind in WHOLE:
        if colon:
            raise _unknown(f"{kind} stands alone")
        return Topic(kind, kind)
    if kind is Kind.TYPE:
        app_id, colon, value = value.partition(":")
        if not colon or not value:
            raise _unknown("expected type:<app>:<job type>, the app empty for the platform's own")
        return Topic(kind, of_type(app_id, value), value, app_id)
    if kind is Kind.JOB:
        try:
            return Topic(kind, of_job(UUID(value)), str(UUID(value)))
        except ValueError:
            raise _unknown("expected job:<id>, the id a UUID") from None
    if not value and kind is not Kind.APP:
        raise _unknown(f"expected {kind}:<id>")
    return Topic(kind, f"{kind}:{value}", value, value if kind is Kind.APP else "")


def of_job(job_id: UUID) -> str:
    """The topic of one job."""
    return f"job:{job_id}"


def of_type(app_id: str, job_type: str) -> str:
    """The topic of a job type."""
    return f"type:{app_id}:{job_type}"


_FORMS = ("job:<id>", "type:<app>:<job type>", "app:<app>", "user:<id>", "schedule:<id>", "jobs", "system")


def _unknown(what: str) -> Refused:
    return Refused("UNKNOWN_TOPIC", f"No such topic: {what}.")
