"""The words of this app, one meaning each. Pure."""

from __future__ import annotations

from enum import StrEnum


class TriggerType(StrEnum):
    """The kind of a timetable."""

    CRON = "cron"
    INTERVAL = "interval"
    DATE = "date"
    MANUAL = "manual"


class Misfire(StrEnum):
    """What becomes of slots that nobody decided while they were due."""

    SKIP = "skip"
    RUN_ONCE = "run_once"
    CATCH_UP_LIMITED = "catch_up_limited"


class Overlap(StrEnum):
    """What becomes of a slot's job while an earlier one of its schedule is unfinished, when it would start.

    DEFAULT: the job type decides (exclusive types skip their tick, others run beside one another).
    """

    DEFAULT = ""
    SKIP = "skip"
    BUFFER_ONE = "buffer_one"
    BUFFER_ALL = "buffer_all"
    CANCEL_OTHER = "cancel_other"
    ALLOW = "allow"


class Gap(StrEnum):
    """A local time that a clock change leaves out."""

    DEFAULT = ""  # by Debian cron's rule, see docs/timetables.md
    AT_TRANSITION = "at_transition"
    SKIP = "skip"
    SHIFT = "shift"


class Fold(StrEnum):
    """A local time that a clock change brings twice."""

    DEFAULT = ""
    FIRST = "first"
    BOTH = "both"
    LAST = "last"


class Status(StrEnum):
    """What was decided about a slot, once and for ever."""

    FIRED = "fired"
    COALESCED = "coalesced"
    SKIPPED = "skipped"
    EXPIRED = "expired"
    PAUSED = "paused"
    EXCLUDED = "excluded"
    FAILED = "failed"


class PauseScope(StrEnum):
    """What a pause stops."""

    ALL = "all"
    TENANT = "tenant"
    SCHEDULE = "schedule"


class ResumeRule(StrEnum):
    """What becomes of the slots of a pause when it ends."""

    DROP = "drop"
    MISFIRE = "misfire"


class Audience(StrEnum):
    """For whom a schedule plans: once for the whole host, for each named tenant, or for each tenant there is."""

    GLOBAL = "global"
    NAMED = "named"
    EVERY = "every"


ORIGIN_AUTO = "auto"
"""Origin of a planned slot. The others are ``backfill:<id>`` and ``manual:<key>``."""
