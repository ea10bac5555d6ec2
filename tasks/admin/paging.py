"""Counting no further than is useful: a page of a list never counts millions of rows."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest
from django.utils.functional import cached_property
from unfold.views import ChangeList

from tasks import queries

CAP = 10_000


class Count(int):
    """A number of rows; templates print it as ``1,234``, and as ``1234`` for a script."""

    exact = True

    @property
    def plain(self) -> str:
        return f"{int(self)}"

    def __str__(self) -> str:
        return f"{int(self):,}"


class AtLeast(Count):
    """There are more rows than this; templates print it as ``10,000+``."""

    exact = False

    def __str__(self) -> str:
        return f"{int(self):,}+"


class CappedPaginator(Paginator):
    """Exact up to ``CAP`` rows; beyond it the first ``CAP`` can be paged through and the count says so."""

    template_name = "tasks/admin/pagination.html"

    @cached_property
    def count(self) -> int:
        counted, exact = queries.count_capped(self.object_list, CAP)
        return Count(counted) if exact else AtLeast(counted)


class CappedList(ChangeList):
    """A list whose total is the one count that was made, not a second one over the whole table."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.full_result_count = self.result_count


class FiltersOnly(CappedList):
    """A list that is asked for its filters and shows no rows: nothing is counted or read."""

    def get_results(self, request: HttpRequest) -> None:
        self.result_list = []
        self.result_count = self.full_result_count = 0
        self.show_full_result_count = self.can_show_all = self.multi_page = False
        self.show_admin_actions = False
        self.paginator = self.model_admin.get_paginator(request, self.queryset, self.list_per_page)
