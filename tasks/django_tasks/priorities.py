"""Two scales of urgency: that of tasks, from -100 to 100, and that of jobs. Pure.

-100 is BACKGROUND, 0 is NORMAL, 100 is USER_ACTION; between them the scale is straight, so that two tasks that differ
in priority are jobs that do.
"""

from __future__ import annotations

from tasks.states import Priority

_STEP = (Priority.USER_ACTION - Priority.NORMAL) // 100


def to_job(priority: int) -> int:
    """The priority of the job of a task with this one."""
    return int(Priority.NORMAL) + (priority if priority <= 0 else priority * _STEP)


def to_task(priority: int) -> int:
    """The nearest priority of a task with a job of this one, of those that are not more urgent."""
    above = priority - int(Priority.NORMAL)
    return max(-100, above) if above <= 0 else min(100, above // _STEP)
