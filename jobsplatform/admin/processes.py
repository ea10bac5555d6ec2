"""Processes: who is alive, what they serve, and when they were last heard of."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Count
from django.http import HttpRequest
from django.utils.safestring import SafeString

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.models import Process
from tasks.admin import shapes
from tasks.admin.base import RecordAdmin
from tasks.admin.paging import CappedList
from tasks.models import Job
from tasks.states import IN_FLIGHT


def busy_slots(process_ids: list[Any]) -> dict[Any, int]:
    """How many jobs each process holds, in one query."""
    rows = Job.objects.filter(worker_id__in=process_ids, state__in=sorted(IN_FLIGHT)).order_by()
    return dict(rows.values_list("worker_id").annotate(Count("id")))


class ProcessList(CappedList):
    """A page of processes, with the slots in use."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        self.result_list = rows
        busy = busy_slots([row.pk for row in rows])
        for row in rows:
            row.busy = busy.get(row.pk, 0)


@admin.register(Process)
class ProcessAdmin(RecordAdmin):
    """One row an incarnation; read-only."""

    list_display = ("name", "status", "role", "slots", "queues_served", "beat", "since", "version")
    list_display_links = ("name",)
    list_filter = ("role",)
    list_filter_submit = False
    ordering = ("-heartbeat_at", "-id")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[CappedList]:
        return ProcessList

    @admin.display(description="State")
    def status(self, process: Process) -> SafeString:
        if process.lost_at is not None:
            return shapes.badge("lost", "bad")
        if process.stopped_at is not None:
            return shapes.badge("stopped")
        silent = clock.now() - process.heartbeat_at
        if silent >= timedelta(seconds=config.get().tasks.lease_seconds):
            return shapes.badge("stale", "bad", "It has not been heard of for a whole lease.")
        return shapes.badge("draining", "warning") if process.stopping else shapes.badge("live", "good")

    @admin.display(description="Slots busy")
    def slots(self, process: Process) -> str:
        if process.role not in (Process.Role.WORKER, Process.Role.SIDECAR):
            return shapes.NOTHING
        stuck = f" (+{process.busy_threads} stuck)" if process.busy_threads else ""
        return f"{getattr(process, 'busy', 0)} of {process.concurrency}{stuck}"

    @admin.display(description="Queues")
    def queues_served(self, process: Process) -> str:
        return ", ".join(map(str, process.queues)) or shapes.NOTHING

    @admin.display(description="Heartbeat")
    def beat(self, process: Process) -> SafeString:
        return shapes.age(process.heartbeat_at, clock.now())

    @admin.display(description="Up since")
    def since(self, process: Process) -> SafeString:
        return shapes.instant(process.started_at)

    def page_context(self, request: HttpRequest, record: Process) -> dict[str, Any]:
        record.busy = busy_slots([record.pk]).get(record.pk, 0)
        can = [name for name, able in record.capabilities.items() if able]
        facts = [
            ("State", self.status(record)),
            ("Role", record.get_role_display()),
            ("App", record.app_id),
            ("Host", record.host),
            ("Pid", record.pid),
            ("Incarnation", record.pk),
            ("Version", record.version),
            ("Slots busy", self.slots(record)),
            ("Queues", self.queues_served(record)),
            ("Can", ", ".join(can)),
            ("Started", shapes.instant(record.started_at)),
            ("Heartbeat", shapes.instant(record.heartbeat_at)),
            ("Stopped", shapes.instant(record.stopped_at)),
            ("Declared lost", shapes.instant(record.lost_at)),
        ]
        keys = "\n".join(str(key).lstrip(":") for key in record.handlers)
        return {
            "title": record.name,
            "facts": [(name, value) for name, value in facts if value != ""],
            "blocks": [(f"{len(record.handlers)} handlers", keys)] if keys else [],
        }
