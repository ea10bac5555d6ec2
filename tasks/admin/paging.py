"""Counting no further than is useful: a page of a list never counts millions of rows."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.utils.functional import cached_property

from tasks import queries

CAP = 10_000


class CappedPaginator(Paginator):
    """Exact up to ``CAP`` rows; beyond it the first ``CAP`` can be paged through and the count says so."""

    template_name = "tasks/admin/pagination.html"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.exact = True

    @cached_property
    def count(self) -> int:
        counted, self.exact = queries.count_capped(self.object_list, CAP)
        return min(counted, CAP)

    @property
    def shown_count(self) -> str:
        """``1,234`` or ``10,000+``."""
        return f"{self.count:,}{'' if self.exact else '+'}"
