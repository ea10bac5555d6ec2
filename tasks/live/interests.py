"""Which jobs those who listen to many want to hear of, as questions to the database. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import or_

from django.db.models import Q

from tasks.live.streams import Streams
from tasks.live.topics import Kind

_FIELDS = {
    Kind.TYPE: "handler_key",
    Kind.USER: "user_id",
    Kind.APP: "app_id",
    Kind.SCHEDULE: "schedule_id",
}


def interest(streams: Streams) -> Q | None:
    """Which jobs belong to a topic of many jobs that somebody listens to; None: none do."""
    if streams.has("jobs"):
        return Q()
    wanted = [
        Q(**{f"{field}__in": values}) for kind, field in _FIELDS.items() if (values := streams.values(kind))
    ]
    return reduce(or_, wanted) if wanted else None


def interests(streams: Streams) -> Iterator[Q]:
    """The same, each topic by itself."""
    if streams.has("jobs"):
        yield Q()
    for kind, field in _FIELDS.items():
        for value in streams.values(kind):
            yield Q(**{field: value})
