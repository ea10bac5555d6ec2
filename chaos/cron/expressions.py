"""Cron expressions at random, most of them such as people write."""

from __future__ import annotations

from random import Random

_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


def expression(rng: Random) -> str:
    """Five fields that both readings know. Times around midnight and the small hours are the most frequent: there
    the clocks change."""
    return " ".join((_minute(rng), _hour(rng), _day(rng), _month(rng), _weekday(rng)))


def _minute(rng: Random) -> str:
    return rng.choice((_star, _step, _fixed, _fixed, _list, _range, _open))(rng, 0, 59)


def _hour(rng: Random) -> str:
    if rng.random() < 0.4:
        return str(rng.randrange(5))
    return rng.choice((_star, _star, _step, _fixed, _list, _range, _open))(rng, 0, 23)


def _day(rng: Random) -> str:
    if rng.random() < 0.6:
        return "*"
    if rng.random() < 0.15:
        return "L"
    return rng.choice((_step, _fixed, _list, _range, _open))(rng, 1, 31)


def _month(rng: Random) -> str:
    if rng.random() < 0.7:
        return "*"
    return _named(rng, rng.choice((_step, _fixed, _list, _range, _open))(rng, 1, 12), _MONTHS, 1)


def _weekday(rng: Random) -> str:
    if rng.random() < 0.6:
        return "*"
    if rng.random() < 0.3:
        day = rng.choice([*_DAYS, *"01234567"])
        return f"{day}#{rng.randint(1, 5)}" if rng.random() < 0.6 else f"{rng.randint(0, 7)}L"
    # Without names, so that 7 is met; and no N/step, whose end the two readings see at 6 and at 7.
    return rng.choice((_step, _fixed, _list, _range))(rng, 0, 7 if rng.random() < 0.5 else 6)


def _named(rng: Random, text: str, names: tuple[str, ...], first: int) -> str:
    """Some of the numbers by their names."""
    if text.isdigit() and rng.random() < 0.5:
        return rng.choice((str.upper, str.lower))(names[int(text) - first])
    return text


def _star(rng: Random, low: int, high: int) -> str:
    return "*"


def _fixed(rng: Random, low: int, high: int) -> str:
    return rng.choice(("{}", "{}", "{:02}")).format(rng.randint(low, high))


def _step(rng: Random, low: int, high: int) -> str:
    return f"*/{rng.randint(1, min(high - low, 6) if high != 59 else 40)}"


def _range(rng: Random, low: int, high: int) -> str:
    first, last = sorted((rng.randint(low, high), rng.randint(low, high)))
    return f"{first}-{last}" + (f"/{rng.randint(1, 5)}" if rng.random() < 0.3 else "")


def _open(rng: Random, low: int, high: int) -> str:
    return f"{rng.randint(low, high)}/{rng.randint(1, (high - low) // 2)}"


def _list(rng: Random, low: int, high: int) -> str:
    parts = [
        rng.choice((_fixed, _fixed, _range, _star, _step))(rng, low, high) for _ in range(rng.randint(2, 4))
    ]
    return ",".join(parts)
