"""Time zones by name, from the pinned tzdata package and from nowhere else. Pure."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.resources import files
from zoneinfo import ZoneInfo

from scheduler.timetables.errors import TimetableError

LONGEST = 100
_PACKAGE = files("tzdata")
_SHOWN = 60


@lru_cache(maxsize=1)
def known() -> frozenset[str]:
    """Every name that there is."""
    return frozenset(_PACKAGE.joinpath("zones").read_text(encoding="ascii").split())


def zone(name: str) -> ZoneInfo:
    """The zone of this name; ``utc`` is UTC in any case of letters, every other name is as it is written.

    Only a name of the list is ever looked up, so no text leads to a file elsewhere. Raises TimetableError:
    ``ZONE_EMPTY``, ``ZONE_LONG``, ``ZONE_UNKNOWN`` (with the nearest names).
    """
    if not isinstance(name, str) or not name.strip():
        raise TimetableError(
            "ZONE_EMPTY", "timezone", "" if name is None else str(name)[:_SHOWN], "a time zone is missing.",
            "Write its name, e.g. 'Europe/Berlin', or 'UTC'.",
        )  # fmt: skip
    if len(name) > LONGEST:
        raise TimetableError(
            "ZONE_LONG", "timezone", name[:_SHOWN] + "…",
            f"a name of {len(name)} characters; at most {LONGEST} are read.", "Write e.g. 'Europe/Berlin'.",
        )  # fmt: skip
    if name.upper() == "UTC":
        return _load("UTC")
    if name not in known():
        raise TimetableError(
            "ZONE_UNKNOWN", "timezone", name, f"{name!r} is no time zone.", _suggestion(name)
        )
    return _load(name)


@cache
def _load(name: str) -> ZoneInfo:
    with _PACKAGE.joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def _suggestion(name: str) -> str:
    near = nearest(name)
    return (
        f"Did you mean {' or '.join(map(repr, near))}?" if near else "Write e.g. 'Europe/Berlin', or 'UTC'."
    )


@lru_cache(maxsize=1)
def _by_words() -> dict[str, str]:
    """Names by what people write of them: all of it, or the city alone, in small letters."""
    words = {name.rpartition("/")[2].lower(): name for name in sorted(known(), reverse=True)}
    return words | {name.lower(): name for name in known()}


def nearest(name: str, count: int = 3) -> list[str]:
    """The known names most like this one, the nearest first."""
    words, wanted = _by_words(), name.strip().lower().replace(" ", "_").replace("\\", "/")
    found = [wanted] if wanted in words else get_close_matches(wanted, words, n=count, cutoff=0.6)
    return list(dict.fromkeys(words[one] for one in found))[:count]
