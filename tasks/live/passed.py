"""Rows that were not told one by one because they were too many: a snapshot has them. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

REMEMBERED = 40_000


class Passed:
    """Of each the number of writes up to which it need not be told. Bounded: the oldest are forgotten."""

    def __init__(self) -> None:
        self._written: OrderedDict[str, int] = OrderedDict()

    def add(self, rows: Iterable[tuple[str, int]]) -> None:
        """Whoever listens to these rows has been asked to fetch a snapshot."""
        for key, written in rows:
            self._written[key] = max(written, self._written.pop(key, 0))
        while len(self._written) > REMEMBERED:
            self._written.popitem(last=False)

    def has(self, key: str, written: int) -> bool:
        """Is the row, with this many writes, among them?"""
        return self._written.get(key, -1) >= written
