"""What has been told already: of each row the newest revision, so that no news is told twice."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from tasks.live.facts import Fact

REVISIONS = 20_000
SHOWN = 3_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row was shown, and to whom."""

    topics: tuple[str, ...]
    user_id: str
    app_id: str


class Known:
    """Bounded: of rows that were told long ago it forgets, and they are told once more when they are met again."""

    def __init__(self) -> None:
        self._told: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._shown: OrderedDict[str, Place] = OrderedDict()

    def is_news(self, fact: Fact) -> bool:
        """Has this not been told yet? From now on it has."""
        told = self._told.get(fact.key)
        if told is not None and told[0] >= fact.revision:
            return False
        self._told[fact.key] = (fact.revision, fact.written)
        self._told.move_to_end(fact.key)
        while len(self._told) > REVISIONS:
            self._told.popitem(last=False)
        return True

    def shown(self, fact: Fact) -> None:
        """Somebody sees this row: should it vanish, that is news."""
        if fact.run is None:
            return
        self._shown[fact.key] = Place(fact.topics, fact.user_id, fact.app_id)
        self._shown.move_to_end(fact.key)
        while len(self._shown) > SHOWN:
            self._shown.popitem(last=False)

    def has(self, key: str, written: int) -> bool:
        """Was the row told with this many writes?"""
        told = self._told.get(key)
        return told is not None and told[1] >= written

    def shown_keys(self) -> list[str]:
        """The rows that somebody may be looking at."""
        return list(self._shown)

    def forget(self, key: str) -> Place | None:
        """The row is gone; where it was shown."""
        self._told.pop(key, None)
        return self._shown.pop(key, None)
