"""Adding up what was found; every part is bounded, whatever the tree holds. Pure.

One ``Tally`` is the state of a folder scan, its checkpoint, its result, and (merged) the totals of a tree.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tasks.builtin.files.measure import Measured
from tasks.builtin.names import brief

LARGEST = 10
SAMPLES = 10
TYPES = 100
REASONS = 30
OTHER = "other"
PATH_CHARACTERS = 300
_BIGGEST_SUM = 2**63 - 1  # what a JSON column keeps exactly


@dataclass(slots=True)
class Tally:
    """Counts of files. Sizes are bytes; paths are readable (``names.show``) and below the scanned root."""

    files: int = 0
    bytes: int = 0
    links: int = 0
    hard_links: int = 0
    too_large: int = 0
    changed: int = 0
    images: int = 0
    images_unreadable: int = 0
    unreadable: int = 0
    by_type: dict[str, list[int]] = field(default_factory=dict)  # type -> [files, bytes]
    reasons: dict[str, int] = field(default_factory=dict)
    largest: list[list[Any]] = field(default_factory=list)  # [bytes, path, type]
    largest_images: list[list[Any]] = field(default_factory=list)  # [pixels, path, width, height]
    samples: list[list[str]] = field(default_factory=list)  # [path, reason]

    def add(self, path: str, found: Measured) -> None:
        """Count one measured file."""
        path = brief(path, PATH_CHARACTERS)
        self.files += 1
        self.bytes = _sum(self.bytes, found.size)
        self.hard_links += bool(found.inode)
        self.too_large += not found.sha256
        self.changed += found.changed
        self._add_type(found.kind, 1, found.size)
        self._keep(self.largest, [found.size, path, found.kind])
        if not found.image:
            return
        self.images += 1
        if found.dimensions is None:
            self.images_unreadable += 1
            return
        width, height = found.dimensions
        self._keep(self.largest_images, [width * height, path, width, height])

    def refuse(self, path: str, reason: str, count: int = 1) -> None:
        """Count an entry that could not be read, and why."""
        self.unreadable += count
        self._add_reason(reason, count)
        if len(self.samples) < SAMPLES:
            self.samples.append([brief(path, PATH_CHARACTERS), reason])

    def merge(self, other: Tally) -> None:
        """Add another tally to this one."""
        for name in (
            "files",
            "bytes",
            "links",
            "hard_links",
            "too_large",
            "changed",
            "images",
            "images_unreadable",
            "unreadable",
        ):
            setattr(self, name, _sum(getattr(self, name), getattr(other, name)))
        for kind, (files, size) in other.by_type.items():
            self._add_type(kind, files, size)
        for reason, count in other.reasons.items():
            self._add_reason(reason, count)
        for row in other.largest:
            self._keep(self.largest, row)
        for row in other.largest_images:
            self._keep(self.largest_images, row)
        self.samples = (self.samples + other.samples)[:SAMPLES]

    def state(self) -> dict[str, Any]:
        """This tally as JSON, for a checkpoint; ``from_state`` reads it."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Tally:
        return cls(**state)

    def report(self) -> dict[str, Any]:
        """This tally as a result for people and programs."""
        types = sorted(self.by_type.items(), key=lambda item: (-item[1][1], item[0]))
        return {
            "files": self.files,
            "bytes": self.bytes,
            "by_type": {kind: {"files": files, "bytes": size} for kind, (files, size) in types},
            "largest": [{"path": path, "bytes": size, "type": kind} for size, path, kind in self.largest],
            "images": {
                "count": self.images,
                "unreadable": self.images_unreadable,
                "largest": [
                    {"path": path, "width": width, "height": height}
                    for _, path, width, height in self.largest_images
                ],
            },
            "unreadable": {
                "count": self.unreadable,
                "reasons": dict(sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))),
                "samples": [{"path": path, "reason": reason} for path, reason in self.samples],
            },
            "links": self.links,
            "hard_links": self.hard_links,
            "not_hashed": self.too_large,
            "changed_while_read": self.changed,
        }

    @classmethod
    def from_report(cls, report: dict[str, Any]) -> Tally:
        """The tally that a ``report`` was made from."""
        images, unreadable = report["images"], report["unreadable"]
        return cls(
            files=report["files"],
            bytes=report["bytes"],
            links=report["links"],
            hard_links=report["hard_links"],
            too_large=report["not_hashed"],
            changed=report["changed_while_read"],
            images=images["count"],
            images_unreadable=images["unreadable"],
            unreadable=unreadable["count"],
            by_type={kind: [row["files"], row["bytes"]] for kind, row in report["by_type"].items()},
            reasons=dict(unreadable["reasons"]),
            largest=[[row["bytes"], row["path"], row["type"]] for row in report["largest"]],
            largest_images=[
                [row["width"] * row["height"], row["path"], row["width"], row["height"]]
                for row in images["largest"]
            ],
            samples=[[row["path"], row["reason"]] for row in unreadable["samples"]],
        )

    def _add_type(self, kind: str, files: int, size: int) -> None:
        if kind not in self.by_type and len(self.by_type) >= TYPES:
            kind = OTHER
        row = self.by_type.setdefault(kind, [0, 0])
        row[0] += files
        row[1] = _sum(row[1], size)

    def _add_reason(self, reason: str, count: int) -> None:
        if reason not in self.reasons and len(self.reasons) >= REASONS:
            reason = OTHER
        self.reasons[reason] = self.reasons.get(reason, 0) + count

    @staticmethod
    def _keep(rows: list[list[Any]], row: list[Any]) -> None:
        """Keep the ``LARGEST`` rows by first value, equal ones by path: the order of adding is nothing."""
        if len(rows) == LARGEST and row[0] < rows[-1][0]:
            return
        rows.append(row)
        rows.sort(key=lambda kept: (-kept[0], kept[1]))
        del rows[LARGEST:]


