"""Files of an archive: JSON objects, one a line, compressed; each is whole on disk or not there."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from jobsplatform.kernel import config

Row = Mapping[str, Any]


def folder() -> Path:
    """``DATA_DIR/archive``, made when it is not there; for the owner only."""
    found = config.get().data_dir / "archive"
    found.mkdir(mode=0o700, parents=True, exist_ok=True)
    return found


def write(kind: str, rows: Iterable[Row], name_of: Callable[[Row, Row], str]) -> tuple[str, int]:
    """Write a file of these rows (at least one), named by its first and last; its name and the number of rows.

    When this returns the file and its name are on disk: what is in it may be removed elsewhere.
    """
    place = folder()
    part = place / f"{kind}.part"
    first: Row | None = None
    last: Row = {}
    count = 0
    with open(part, "wb") as raw:
        os.fchmod(raw.fileno(), 0o600)
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
            for row in rows:
                # ASCII alone: some readers take U+2028 inside a text for the end of a line.
                packed.write(json.dumps(row, cls=DjangoJSONEncoder).encode("ascii") + b"\n")
                first, last, count = first or row, row, count + 1
        raw.flush()
        os.fsync(raw.fileno())
    if first is None:
        raise ValueError("An archive file of nothing.")
    name = f"{name_of(first, last)}.jsonl.gz"
    part.replace(place / name)
    _settle(place)
    return name, count


def _settle(place: Path) -> None:
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
