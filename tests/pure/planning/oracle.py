"""The same rules, told slot by slot: slow, and written without a look at how the planner goes about it."""

from dataclasses import replace
from datetime import UTC, datetime

from scheduler.decisions import Cursor, Decision, Fire, Plan
from scheduler.policies import Policies
from scheduler.states import Misfire, Status
from tests.pure.planning.timetables import Listed

Word = tuple[str, str]


def told(plan: Plan, timetable: Listed) -> list[tuple[datetime, Word]]:
    """Each slot that the plan decides, and how: ranges are unrolled over the slots that they must hold."""
    rows: list[tuple[datetime, Word]] = [(fire.planned_at, ("fired", fire.origin)) for fire in plan.fires]
    for row in plan.decisions:
        pool = timetable.out if row.status is Status.EXCLUDED else timetable.slots
        held = [slot for slot in pool if row.planned_at <= slot <= row.planned_until]
        assert (held[0], held[-1], len(held)) == (row.planned_at, row.planned_until, row.count), row
        rows += [(slot, (str(row.status), row.reason)) for slot in held]
    return sorted(rows)


def expected(
    timetable: Listed, policies: Policies, cursor: Cursor, now: datetime
) -> tuple[list[tuple[datetime, Word]], Cursor, bool]:
    """Each slot and how, the cursor after it, and whether more is left for the next round."""
    undecided = sorted(
        slot
        for slot in [*timetable.slots, *timetable.out]
        if cursor.last_planned_at < slot <= now and not on_record(slot, cursor)
    )
    rows: list[tuple[datetime, Word]] = []
    after, left, more = cursor, _left(policies, cursor), False
    fires = 0
    candidates = [slot for slot in undecided if _before_policy(slot, timetable, cursor) is None]
    for slot in undecided:
        if left == 0:
            break
        word = _before_policy(slot, timetable, cursor)
        late = now - slot > policies.grace
        if word is None:
            word = _by_policy(slot, late, candidates, policies, after.episode, now)
        if word[0] == "fired":
            if policies.misfire is Misfire.CATCH_UP_LIMITED and fires == policies.misfire_limit:
                more = True
                after = replace(after, episode=after.episode if late else 0)
                break
            fires += 1
            left = None if left is None else left - 1
            episode = after.episode + (late and policies.misfire is Misfire.CATCH_UP_LIMITED)
            after = replace(after, last_fired_at=slot, fired=after.fired + 1, episode=episode)
        rows.append((slot, word))
        after = replace(after, last_planned_at=slot)
    return rows, after if more else replace(after, episode=0), more


def on_record(slot: datetime, cursor: Cursor) -> bool:
    """Whether somebody has decided the slot already."""
    return any(first <= slot <= last for first, last in cursor.decided)


def _left(policies: Policies, cursor: Cursor) -> int | None:
    return None if policies.max_runs is None else max(0, policies.max_runs - cursor.fired)


def _before_policy(slot: datetime, timetable: Listed, cursor: Cursor) -> Word | None:
    if slot in timetable.out:
        return ("excluded", "excluded date")
    if cursor.dropped_until is not None and slot <= cursor.dropped_until:
        return ("paused", "paused")
    if slot in cursor.skips:
        return ("skipped", "skipped once")
    return None


def _by_policy(
    slot: datetime, late: bool, candidates: list[datetime], policies: Policies, episode: int, now: datetime
) -> Word:
    fired = ("fired", "catch_up" if late else "live")
    match policies.misfire:
        case Misfire.SKIP:
            return ("skipped", "misfire") if late else fired
        case Misfire.RUN_ONCE:
            newest = candidates[-1]
            if slot == newest:
                return fired
            return ("coalesced", f"coalesced into {newest.astimezone(UTC).strftime('%Y-%m-%dT%H:%M:%SZ')}")
        case Misfire.CATCH_UP_LIMITED:
            if now - slot > policies.catch_up_window:
                return ("expired", "catch-up window")
            if late and policies.catch_up_max is not None and episode >= policies.catch_up_max:
                return ("skipped", "limit")
            return fired


def in_order(plan: Plan) -> list[Fire | Decision]:
    """All rows of a plan in the order of their slots."""
    return sorted([*plan.fires, *plan.decisions], key=lambda row: row.planned_at)
