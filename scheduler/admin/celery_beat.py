"""The rows of django-celery-beat, which are ticked beside ours, in the looks of the rest."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django_celery_beat import admin as beat
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)
from unfold.admin import ModelAdmin, TabularInline
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

for model in (PeriodicTask, CrontabSchedule, IntervalSchedule, ClockedSchedule, SolarSchedule):
    if admin.site.is_registered(model):
        admin.site.unregister(model)


class TaskSelect(UnfoldAdminSelectWidget, beat.TaskSelectWidget):
    """The tasks that Celery knows, as the theme draws a choice."""


class TaskForm(beat.PeriodicTaskForm):
    """The same form with the theme's widgets."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["task"].widget = UnfoldAdminTextInputWidget()
        self.fields["regtask"].widget = TaskSelect()


class TaskInline(TabularInline, beat.PeriodicTaskInline):
    """What uses a timetable."""


@admin.register(PeriodicTask)
class TaskAdmin(beat.PeriodicTaskAdmin, ModelAdmin):
    """Entries of Beat, as its users know them."""

    form = TaskForm
    list_filter_submit = False


class _TimetableAdmin(ModelAdmin):
    inlines = (TaskInline,)


@admin.register(CrontabSchedule)
class CrontabAdmin(_TimetableAdmin):
    list_display = ("__str__", "human_readable")
    fields = ("human_readable", "minute", "hour", "day_of_month", "month_of_year", "day_of_week", "timezone")
    readonly_fields = ("human_readable",)


@admin.register(ClockedSchedule)
class ClockedAdmin(_TimetableAdmin):
    fields = ("clocked_time",)
    list_display = ("clocked_time",)


@admin.register(IntervalSchedule)
class IntervalAdmin(_TimetableAdmin):
    pass


@admin.register(SolarSchedule)
class SolarAdmin(_TimetableAdmin):
    pass
