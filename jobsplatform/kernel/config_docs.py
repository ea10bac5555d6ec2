"""The table of all settings for docs/settings.md; a test holds the page against it.

Run ``python -m jobsplatform.kernel.config_docs`` to print it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jobsplatform.kernel.config_faults import expected
from jobsplatform.kernel.config_schema import PROFILE_DEFAULTS, field_of, variables

UNITS = {"_seconds": "s", "_days": "days", "_bytes": "bytes"}
COLUMNS = ("Environment", "Takes", "Unit", "Default", "Meaning")


def table() -> str:
    """One line a setting, in the order of the schema."""
    lines = [_line(COLUMNS), _line(["---"] * len(COLUMNS))]
    for variable, path in variables().items():
        field = field_of(path)
        unit = next((text for ending, text in UNITS.items() if path[-1].endswith(ending)), "")
        lines.append(
            _line([f"`{variable}`", expected(field), unit, default_text(path), field.description or ""])
        )
    return "\n".join(lines)


def default_text(path: tuple[str, ...]) -> str:
    """The default as one would write it into the environment, and what profiles put in its place."""
    text = _written(field_of(path).default)
    by_value: dict[str, list[str]] = {}
    for profile, defaults in PROFILE_DEFAULTS.items():
        value: Any = defaults
        for part in path:
            value = value.get(part, {}) if isinstance(value, dict) else value
        if value != {} and _written(value) != text:
            by_value.setdefault(_written(value), []).append(profile)
    others = [f"{', '.join(profiles)}: {value}" for value, profiles in by_value.items()]
    return "; ".join([text, *others]) if text else "; ".join(others)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return f"`{','.join(value)}`" if value else ""
    if isinstance(value, dict):
        return f"`{json.dumps(value)}`"
    if isinstance(value, float | int):
        return f"`{value:.0f}`" if value == int(value) else f"`{value:g}`"
    return f"`{value}`" if isinstance(value, str | Path) and str(value) else ""


def _line(cells: Any) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    print(table())
