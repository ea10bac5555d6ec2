"""What to do about a schedule now: which slots fire, which are decided otherwise, when to look again. Pure."""

from __future__ import annotations

from datetime import datetime

from jobsplatform.kernel.instants import text
from scheduler.decisions import Cursor, Decision, Fire, Plan
from scheduler.policies import Policies
from scheduler.rounds import MOST_FIRES, SECOND, Round
from scheduler.states import Misfire, Status
from scheduler.timetables.base import Timetable

__all__ = ["CATCH_UP", "LIVE", "Cursor", "Decision", "Fire", "Plan", "plan"]

LIVE = "live"
CATCH_UP = "catch_up"

PAUSED = "paused"
MISFIRE = "misfire"
CATCH_UP_WINDOW = "catch-up window"
LIMIT = "limit"


def plan(timetable: Timetable, policies: Policies, cursor: Cursor, now: datetime) -> Plan:
    """Decide the slots in ``(cursor.last_planned_at, now]``, each once and in their order.

    All of them, but for those that a bound of the round (``misfire_limit``, at most 1,000) leaves to the next one
    (``next_due`` is ``now`` then), and for those after the last of ``max_runs``. The cost grows with the slots that
    fire, not with those that were missed. A ``now`` before the cursor, of a clock that went back, decides nothing.
    """
    round_ = Round(timetable, policies, cursor, now)
    if not round_.over and cursor.dropped_until is not None:
        round_.through(cursor.dropped_until, Status.PAUSED, PAUSED)
    match policies.misfire:
        case Misfire.SKIP:
            return _skip(round_, policies)
        case Misfire.RUN_ONCE:
            return _run_once(round_, policies)
        case Misfire.CATCH_UP_LIMITED:
            return _catch_up_limited(round_, policies, cursor.episode)


def _skip(round_: Round, policies: Policies) -> Plan:
    """Only what is still on time fires. Each slot's work is its own period: what was skipped stays undone."""
    if not round_.over:
        round_.through(round_.late(policies.grace), Status.SKIPPED, MISFIRE)
    for slot in round_.open():
        if len(round_.fires) >= MOST_FIRES:
            return round_.end(more=True)
        round_.fire(slot, origin=LIVE, contiguous=False)
    return round_.end()


def _run_once(round_: Round, policies: Policies) -> Plan:
    """The newest slot fires and does the work of all before it."""
    newest = None if round_.over else round_.newest()
    if newest is not None:
        round_.through(newest - SECOND, Status.COALESCED, f"coalesced into {text(newest)}")
        origin = CATCH_UP if newest <= round_.late(policies.grace) else LIVE
        round_.fire(newest, origin=origin, contiguous=True)
    return round_.end()


def _catch_up_limited(round_: Round, policies: Policies, episode: int) -> Plan:
    """The oldest first, a few a round; what is too old, or too much for one episode, does not fire."""
    if not round_.over:
        round_.through(round_.late(policies.catch_up_window), Status.EXPIRED, CATCH_UP_WINDOW)
    late = round_.late(policies.grace)
    limit = min(max(1, policies.misfire_limit), MOST_FIRES)
    for slot in round_.open():
        behind = slot <= late
        if behind and policies.catch_up_max is not None and episode >= policies.catch_up_max:
            round_.through(late, Status.SKIPPED, LIMIT)
            continue
        if len(round_.fires) >= limit:
            return round_.end(more=True, episode=episode if behind else 0)
        round_.fire(slot, origin=CATCH_UP if behind else LIVE, contiguous=True)
        episode += behind
    return round_.end()
