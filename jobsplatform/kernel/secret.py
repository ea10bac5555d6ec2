"""The secret of the local profile: random, made once, kept in the data folder, readable by its owner only."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

FILE_NAME = "secret_key"
LENGTH = 50


def kept_in(folder: Path) -> str:
    """The secret kept in ``folder``, made at the first call. Raises OSError when the folder refuses.

    Two processes that start at once agree: the file appears whole, by a hard link that only one can make.
    """
    path = folder / FILE_NAME
    kept = _read(path)
    if kept:
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{FILE_NAME}.{secrets.token_hex(8)}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(LENGTH))
    try:
        os.link(draft, path)
    except FileExistsError:
        if not _read(path):
            os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return _read(path)


def _read(path: Path) -> str:
    """What the file holds; empty when it is missing or too short to be a secret."""
    try:
        kept = path.read_text().strip()
    except FileNotFoundError:
        return ""
    return kept if len(kept) >= LENGTH else ""
