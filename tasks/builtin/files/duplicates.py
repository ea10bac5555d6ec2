"""Which files are copies of each other, from the hash rows of all folders. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

GROUPS = 20
PATHS = 5


def duplicates(rows: Iterable[list[Any]], *, exact: bool) -> dict[str, Any]:
    """Groups of equal files among ``[sha256, bytes, path, inode]`` rows, and what the copies waste.

    Several names of one file (hard links) are one file. With ``exact`` False some files were not compared:
    the counts are lower bounds. The ``GROUPS`` that waste most are listed, with up to ``PATHS`` paths each.
    """
    groups: dict[tuple[str, int], dict[str, str]] = {}
    for digest, size, path, inode in rows:
        copies = groups.setdefault((digest, size), {})
        copies.setdefault(inode or f"path {path}", path)
    doubled = [
        (size * (len(copies) - 1), digest, size, sorted(copies.values()))
        for (digest, size), copies in groups.items()
        if len(copies) > 1
    ]
    doubled.sort(key=lambda group: (-group[0], group[1]))
    return {
        "exact": exact,
        "groups": len(doubled),
        "copies": sum(len(paths) - 1 for *_, paths in doubled),
        "wasted_bytes": min(sum(wasted for wasted, *_ in doubled), 2**63 - 1),
        "top": [
            {
                "sha256": digest,
                "bytes": size,
                "files": len(paths),
                "wasted_bytes": min(wasted, 2**63 - 1),
                "paths": paths[:PATHS],
            }
            for wasted, digest, size, paths in doubled[:GROUPS]
        ],
    }
