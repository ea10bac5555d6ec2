"""Which folders may be scanned."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tasks.builtin.names import show
from tasks.builtin.tree import is_inside, reason_of
from tasks.outcomes import Fail


def real_root(root: str, allowed: Sequence[str]) -> str:
    """The real path of the folder ``root``, links resolved.

    Raises ``Fail`` (never retried) that says what is wrong: not absolute, missing, no folder, or outside the
    ``allowed`` folders (TASKS__FILES_SCAN_ROOTS; none = any folder).
    """
    if "\x00" in root or not root.startswith("/"):
        raise Fail(f"root takes an absolute path, got {show(root)!r}.", retryable=False)
    try:
        real = os.path.realpath(root, strict=True)
    except FileNotFoundError:
        raise Fail(f"{show(root)} does not exist on this worker's machine.", retryable=False) from None
    except OSError as error:
        raise Fail(f"{show(root)} cannot be scanned: {reason_of(error)}.", retryable=False) from None
    if not is_allowed(real, allowed):
        raise Fail(
            f"{show(root)} may not be scanned: it is outside of TASKS__FILES_SCAN_ROOTS "
            f"({', '.join(allowed)}).",
            retryable=False,
        )
    if not os.path.isdir(real):
        raise Fail(f"{show(root)} is no folder; name the folder that holds it.", retryable=False)
    return real


def is_allowed(real: str, allowed: Sequence[str]) -> bool:
    """Is the real path inside one of ``allowed``? Nothing allowed means anything is."""
    return not allowed or any(is_inside(real, os.path.realpath(folder)) for folder in allowed)
