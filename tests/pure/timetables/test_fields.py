"""The numbers of each field, beside croniter's reading of them."""

from __future__ import annotations

from random import Random

import pytest
from croniter import croniter

from chaos.cron.expressions import expression
from scheduler.timetables.cron import parse


def numbers(bits: int) -> set[int]:
    return {number for number in range(64) if bits >> number & 1}


def test_two_readings_name_the_same_numbers() -> None:
    rng, compared = Random(5), 0
    while compared < 1000:
        text = expression(rng)
        # A range of one value it takes for the whole field, and L and # it knows otherwise.
        same = any(
            low == high
            for item in text.split()
            for part in item.split(",")
            for low, _, high in [part.split("/")[0].partition("-")]
        )  # noqa: E501
        if same or "L" in text.split()[2] or "#" in text or text.endswith("L"):
            continue
        compared += 1
        pattern = parse(text)[0]
        ours = [
            numbers(bits)
            for bits in (pattern.minutes, pattern.hours, pattern.days, pattern.months, pattern.weekdays)
        ]
        theirs, _ = croniter.expand(text)
        full = [set(range(60)), set(range(24)), set(range(1, 32)), set(range(1, 13)), set(range(7))]
        for mine, field, whole in zip(ours, theirs, full, strict=True):
            assert mine == (
                whole
                if "*" in field
                else {int(number) % 7 if whole == full[4] else int(number) for number in field}
            ), text


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("0 0 5-5 * *", {5}), ("0 0 */10 * *", {1, 11, 21, 31}), ("0 0 29-31 * *", {29, 30, 31}),
        ("0 0 10/10 * *", {10, 20, 30}), ("0 0 3,1,2,1 * *", {1, 2, 3}),
    ],
)  # fmt: skip
def test_the_days_of_a_month(text: str, days: set[int]) -> None:
    assert numbers(parse(text)[0].days_of(2026, 1)) == days


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("0 0 * * 5L", {30}), ("0 0 * * 6L", {31}), ("0 0 * * FRI#1,SUN#2", {2, 11}), ("0 0 * * 4#5", {29}),
        ("0 0 * * 0#5", set()), ("0 0 L * *", {31}), ("0 0 1,L * *", {1, 31}), ("0 0 15 * 7L", {15, 25}),
        ("0 0 */15 * SAT", {31}), ("0 0 1,15 * *,5", {1, 15}), ("0 0 L * MON", {5, 12, 19, 26, 31}),
    ],
)  # fmt: skip
def test_the_days_of_january_2026(text: str, days: set[int]) -> None:
    # It begins on a Thursday.
    assert numbers(parse(text)[0].days_of(2026, 1)) == days
