"""One verb for several jobs: do each, go on after a refusal, say all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jobsplatform.kernel.errors import PlatformError, Unreachable
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.exits import DONE, WRONG_USE, one_line


def each(
    command: PlatformCommand,
    ids: Sequence[str],
    verb: Callable[[str], tuple[dict[str, Any], str]],
    *,
    as_json: bool,
) -> int:
    """``verb(id)`` gives (facts for JSON, words for people). The exit code is 2 when one was refused."""
    facts: list[dict[str, Any]] = []
    code = DONE
    for text in dict.fromkeys(ids):
        try:
            fact, words = verb(text)
        except Unreachable:
            raise
        except PlatformError as error:
            if len(ids) == 1 and not as_json:
                raise
            code = WRONG_USE
            facts.append({"id": text, "error": error.code, "message": error.message})
            command.err.line(f"Error: {one_line(error.message)}")
            continue
        facts.append(fact)
        if not as_json:
            command.out.line(words)
    if as_json:
        json_output.document(command.out, {"jobs": facts})
    return code
