"""An ending that somebody outside has written, as it can be stored. Pure."""

from __future__ import annotations

from dataclasses import replace

from tasks.error_text import TEXT_LENGTH, TRACEBACK_LENGTH, TYPE_LENGTH
from tasks.json_values import check_json, clean_text
from tasks.outcomes import Ending

REASON_LENGTH = 200


def storable(ending: Ending, max_bytes: int) -> Ending:
    """``ending`` under the rules that the answer of a handler is held to: values must be JSON of at most
    ``max_bytes``, texts are cleaned and cut. Raises ParamsInvalid, ParamsTooLarge."""
    return replace(
        ending,
        result=check_json(ending.result, what="result", max_bytes=max_bytes),
        extra=check_json(ending.extra, what="extra", max_bytes=max_bytes),
        error=clean_text(ending.error, TEXT_LENGTH),
        error_type=clean_text(ending.error_type, TYPE_LENGTH),
        traceback=clean_text(ending.traceback, TRACEBACK_LENGTH),
        reason=clean_text(ending.reason, REASON_LENGTH),
    )
