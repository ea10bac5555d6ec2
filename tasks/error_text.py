"""An exception as text that can be stored. The object itself never leaves the run: it may hold a lock or a
socket, need arguments that nobody has, or fail to say what it is."""

from __future__ import annotations

import traceback
from collections.abc import Collection
from types import TracebackType

from tasks.json_values import clean_text

TEXT_LENGTH = 10_000
TRACEBACK_LENGTH = 50_000
TYPE_LENGTH = 200
_OMITTED = "\n… (the middle is left out)\n"


def type_of(error: BaseException) -> str:
    """The name of its class."""
    return clean_text(type(error).__name__, TYPE_LENGTH)


def text_of(value: object, limit: int = TEXT_LENGTH) -> str:
    """What an exception, or anything, says of itself; never raises."""
    try:
        return clean_text(value, limit)
    except BaseException as error:
        return f"(a {type(value).__name__} whose text cannot be read: {type(error).__name__})"


def traceback_of(error: BaseException, hidden: Collection[str] = ()) -> str:
    """Its traceback with causes; leading frames of the files in ``hidden`` are left out; never raises."""
    try:
        start = _first_shown(error.__traceback__, hidden)
        whole = "".join(traceback.format_exception(type(error), error, start))
    except BaseException as problem:
        return f"{type(error).__name__} (its traceback cannot be written: {type(problem).__name__})"
    if len(whole) > TRACEBACK_LENGTH:
        # The call that failed is at the end, the way to it at the beginning.
        half = (TRACEBACK_LENGTH - len(_OMITTED)) // 2
        whole = whole[:half] + _OMITTED + whole[-half:]
    return text_of(whole, TRACEBACK_LENGTH)


def _first_shown(tb: TracebackType | None, hidden: Collection[str]) -> TracebackType | None:
    start = tb
    while start is not None and start.tb_frame.f_code.co_filename in hidden:
        start = start.tb_next
    return start if start is not None else tb
