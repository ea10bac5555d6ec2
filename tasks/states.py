"""The table of legal moves. Pure: no database, no clock.

A job is always in exactly one state. ``MOVES`` lists every way out of one, each with a name; the functions
of the same names in ``tasks.transitions`` are the only writers, and the state diagram in the docs is made
from this table.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path


class State(StrEnum):
    """Where a job is in its life."""

    PENDING = "pending"
    DISPATCHED = "dispatched"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINAL = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED})
ACTIVE = frozenset(State) - FINAL
# These hold a slot, the concurrency key and exclusivity; waiting and paused hold only the dedupe key.
IN_FLIGHT = frozenset({State.DISPATCHED, State.RUNNING})


class Cause(StrEnum):
    """Why a run ended badly."""

    NONE = ""
    HANDLER = "handler"  # it raised
    PANICKED = "panicked"  # it raised what no handler should: SystemExit, MemoryError, RecursionError …
    TIMEOUT = "timeout"
    CRASHED = "crashed"  # its process or worker died
    CANCELLED = "cancelled"


class CancelReason(StrEnum):
    """Why a run is asked to stop; it decides where the run ends."""

    NONE = ""
    USER = "user"  # -> cancelled
    SUPERSEDED = "superseded"  # a newer job of the same purpose -> cancelled
    PREEMPTED = "preempted"  # -> pending, checkpoint kept
    SUSPENDED = "suspended"  # -> pending, checkpoint kept
    SHUTDOWN = "shutdown"  # -> pending, checkpoint kept
    TIMEOUT = "timeout"  # -> as a failure


INTERRUPTIONS = frozenset({CancelReason.PREEMPTED, CancelReason.SUSPENDED, CancelReason.SHUTDOWN})


class Hold(StrEnum):
    """Why a pending row is outside the claim's index; empty means that it may be claimed."""

    NONE = ""
    LATER = "later"  # due_at lies in the future
    KEY = "key"  # its concurrency key is busy
    TENANT = "tenant"  # its tenant is not active
    ALIAS = "alias"  # its leader runs for it
    SUCCESSOR = "successor"  # waits for the leader of its key to end (keep_latest)
    PREEMPTED = "preempted"  # gave way; waits until its preemptor has started
    OVERLAP = "overlap"  # another job of its overlap key is unfinished, or nobody has looked yet


class Overlap(StrEnum):
    """What becomes of a job that may start while another of its overlap key is unfinished."""

    NONE = ""  # it has no overlap key
    SKIP = "skip"  # it is cancelled
    BUFFER_ONE = "buffer_one"  # it waits for the other to end, unless one waits already
    BUFFER_ALL = "buffer_all"  # it waits, however many do
    CANCEL_OTHER = (
        "cancel_other"  # the other is asked to stop; the newest that waits starts when it has ended
    )
    ALLOW = "allow"  # it starts beside the other


DECIDED = frozenset({Overlap.SKIP, Overlap.BUFFER_ONE, Overlap.BUFFER_ALL, Overlap.CANCEL_OTHER})
"""Jobs of these policies are held until somebody has looked at the others of their key."""


REASON_OVERLAP = "overlap"
REASON_LATEST_START = "latest_start"
NEVER_RAN = (REASON_OVERLAP, REASON_LATEST_START)
"""Reasons of jobs that were cancelled because their time to start was wrong."""


class Role(StrEnum):
    """The part a job plays among those of one dedupe key."""

    NONE = ""
    LEADER = "leader"
    ALIAS = "alias"
    SUCCESSOR = "successor"


class Dedupe(StrEnum):
    """What becomes of a job that meets an active one with its dedupe key."""

    ALIAS = "alias"  # it mirrors the leader
    KEEP_LATEST = "keep_latest"  # it waits as the one successor, with the newest params
    REJECT = "reject"  # it is refused


class Priority(IntEnum):
    """Who goes first: higher is more urgent. Jobs of USER_ACTION and above may use the reserved slots."""

    BACKGROUND = 0
    NORMAL = 100
    USER_ACTION = 1000
    URGENT = 5000


MAX_PRIORITY = 9999


