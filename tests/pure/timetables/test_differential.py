"""Ours beside cronsim: a sample of what `./dev soak cron` does at length. No disagreement is left unexplained."""

from __future__ import annotations

from collections import Counter

import pytest

from chaos.cron import compare, minutes, soak
from chaos.cron.compare import RULES, ZONES, Case
from scheduler.states import Fold, Gap
from scheduler.timetables.clock import clock
from scheduler.timetables.cron import Cron, parse
from tests.pure.timetables.moments import at

SEED = 2026
EXPRESSIONS = 250


def test_every_disagreement_has_a_name() -> None:
    found = [one for number in range(EXPRESSIONS) for one in soak.disagreements(SEED, number)]
    assert len(ZONES) == 24
    assert [str(one) for one in found if not one.rule] == []
    named = Counter(one.rule for one in found)
    assert named.keys() <= RULES.keys()
    # So few are explained that the rules cannot be covering up much: one in fifty.
    assert 0 < len(found) < EXPRESSIONS * len(ZONES) / 50


def case(text: str, zone: str, after: str) -> Case:
    change = clock(zone).segment(int(at(after).timestamp()) + 86_400)
    return Case(text, zone, at(after), change)


@pytest.mark.parametrize(
    ("rule", "text", "zone", "after"),
    [
        ("asked in the second pass", "30 1 * * *", "America/New_York", "2026-11-01T01:10:00-05:00"),
        ("a date that never comes", "0 0 */6 2 1#5", "Europe/Berlin", "2026-03-28T12:00"),
        ("a range of one value", "0 0 * * 2-2/3", "Europe/Berlin", "2026-04-01T12:00"),
        ("a change of no whole hours", "20 * * * *", "America/Caracas", "2016-05-01T06:33:01"),
        ("a change not on the hour", "48/19 */5 * * *", "America/St_Johns", "1996-10-27T02:05:23"),
        ("no midnight", "* 1 * * */5", "America/Sao_Paulo", "2008-10-19T00:00:31"),
    ],
)
def test_each_name_is_of_something(rule: str, text: str, zone: str, after: str) -> None:
    found = compare.compare(case(text, zone, after))
    assert found is not None
    assert found.rule == rule


@pytest.mark.parametrize(
    "attributes",
    [{"gap": Gap.SKIP}, {"gap": Gap.SHIFT}, {"fold": Fold.BOTH}, {"fold": Fold.LAST}],
    ids=["gap skipped", "gap shifted", "fold twice", "fold late"],
)
def test_another_rule_would_not_pass(attributes: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(Cron):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)  # type: ignore[arg-type]
            for name, value in attributes.items():
                setattr(self, name, value)

    monkeypatch.setattr(compare, "cron", lambda text, zone: Other(parse(text)[0], zone))
    unexplained = [one for number in range(60) for one in soak.disagreements(SEED, number) if not one.rule]
    assert unexplained


def test_a_slot_too_early_or_too_late_is_not_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    shifted = case("20 * * * *", "America/Caracas", "2016-05-01T06:33:01")
    ours = compare._ours(shifted)
    assert isinstance(ours, list)
    monkeypatch.setattr(compare, "_ours", lambda _: ours[1:])
    found = compare.compare(shifted)
    assert found is not None and found.rule == ""


def test_the_reading_by_the_minute_knows_what_was_worked_out_by_hand() -> None:
    berlin = clock("Europe/Berlin").zone
    spring = minutes.slots("30 2 * * *", berlin, at("2026-03-28T12:00"), at("2026-03-30T12:00"))
    assert list(spring) == [at("2026-03-29T01:00"), at("2026-03-30T00:30")]
    autumn = minutes.slots("*/30 2 * * *", berlin, at("2026-10-24T12:00"), at("2026-10-25T12:00"))
    assert len(list(autumn)) == 4


def test_the_command_says_what_it_did(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from chaos import soak as command

    assert command.main(["cron", "--expressions", "5", "--seed", "1"]) == 0
    said = capsys.readouterr().out
    assert "seed 1: 5 expressions in 24 zones, 120 comparisons" in said
    assert "0  unexplained" in said
    assert command.main(["cron", "--expressions", "0"]) == 2
    monkeypatch.setattr(compare, "RULES", {})
    numbers = [number for number in range(60) if soak.disagreements(1, number)]
    assert command.main(["cron", "--seed", "1", "--first", str(numbers[0]), "--expressions", "1"]) == 1
    assert f"again: ./dev soak cron --seed 1 --first {numbers[0]} --expressions 1" in capsys.readouterr().out
