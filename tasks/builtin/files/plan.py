"""Sharing the folders of a tree among child jobs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """The folders that one child scans, and how many entries they held when the tree was walked."""

    folders: list[str]
    files: int


def shares(folders: Sequence[tuple[str, int]], *, at_most: int, max_bytes: int) -> list[Share]:
    """Split ``(path, entries)`` into shares: every folder is in exactly one, in the given order.

    Up to ``at_most`` folders: one each. More: neighbours are grouped, so that the shares hold about equally
    many entries. A share whose paths would take more than ``max_bytes`` of JSON is cut further, so there may
    be more than ``at_most``: the caller decides whether it accepts them.
    """
    if len(folders) <= at_most:
        return [Share([path], files) for path, files in folders]
    total = sum(files + 1 for _, files in folders)
    found: list[Share] = []
    paths: list[str] = []
    files = size = before = number = 0
    for path, count in folders:
        place = before * at_most // total
        cost = _cost(path)
        if paths and (place != number or size + cost > max_bytes):
            found.append(Share(paths, files))
            paths, files, size = [], 0, 0
        number = place
        paths.append(path)
        files += count
        size += cost
        before += count + 1
    return [*found, Share(paths, files)]


def _cost(path: str) -> int:
    return 4 + sum(1 if " " <= character < "\x7f" and character not in '"\\' else 12 for character in path)
