"""Texts that are meant to hurt: they are answered at once, whatever the answer."""

from __future__ import annotations

import time
import tracemalloc
from datetime import timedelta
from random import Random

import pytest

from chaos.cron.expressions import expression
from scheduler.timetables import TimetableError, build, cron, describe, normalise
from scheduler.timetables.calendar import Pattern
from tests.pure.timetables.moments import at

NOW = at("2026-01-01")
_SIGNS = "0123456789*/-,#LWHR?@()JANMONTHU._+~ \t\n\x00\u0661\uff15\xa0'\"%"


def hostile(seed: int, number: int) -> list[str]:
    """Random signs, mangled expressions, huge numbers, long lists, endless blanks."""
    rng, found = Random(seed), []
    for _ in range(number):
        kind = rng.randrange(6)
        if kind == 0:
            text = "".join(rng.choice(_SIGNS) for _ in range(rng.randrange(300)))
        elif kind == 1:
            text = list(expression(rng))
            text[rng.randrange(len(text))] = rng.choice(_SIGNS)
            text = "".join(text)
        elif kind == 2:
            text = f"{rng.choice(['0-', '*/', '', '1,'])}{'9' * rng.randrange(1, 10 ** rng.randrange(1, 6))} * * * *"
        elif kind == 3:
            text = " ".join([",".join([rng.choice(["*", "*/2", "1-5", "0"])] * rng.randrange(1, 40))] * 5)
        elif kind == 4:
            text = f"{rng.randrange(60)} 2 {rng.choice(['29', '30', '31', '*/31', 'L', '29-31'])} 2 {rng.choice('*06')}"
        else:
            text = " " * rng.randrange(250) + expression(rng)
        found.append(text)
    return found


def test_a_thousand_hostile_texts_are_answered_within_moments_each() -> None:
    texts = hostile(1, 1000)
    assert sum(len(text) > 256 for text in texts) > 50
    answers: set[str] = set()
    worst = 0.0
    tracemalloc.start()
    for text in texts:
        began = time.process_time()
        try:
            timetable = build("cron", {"cron": text}, "America/New_York")
            timetable.next(NOW), timetable.previous(NOW), timetable.count(NOW, NOW + timedelta(days=366))
            describe(timetable)
            answers.add("built")
        except TimetableError as error:
            assert len(str(error)) < 600
            assert error.field and error.message
            answers.add(error.code)
        worst = max(worst, time.process_time() - began)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answers >= {"built", "CRON_LONG", "CRON_SYNTAX", "CRON_FIELDS", "CRON_RANGE", "CRON_NEVER"}
    # Processor time, and many times what it takes: a search without an end takes seconds.
    assert worst < 1
    assert peak < 32 * 1024 * 1024


def test_a_search_takes_a_bounded_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    real = Pattern.days_of

    def counted(self: Pattern, year: int, month: int) -> int:
        nonlocal steps
        steps += 1
        return real(self, year, month)

    monkeypatch.setattr(Pattern, "days_of", counted)
    rare = [
        "0 0 29 2 */6", "59 23 29 2 */7,0", "0 0 */29 2 */5", "30 2 * 3 0#2", "0 0 31 1-12/11 *", "0 0 * 2 1#5",
        *(text for text in hostile(2, 300) if len(text) < 257),
    ]  # fmt: skip
    for text in rare:
        for gap in ("", "skip"):
            try:
                timetable = build("cron", {"cron": text, "gap": gap}, "America/New_York")
            except TimetableError:
                continue
            for ask in (timetable.next, timetable.previous):
                for start in (NOW, at("2096-02-29T12:00"), at("1901-01-01"), at("2999-06-01")):
                    steps = 0
                    ask(start)
                    assert steps < 500, (text, ask, start)


def test_the_ends_of_the_calendar_are_answered() -> None:
    for kind, config in (
        ("cron", {"cron": "0 0 29 2 *"}),
        ("cron", {"cron": "* * * * *"}),
        ("interval", {"every": 7}),
        ("interval", {"months": 7, "anchor": "2026-01-31T00:00:00Z"}),
    ):
        timetable = build(kind, config, "Pacific/Apia")
        for edge in (
            "0001-01-01T00:00:00",
            "1899-12-31T23:59:59",
            "2999-12-31T23:59:59",
            "9999-12-31T23:59:59",
        ):
            for answer in (timetable.next(at(edge)), timetable.previous(at(edge))):
                assert answer is None or 1900 <= answer.year < 3000
        assert timetable.previous(at("1899-12-31")) is None
        assert timetable.next(at("3000-01-01")) is None
        assert timetable.count(at("3000-01-01"), at("9999-12-31")) == 0


@pytest.mark.parametrize("text", [None, 5, 5.5, True, ["* * * * *"], {"a": 1}, b"* * * * *"])
def test_what_is_no_text_is_refused(text: object) -> None:
    with pytest.raises(TimetableError) as refused:
        normalise("cron", {"cron": text}, "UTC")
    assert refused.value.code in {"CRON_TEXT", "CONFIG_MISSING"}


def test_kept_readings_are_bounded() -> None:
    assert cron._parse.cache_info().maxsize == 4096
    assert cron.cron.cache_info().maxsize == 4096
    before = cron._parse.cache_info().currsize
    for number in range(20):
        with pytest.raises(TimetableError):
            build("cron", {"cron": " " * 1000 + str(number)}, "UTC")
    assert cron._parse.cache_info().currsize == before
