"""Do the rows and the file say the same, and did the platform keep its word? Every broken promise is one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from chaos.agree import alone, ends, order, records
from chaos.agree.facts import Facts

MOST = 3
"""So many lines of one kind are told."""

CHECKS: tuple[Callable[[Facts], Iterator[str]], ...] = (
    ends.all_accepted,
    ends.right_end,
    ends.one_end,
    records.leases,
    records.attempts,
    records.known_runs,
    records.charges,
    order.cancels,
    order.due_times,
    order.families,
    order.steps,
    alone.never_together,
)


def problems(facts: Facts) -> list[str]:
    """What does not hold; at most some of each kind."""
    return [problem for check in CHECKS for problem in list(check(facts))[:MOST]]