@dataclass(frozen=True, slots=True)
class Move:
    """One legal way from one of ``sources`` to ``target``; ``when`` says in a few words what makes it."""

    name: str
    sources: frozenset[State]
    target: State
    when: str


def _move(name: str, sources: State | frozenset[State], target: State, when: str) -> Move:
    return Move(name, sources if isinstance(sources, frozenset) else frozenset({sources}), target, when)


_P, _D, _R, _W, _Z = State.PENDING, State.DISPATCHED, State.RUNNING, State.WAITING, State.PAUSED
_RESTING = frozenset({_W, _Z})

MOVES: tuple[Move, ...] = (
    _move("claim", _P, _D, "a worker with a free slot takes it under a new lease"),
    _move("resend", _D, _D, "its message was lost: new lease, new message"),
    _move("hand_back", _D, _P, "it was not started: message lost, suspended, drained, handler gone"),
    _move("start", _D, _R, "the worker begins the run"),
    _move("complete", frozenset({_R, _W}), State.COMPLETED, "the handler returned; all children ended"),
    _move("fail", frozenset({_R, _W}), State.FAILED, "no attempt is left, or a child failed"),
    _move("retry", frozenset({_R, _W}), _P, "failed or asked for a retry: again after its backoff"),
    _move("snooze", frozenset({_R, _W}), _P, "asked to run later; no attempt used"),
    _move("interrupt", frozenset({_R, _W}), _P, "preempted, suspended or shut down; checkpoint kept"),
    _move("lose", _R, _P, "its worker or process died; counts on the crash budget"),
    _move("crash", _R, State.FAILED, "its worker or process died and the crash budget is spent"),
    _move("wait", frozenset({_R, _W}), _W, "its children are open, or it will be finished from outside"),
    _move("pause", frozenset({_R, _W}), _Z, "asked to be paused"),
    _move(
        "stop", frozenset({_R, _W}), State.CANCELLED, "saw its cancel, was killed for it, or was discarded"
    ),
    _move("cancel", frozenset({_P, _D}) | _RESTING, State.CANCELLED, "cancelled before or between runs"),
    _move("resume", _Z, _P, "resumed by hand, or its pause is over"),
    _move("go_on", _W, _P, "its children have ended: run its continuation"),
    _move("settle_completed", _P, State.COMPLETED, "alias: its leader completed"),
    _move("settle_failed", _P, State.FAILED, "alias: its leader failed"),
    _move("revive", frozenset({State.FAILED, State.CANCELLED}), _P, "an operator retried it"),
)

BY_NAME: dict[str, Move] = {move.name: move for move in MOVES}
LEGAL: frozenset[tuple[State, State]] = frozenset((s, move.target) for move in MOVES for s in move.sources)


def is_legal(source: State, target: State) -> bool:
    """Whether any move leads from ``source`` to ``target``."""
    return (source, target) in LEGAL


def diagram() -> str:
    """The state diagram (Mermaid), one arrow a move and source."""
    arrows = [
        f"    {source} --> {move.target}: {move.name}" for move in MOVES for source in sorted(move.sources)
    ]
    ends = [f"    {state} --> [*]" for state in sorted(FINAL)]
    return "\n".join(["stateDiagram-v2", "    [*] --> pending: submit", *arrows, *ends])


def page() -> str:
    """What the docs say of the moves: the diagram, and a table of what makes each."""
    rows = [
        f"| `{move.name}` | {', '.join(sorted(move.sources))} | {move.target} | {move.when} |"
        for move in MOVES
    ]
    table = "\n".join(["| move | from | to | when |", "|---|---|---|---|", *rows])
    return f"```mermaid\n{diagram()}\n```\n\n{table}\n"


BEGIN, END = "<!-- moves: made by `python -m tasks.states docs/states.md` -->\n", "<!-- moves end -->\n"


def renewed(document: str) -> str:
    """``document`` with what stands between the two marks made anew. Raises ValueError when a mark is missing."""
    head, rest = document.split(BEGIN)
    tail = rest.split(END)[1]
    return f"{head}{BEGIN}{page()}{END}{tail}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
    if not sys.argv[1:]:
        print(page(), end="")
