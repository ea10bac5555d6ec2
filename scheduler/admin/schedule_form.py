"""The form of a schedule: text in, a ScheduleSpec out. What it may be is decided by ``definition.check`` alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields as fields_of
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import forms

from scheduler import definition
from scheduler.admin import looks
from scheduler.admin.forms import MOST_PARAMS, read_params
from scheduler.models import Schedule
from scheduler.spec import WHEN, Fault, ScheduleSpec
from scheduler.states import Fold, Gap, Misfire, Overlap
from scheduler.timetables.interval import short

KINDS = [
    ("cron", "by a cron line"),
    ("every", "every so often"),
    ("months", "every so many months"),
    ("at", "once"),
    ("manual", "only when somebody runs it"),
]
_GAP = [("", "as Debian's cron does"), (Gap.AT_TRANSITION, "run right after the change"),
        (Gap.SHIFT, "run later by as much"), (Gap.SKIP, "do not run")]  # fmt: skip
_FOLD = [("", "as Debian's cron does"), (Fold.FIRST, "run in the first pass"),
         (Fold.LAST, "run in the second pass"), (Fold.BOTH, "run in both")]  # fmt: skip
_MISFIRE = [("", "– say it –"), (Misfire.SKIP, "skip them"), (Misfire.RUN_ONCE, "run the newest, once"),
            (Misfire.CATCH_UP_LIMITED, "catch up, oldest first")]  # fmt: skip
_OVERLAP = [("", "the job type decides"), (Overlap.SKIP, "skip the new one"),
            (Overlap.BUFFER_ONE, "one waits"), (Overlap.BUFFER_ALL, "all wait for their turn"),
            (Overlap.CANCEL_OTHER, "cancel the earlier one"), (Overlap.ALLOW, "run side by side")]  # fmt: skip

WHOLE = (
    "months",
    "max_runs",
    "misfire_limit",
    "catch_up_max",
    "pause_after_failures",
    "max_attempts",
    "log_days",
)
LENGTHS = ("jitter", "grace", "catch_up_window", "latest_start")
MOMENTS = ("at", "anchor", "start", "end")
OF_KIND: dict[str, tuple[str, ...]] = {
    "cron": ("cron", "gap", "fold"),
    "every": ("every", "anchor", "from_"),
    "months": ("months", "anchor", "month_end"),
    "at": ("at",),
    "manual": (),
}
"""Fields that count for one kind alone; those of the others are not read."""
_ALL_KINDS = frozenset(name for names in OF_KIND.values() for name in names)
_CONTROL = re.compile(r"[\s,]+")


def _text(label: str, help_text: str = "", *, sample: str = "", **given: Any) -> forms.CharField:
    widget = given.pop("widget", None) or forms.TextInput(attrs={"placeholder": sample} if sample else {})
    return forms.CharField(
        required=False, label=label, help_text=help_text, widget=widget, strip=True, **given
    )


def _area(rows: int) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows, "spellcheck": "false"})


class ScheduleForm(forms.Form):
    """Every field is text that is read as far as it can be; the rest is told by the validator of every door."""

    id = forms.CharField(
        required=False, label="Id", strip=False, help_text="Any text in one line; it never changes."
    )
    job = _text("Job type", widget=forms.TextInput(attrs={"list": "job-types"}))
    description = _text("Description")
    params = _text("Params", "A JSON object.", widget=_area(5), max_length=MOST_PARAMS)

    kind = forms.ChoiceField(required=False, choices=KINDS, label="Runs", initial="cron")
    timezone = _text(
        "Time zone",
        "Of the cron line, and of times without an offset.",
        sample="Europe/Berlin",
        widget=forms.TextInput(attrs={"list": "zones", "placeholder": "Europe/Berlin"}),
        initial="UTC",
    )
    cron = _text("Cron line", "Minute, hour, day, month, weekday; or @hourly, @daily …", sample="30 2 * * *")
    every = _text("Every", "As 7m, 1h30m, 2d, or seconds.", sample="7m")
    months = _text("Every … months", sample="1")
    at = _text("At", "Without an offset: in the time zone above.", sample="2026-07-01T10:00")
    gap = forms.ChoiceField(required=False, choices=_GAP, label="Times that the clocks skip")
    fold = forms.ChoiceField(required=False, choices=_FOLD, label="Times that come twice")
    anchor = _text("Counted from", "Empty: from its making.", sample="2026-01-01T00:00")
    from_ = forms.ChoiceField(
        required=False,
        label="Period",
        choices=[("", "from slot to slot"), ("last_end", "from the end of a run to the next")],
    )
    month_end = forms.ChoiceField(
        required=False,
        label="On the 29th to 31st",
        choices=[("", "clamp to the last day"), ("skip", "skip the month")],
    )
    start = _text("Not before", sample="2026-01-01T00:00")
    end = _text("Not after", sample="2026-12-31T23:59")
    exclude = _text(
        "Dates without slots", "2026-12-24, or 12-25 for every year; one a line.", widget=_area(2)
    )
    jitter = _text("Jitter", "Seconds that a job may start later.", sample="0")
    max_runs = _text("Most runs", "In all; empty: no bound.")

    misfire = forms.ChoiceField(required=False, choices=_MISFIRE, label="Late slots")
    grace = _text("Grace", "Seconds; a slot this late is on time.")
    misfire_limit = _text("Caught up in one round")
    catch_up_window = _text("Catch-up window", "Seconds; older slots expire.")
    catch_up_max = _text("Caught up in one episode")
    overlap = forms.ChoiceField(required=False, choices=_OVERLAP, label="While an earlier run is unfinished")
    latest_start = _text("Latest start", "Seconds after the slot; later its job is cancelled.")
    pause_after_failures = _text("Pause after failures", "So many in a row.")

    tenants = _text(
        "Tenants", "* for every one, or their ids, one a line; empty: once for the host.", widget=_area(2)
    )
    priority = _text("Priority", "A number, or a name as background.")
    queue = _text("Queue")
    max_attempts = _text("Attempts")
    log_days = _text("Keep decisions", "Days.")
    enabled = forms.BooleanField(
        required=False, initial=True, label="Enabled", help_text="Else it begins paused."
    )
    revision = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(
        self, *args: Any, standing: Schedule | None = None, may_see: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.standing = standing
        self.may_see = may_see or standing is None
        if standing is not None:
            self.fields["id"].disabled = True
            self.fields["id"].initial = standing.id
            self.fields["id"].help_text = "It never changes."
            del self.fields["enabled"]
        if not self.may_see:
            del self.fields["params"]

    def clean_params(self) -> dict[str, Any]:
        return read_params(self.cleaned_data["params"]) or {}

    def spec(self) -> ScheduleSpec:
        """What the fields say. For a form whose ``is_valid`` was asked; numbers that are none stay text."""
        data = dict(self.cleaned_data)
        kind = data.pop("kind", "") or "cron"
        data.pop("revision", None)
        known = {field.name for field in fields_of(ScheduleSpec)}
        values: dict[str, Any] = {}
        for name, value in data.items():
            if name not in known or (name in _ALL_KINDS and name not in OF_KIND.get(kind, ())):
                continue
            values[name] = self._value(name, value)
        values["manual"] = kind == "manual"
        if kind in WHEN and kind != "manual" and values.get(kind) is None:
            values[kind] = ""
        if self.standing is not None:
            values["id"] = self.standing.id
        if not self.may_see and self.standing is not None:
            values["params"] = self.standing.params
        return ScheduleSpec(**values)

    @staticmethod
    def _value(name: str, value: Any) -> Any:
        if name in WHOLE or name == "priority":
            return _number(value, int)
        if name in LENGTHS:
            return _number(value, float)
        if name == "exclude":
            return tuple(_listed(value))
        if name == "tenants":
            return (
                None
                if not value
                else "*"
                if value == "*"
                else [t.strip() for t in re.split(r"[\n,]", value) if t.strip()]
            )
        if name in MOMENTS or name in ("every", "cron", "queue"):
            return value or None
        return value

    def tell(self, faults: Iterable[Fault], kind: str) -> None:
        """Put each fault at its field."""
        for fault in faults:
            field = {"when": kind if kind in self.fields else "kind", "app_id": "job"}.get(
                fault.field, fault.field
            )
            if fault.field == "when" and field in self.fields and field != "kind":
                sample = self.fields[field].widget.attrs.get("placeholder", "")
                self.add_error(field, f"It is missing: say when it runs. Write e.g. {sample}".strip())
                continue
            if fault.field == "params" and not self.may_see:
                said = "The stored params do not fit this job type. Somebody who may see params has to edit them."
                self.add_error(None, said)
                continue
            self.add_error(field if field in self.fields else None, fault_text(fault))

    @property
    def groups(self) -> Sequence[tuple[str, bool, list[forms.BoundField]]]:
        """Fields in sections: title, whether it begins closed, fields."""
        found = []
        for title, closed, names in _GROUPS:
            fields = [self[name] for name in names if name in self.fields]
            if not fields:
                continue
            wrong = any(field.errors for field in fields)
            found.append((title, closed and not wrong and not any(_given(f) for f in fields), fields))
        return found


_GROUPS: tuple[tuple[str, bool, tuple[str, ...]], ...] = (
    ("What", False, ("id", "job", "description", "params")),
    ("When", False, (
        "kind", "timezone", "cron", "every", "months", "at", "gap", "fold", "from_", "month_end", "anchor",
    )),
    ("Bounds", True, ("start", "end", "exclude", "jitter", "max_runs")),
    ("Late slots and overlap", False, ("misfire", "overlap")),
    ("Limits", True, (
        "grace", "misfire_limit", "catch_up_window", "catch_up_max", "latest_start", "pause_after_failures",
    )),
    ("For whom, and how", True, ("tenants", "priority", "queue", "max_attempts", "log_days")),
    ("", False, ("enabled",)),
)  # fmt: skip


def _given(field: forms.BoundField) -> bool:
    return bool(field.value())


def fault_text(fault: Fault) -> str:
    """What is wrong, what was read, and what to write instead."""
    if fault.code == "MISFIRE_MISSING":  # the choices stand above it
        return "Say what becomes of slots that were missed: no choice suits every schedule."
    read = f" Read: {fault.read!r}." if fault.read and fault.read not in fault.message else ""
    message = fault.message[:1].upper() + fault.message[1:]
    return f"{message}{read} {fault.suggestion}".strip()


def _number(value: str, kind: type[int] | type[float]) -> Any:
    """The number that is written; text that is none stays as it is."""
    if not value:
        return None
    try:
        return int(value) if kind is int or value.isdigit() else float(value)
    except ValueError:
        return value


def _listed(value: str) -> list[str]:
    return [word for word in _CONTROL.split(value) if word]


def kind_of(spec: ScheduleSpec) -> str:
    """Which of KINDS it is."""
    return next((name for name, _ in KINDS if getattr(spec, name) not in (None, "", False)), "cron")


def initial_of(row: Schedule) -> dict[str, Any]:
    """What the fields of a stored schedule hold: read back, it is the same schedule."""
    spec = definition.read(row)
    zone = looks.zone_of(row.timezone)
    given: dict[str, Any] = {"kind": kind_of(spec), "revision": row.revision}
    for field in fields_of(ScheduleSpec):
        given[field.name] = _shown(field.name, getattr(spec, field.name), zone)
    given["job"] = looks.job_type(row)
    given["params"] = json.dumps(row.params, indent=2, ensure_ascii=False) if row.params else ""
    given["month_end"] = "" if spec.month_end == "clamp" else spec.month_end
    given["from_"] = "" if spec.from_ == "slot" else spec.from_
    return given


def _shown(name: str, value: Any, zone: ZoneInfo) -> Any:
    if value is None:
        return ""
    if name in MOMENTS:
        return _moment(value, zone)
    if name == "every":
        return short(value) if isinstance(value, int) else str(value)
    if name == "exclude":
        return "\n".join(map(str, value))
    if name == "tenants":
        return value if isinstance(value, str) else "\n".join(map(str, value))
    if isinstance(value, float):
        return f"{value:g}" if value < 100_000 else repr(value).removesuffix(".0")
    return value


def _moment(value: Any, zone: ZoneInfo) -> str:
    """With its offset, so that it is the same instant whatever the zone is changed to."""
    try:
        return datetime.fromisoformat(str(value)).astimezone(zone).isoformat()
    except ValueError:
        return str(value)