def merged(tallies: Iterable[Tally]) -> Tally:
    """The sum of many."""
    total = Tally()
    for tally in tallies:
        total.merge(tally)
    return total


class Hashes:
    """Which content was seen where: ``[sha256, bytes, path, inode]``, for finding duplicates across folders.

    At most ``limit`` rows of together about ``max_bytes`` of JSON: beyond that the smallest files are
    dropped, since the largest are what duplicates waste most with, and ``complete`` says so.
    """

    def __init__(self, limit: int, max_bytes: int) -> None:
        self.limit = limit
        self.max_bytes = max_bytes
        self.complete = True
        self._heap: list[tuple[int, str, str, str]] = []
        self._bytes = 0

    def add(self, path: str, found: Measured) -> None:
        """Note a file. Empty files, and those that were not hashed, have no duplicates."""
        if found.size and found.sha256:
            self._push((found.size, found.sha256, brief(path, PATH_CHARACTERS), found.inode))
        elif found.size:
            self.complete = False

    def rows(self) -> list[list[Any]]:
        return [[digest, size, path, inode] for size, digest, path, inode in sorted(self._heap)]

    def load(self, rows: Iterable[list[Any]], complete: bool) -> None:
        """Go on from the rows of a checkpoint."""
        for digest, size, path, inode in rows:
            self._push((size, digest, path, inode))
        self.complete = self.complete and complete

    def _push(self, row: tuple[int, str, str, str]) -> None:
        heapq.heappush(self._heap, row)
        self._bytes += _cost(row)
        while len(self._heap) > self.limit or self._bytes > self.max_bytes:
            self._bytes -= _cost(heapq.heappop(self._heap))
            self.complete = False


def _cost(row: tuple[int, str, str, str]) -> int:
    # Non-ASCII characters are written as \uXXXX by some writers: the dearer form is counted.
    return 100 + len(row[3]) + sum(1 if character < "\x7f" else 12 for character in row[2])


def _sum(one: int, other: int) -> int:
    return min(one + other, _BIGGEST_SUM)
