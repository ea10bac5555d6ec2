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
BOUNDS = (Bound("<=", LIMIT, FEW),)
COUNTED = (
    "dispatch rounds of 50 jobs from their start to their commit, the median of a series; both databases in "
    "turn; the rows are copies that the database made of a job that the platform made"
)
FRONT = {
    "": "claim among 1,000,000",
    "future": "claim behind 1,000,000 due tomorrow as well",
    "suspended": "claim behind 1,000,000 of a suspended type as well",
    "key_busy": "claim behind 1,000,000 whose concurrency key is busy as well",
    "no_handler": "claim behind 1,000,000 without a handler as well",
}
PACKED_COUNTED = f"the same in rounds of two packs of 500 jobs; {COUNTED.partition(';')[2].strip()}"
SERIES = {
    "claims": {kind: Metric(name, "µs a job", "lower", COUNTED, BOUNDS) for kind, name in FRONT.items()},
    "packed_claims": {
        kind: Metric(f"{name}, packed", "µs a job", "lower", PACKED_COUNTED, BOUNDS)
        for kind, name in FRONT.items()
    },
}
METRICS = [metric for kind in FRONT for metric in (SERIES[name][kind] for name in SERIES)]
ASIDE = Metric(
    "longest round while those of the busy key are set aside",
    "ms",
    "lower",
    "the longest of the first 40 dispatch rounds that find such rows, with all that a round does",
)


def run(bench: Bench) -> list[Row]:
    figures, aside = Figures(), Row(ASIDE)
    try:
        with ExitStack() as held:
            few = held.enter_context(session(bench.stage, OURS))
            many = held.enter_context(session(bench.stage, OURS))
            _crowd(few, "startable", bench.sizes.few_pending)
            _crowd(many, "startable", bench.sizes.many_pending)
            for kind in FRONT:
                if kind:
                    bench.say(f"claim: making {bench.sizes.in_front} rows in front: {kind}")
                    _crowd(many, kind, bench.sizes.in_front)
                if kind == "key_busy":
                    aside.ours.append(many.do("crowd", step="calm") * 1000)
                    many.do("crowd", step="settle")
                for series, metrics in SERIES.items():
                    _measure(bench, series, metrics[kind], few, many, figures)
    except Exception as error:
        reason = reason_of(error)
        bench.say(f"claim: not measured: {reason}")
        for metric in METRICS:
            if metric.name not in figures.values.get("ours", {}):
                figures.why[metric.name] = reason
        if not aside.ours:
            aside.why["ours"] = reason
    return [*(_row(metric, figures) for metric in METRICS), aside]


def _crowd(opened: Session, step: str, count: int) -> None:
    opened.do("crowd", step=step, count=count)
    opened.do("crowd", step="settle")


def _measure(
    bench: Bench, series: str, metric: Metric, few: Session, many: Session, figures: Figures
) -> None:
    count = bench.sizes.claims if series == "claims" else bench.sizes.packed_claims
    found: dict[str, list[float]] = {FEW: [], "ours": []}
    for n in range(bench.rounds):
        pair: Sequence[tuple[str, Session]] = [(FEW, few), ("ours", many)]
        for name, opened in pair if n % 2 == 0 else reversed(pair):
            found[name].append(median(opened.do("crowd", step=series, rounds=count)))
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
