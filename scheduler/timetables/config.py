"""From what a schedule stores (trigger type, configuration, zone) to its timetable. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from scheduler.states import Fold, Gap, TriggerType
from scheduler.timetables.base import Timetable
from scheduler.timetables.bounds import Bounded, Exclusions
from scheduler.timetables.clock import clock
from scheduler.timetables.cron import LONGEST, cron, parse
from scheduler.timetables.durations import seconds
from scheduler.timetables.errors import TimetableError
from scheduler.timetables.instants import floor, instant
from scheduler.timetables.interval import AfterEnd, Interval, Months
from scheduler.timetables.moments import dates, day_number, moment, stored
from scheduler.timetables.once import Manual, Once
from scheduler.timetables.zones import zone

COMMON = ("start", "end", "exclude", "jitter_seconds", "max_runs", "misfire_limit")
KEYS: dict[TriggerType, tuple[str, ...]] = {
    TriggerType.CRON: ("cron", "gap", "fold"),
    TriggerType.INTERVAL: ("every", "months", "month_end", "anchor", "from"),
    TriggerType.DATE: ("at",),
    TriggerType.MANUAL: (),
}
MOST_JITTER = 86_400
MOST_MONTHS = 1200
_FROM_2040 = instant(2_208_988_800)


def build(
    trigger_type: str,
    trigger_config: Mapping[str, Any],
    timezone: str,
    *,
    schedule_id: str = "",
    tenant_id: str = "",
) -> Timetable:
    """The timetable of a stored or a typed configuration; one object for equal input, so keep none yourself.

    ``schedule_id`` is what ``H`` is hashed by; jitter also by ``tenant_id``. Raises TimetableError.
    """
    try:
        key = _frozen(trigger_config)
        # One object serves all that neither hash nor jitter by who they are.
        seed = (schedule_id, tenant_id) if _seeded(trigger_config) else ("", "")
        hash((key, trigger_type, timezone))
    except (TypeError, AttributeError):
        return _build(
            trigger_type, normalise(trigger_type, trigger_config, timezone), timezone, schedule_id, tenant_id
        )
    return _built(trigger_type, key, timezone, *seed)


def _seeded(config: Mapping[str, Any]) -> bool:
    return bool(config.get("jitter_seconds")) or _hashed(config)


def _hashed(config: Mapping[str, Any]) -> bool:
    # THU has an H too, and so have some aliases.
    text = str(config.get("cron", ""))[:LONGEST].upper()
    return not text.startswith("@") and "H" in text.replace("THU", "")


def _frozen(config: Mapping[str, Any]) -> tuple[tuple[str, type, Any], ...]:
    # The type too: 1 and True are equal, and one of them is refused.
    return tuple(
        (name, type(value), tuple(value) if isinstance(value, list) else value)
        for name, value in config.items()
    )


@lru_cache(maxsize=16_384)
def _built(
    trigger_type: str, key: tuple[Any, ...], timezone: str, schedule_id: str, tenant_id: str
) -> Timetable:
    config = normalise(trigger_type, {name: value for name, _, value in key}, timezone)
    return _build(trigger_type, config, timezone, schedule_id, tenant_id)


def _build(
    trigger_type: str, config: Mapping[str, Any], name: str, schedule_id: str, tenant_id: str
) -> Timetable:
    inner = _inner(TriggerType(trigger_type), config, name, schedule_id)
    if not {"start", "end", "exclude", "jitter_seconds"} & config.keys():
        return inner
    named = config.get("exclude", ())
    exclusions = Exclusions(
        frozenset(day_number(text) for text in named if len(text) == 10),
        frozenset((int(text[:2]), int(text[3:])) for text in named if len(text) == 5),
    )
    if exclusions.yearly and trigger_type in (TriggerType.CRON, TriggerType.INTERVAL):
        endless = Bounded(inner, clock(name), exclusions=Exclusions(yearly=exclusions.yearly))
        if endless.next(_FROM_2040) is None:
            raise TimetableError(
                "EXCLUDE_ALL", "exclude", ", ".join(named)[:40], "every slot falls on an excluded date.",
                "Leave out a date.",
            )  # fmt: skip
    return Bounded(
        inner, clock(name), exclusions=exclusions, jitter=config.get("jitter_seconds", 0),
        start=_second(config.get("start")), end=_second(config.get("end")),
        seed=f"{schedule_id}\0{tenant_id}",
    )  # fmt: skip


def _inner(trigger_type: TriggerType, config: Mapping[str, Any], name: str, schedule_id: str) -> Timetable:
    match trigger_type:
        case TriggerType.CRON:
            seed = schedule_id if _hashed(config) else ""
            gap, fold = Gap(config.get("gap", "")), Fold(config.get("fold", ""))
            return cron(config["cron"], zone(name).key, gap, fold, seed)
        case TriggerType.INTERVAL:
            anchor = _second(config.get("anchor")) or 0
            if "months" in config:
                return Months(config["months"], anchor, name, config["month_end"] == "clamp")
            if config.get("from") == "last_end":
                return AfterEnd(config["every"])
            return Interval(config["every"], anchor)
        case TriggerType.DATE:
            return Once(datetime.fromisoformat(config["at"]))
        case TriggerType.MANUAL:
            return Manual()


def _second(text: str | None) -> int | None:
    return None if text is None else floor(datetime.fromisoformat(text))


# -- reading ---------------------------------------------------------------------------------------------------


def normalise(trigger_type: str, config: Mapping[str, Any], timezone: str) -> dict[str, Any]:
    """The configuration as it is stored: instants in UTC, lengths in whole seconds, dates in order, the expression
    put in order; what is empty is left out. Normalising twice changes nothing. Raises TimetableError."""
    name = zone(timezone).key
    kind = _kind(trigger_type)
    given = _given(kind, config)
    found: dict[str, Any] = {}
    match kind:
        case TriggerType.CRON:
            found = _cron(given)
        case TriggerType.INTERVAL:
            found = _interval(given, name)
        case TriggerType.DATE:
            found["at"] = stored(moment(_required(given, "at", "2026-07-01T10:00:00+02:00"), name, "at"))
        case TriggerType.MANUAL:
            pass
    return found | _common(given, name)


def limits(config: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """``max_runs`` and ``misfire_limit``, None where it names none. Raises TimetableError."""
    _checked(config)
    return _whole(config, "max_runs", 1, 10**9), _whole(config, "misfire_limit", 1, 1000)


def _kind(trigger_type: str) -> TriggerType:
    try:
        return TriggerType(trigger_type)
    except ValueError:
        names = [str(kind) for kind in TriggerType]
        raise TimetableError(
            "TRIGGER_TYPE", "trigger_type", str(trigger_type)[:40], f"{str(trigger_type)[:40]!r} is no trigger type.",
            _near(str(trigger_type), names),
        ) from None  # fmt: skip


def _checked(config: object) -> None:
    if not isinstance(config, Mapping):
        raise TimetableError(
            "CONFIG_TYPE", "trigger_config", str(config)[:40], "it is no mapping of names to values.",
            'Write e.g. {"cron": "30 2 * * *"}.',
        )  # fmt: skip


def _given(kind: TriggerType, config: Mapping[str, Any]) -> dict[str, Any]:
    _checked(config)
    known = [*KEYS[kind], *COMMON]
    for name in config:
        if name not in known:
            raise TimetableError(
                "CONFIG_KEY", str(name)[:40], str(name)[:40], f"no setting of a {kind} timetable.",
                _near(str(name)[:100], known),
            )  # fmt: skip
    return {name: value for name, value in config.items() if value is not None and value != ""}


def _near(wrong: str, names: list[str]) -> str:
    found = get_close_matches(wrong[:100], names, n=1, cutoff=0.5)
    return f"Did you mean {found[0]!r}?" if found else f"Known: {', '.join(names)}."


def _required(given: Mapping[str, Any], name: str, example: str) -> Any:
    if name not in given:
        raise TimetableError("CONFIG_MISSING", name, "", "it is missing.", f"Write e.g. {example}.")
    return given[name]


def _cron(given: Mapping[str, Any]) -> dict[str, Any]:
    found = {"cron": parse(_required(given, "cron", "'30 2 * * *'"))[1]}
    for name, words in (("gap", Gap), ("fold", Fold)):
        if name in given:
            found[name] = _word(given, name, [str(word) for word in words if word])
    return found


def _interval(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if ("every" in given) == ("months" in given):
        problem = "give one of `every` and `months`, not both." if "every" in given else "it is missing."
        raise TimetableError(
            "CONFIG_MISSING" if "every" not in given else "CONFIG_BOTH", "every", str(given.get("every", ""))[:40],
            problem, "Write e.g. every 7m, or months 3.",
        )  # fmt: skip
    if "every" in given:
        found["every"] = seconds(given["every"])
        if (start := _word(given, "from", ["slot", "last_end"], "slot")) == "last_end":
            found["from"] = start
    else:
        found["months"] = _whole(given, "months", 1, MOST_MONTHS)
        found["month_end"] = _word(given, "month_end", ["clamp", "skip"], "clamp")
    other = {"month_end"} if "every" in given else {"from"}
    for key in other & given.keys():
        raise TimetableError(
            "CONFIG_KEY", key, str(given[key])[:40], "it goes with " + ("months." if "every" in given else "every."),
            "Leave it out.",
        )  # fmt: skip
    if "anchor" in given:
        found["anchor"] = stored(moment(given["anchor"], name, "anchor"))
    return found


def _common(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in ("start", "end"):
        if key in given:
            found[key] = stored(moment(given[key], name, key))
    if "start" in found and "end" in found and found["end"] < found["start"]:
        raise TimetableError(
            "BOUNDS",
            "end",
            str(given["end"])[:40],
            f"it lies before the start, {found['start']}.",
            "Exchange them.",
        )
    if given.get("exclude"):
        found["exclude"] = dates(given["exclude"])
    if jitter := _whole(given, "jitter_seconds", 0, MOST_JITTER):
        found["jitter_seconds"] = jitter
    for key, value in zip(("max_runs", "misfire_limit"), limits(given), strict=True):
        if value is not None:
            found[key] = value
    return found


def _whole(given: Mapping[str, Any], name: str, low: int, high: int) -> int | None:
    value = given.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise TimetableError(
            "CONFIG_NUMBER",
            name,
            str(value)[:40],
            f"{str(value)[:40]!r} is no whole number from {low} to {high}.",
            "",
        )
    return value


def _word(given: Mapping[str, Any], name: str, words: list[str], otherwise: str = "") -> str:
    value = given.get(name, otherwise)
    if value not in words:
        raise TimetableError(
            "CONFIG_WORD", name, str(value)[:40], f"{str(value)[:40]!r} is none of its words.",
            _near(str(value), words),
        )  # fmt: skip
    return str(value)
