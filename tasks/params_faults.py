"""How a wrong param is told: which one, where inside it, what was expected and what came. Pure."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from jobsplatform.kernel.errors import nearest
from tasks.json_values import path_of, shown

_MOST = 3  # faults of one param that are told; a list of 10,000 wrong rows has as many


def fault_of(error: ValidationError, name: str) -> str:
    """``param 'size': expected a valid integer, got '1' (text)``; no ``name``: a model of all params."""
    faults = error.errors(include_url=False)
    told = [_one(fault) for fault in faults[:_MOST]]
    more = f" and {len(faults) - _MOST} more faults" if len(faults) > _MOST else ""
    return (f"param {name!r}: " if name else "params: ") + "; ".join(told) + more


def _one(fault: Any) -> str:
    # The names of a union's branches are in the path too; they help to see which branch was meant.
    place = path_of(fault["loc"])
    where = f"{place}: " if place else ""
    message = fault["msg"].removeprefix("Value error, ").removesuffix(".")
    if fault["type"] == "missing":
        return f"{where}is missing"
    if message.startswith("Input should be "):
        wanted = message.removeprefix("Input should be ")
        return f"{where}expected {wanted}, got {_got(fault['input'])}{_hint(fault)}"
    return f"{where}{message[:1].lower()}{message[1:]}, got {_got(fault['input'])}"


def _got(value: Any) -> str:
    return shown(value) + (" (text)" if isinstance(value, str) else "")


def _hint(fault: Any) -> str:
    if fault["type"] not in {"literal_error", "enum"} or not isinstance(fault["input"], str):
        return ""
    best = nearest(fault["input"], re.findall(r"'([^']*)'", fault["ctx"]["expected"]))
    return f" (did you mean {best!r}?)" if best else ""
