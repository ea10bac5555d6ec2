"""What a claim costs among few and among a million pending jobs, also behind a million that cannot start."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median

from benchmarks.bench import Bench, Figures
from benchmarks.errors import reason_of
from benchmarks.results import Bound, Metric, Row
from benchmarks.scenarios.base import OURS, Scenario
from benchmarks.session import Session, session

FEW = "among 10,000"
LIMIT = 1.5
COUNTED = (
    "dispatch rounds of 50 jobs from their start to their commit, the median of a series; both databases in "
    "turn; the rows are copies that the database made of a job that the platform made"
)
MANY = Metric("claim among 1,000,000", "µs a job", "lower", COUNTED, (Bound("<=", LIMIT, FEW),))
FRONT = {
    "future": "due tomorrow",
    "suspended": "of a suspended type",
    "key_busy": "whose concurrency key is busy",
    "no_handler": "without a handler",
}
FRONTS = {
    kind: Metric(
        f"claim behind 1,000,000 {words} as well", "µs a job", "lower", COUNTED, (Bound("<=", LIMIT, FEW),)
    )
    for kind, words in FRONT.items()
}
ASIDE = Metric(
    "longest round while those of the busy key are set aside",
    "ms",
    "lower",
    "the longest dispatch round, with all that it does, from the first to the last that finds such rows",
)


def run(bench: Bench) -> list[Row]:
    figures, aside = Figures(), Row(ASIDE)
    steps = {"": MANY, **FRONTS}
    try:
        with ExitStack() as held:
            few = held.enter_context(session(bench.stage, OURS))
            many = held.enter_context(session(bench.stage, OURS))
            _crowd(few, "startable", bench.sizes.few_pending)
            _crowd(many, "startable", bench.sizes.many_pending)
            for kind, metric in steps.items():
                if kind:
                    bench.say(f"claim: making {bench.sizes.in_front} rows in front: {kind}")
                    _crowd(many, kind, bench.sizes.in_front)
                if kind == "key_busy":
                    aside.ours.append(many.do("crowd", step="calm") * 1000)
                    many.do("crowd", step="settle")
                _measure(bench, metric, few, many, figures)
    except Exception as error:
        reason = reason_of(error)
        bench.say(f"claim: not measured: {reason}")
        for metric in steps.values():
            if metric.name not in figures.values.get("ours", {}):
                figures.why[metric.name] = reason
        if not aside.ours:
            aside.why["ours"] = reason
    return [*(_row(metric, figures) for metric in steps.values()), aside]


def _crowd(opened: Session, step: str, count: int) -> None:
    opened.do("crowd", step=step, count=count)
    opened.do("crowd", step="settle")


def _measure(bench: Bench, metric: Metric, few: Session, many: Session, figures: Figures) -> None:
    found: dict[str, list[float]] = {FEW: [], "ours": []}
    for n in range(bench.rounds):
        pair: Sequence[tuple[str, Session]] = [(FEW, few), ("ours", many)]
        for name, opened in pair if n % 2 == 0 else reversed(pair):
            found[name].append(median(opened.do("crowd", step="claims", rounds=bench.sizes.claims)))
        bench.say(f"{metric.name}: round {n + 1}: {found['ours'][-1]:.4g}, {FEW} {found[FEW][-1]:.4g}")
    for name, values in found.items():
        for value in values:
            figures.add(name, {metric.name: value})


def _row(metric: Metric, figures: Figures) -> Row:
    row = figures.row(metric, [FEW])
    if metric.name in figures.why:
        row.why["ours"] = figures.why[metric.name]
    return row


SCENARIO = Scenario("claim", "cost of a claim among many jobs", (OURS,), run)
