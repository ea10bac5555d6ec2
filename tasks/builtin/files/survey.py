"""The parent's first look at a tree: which folders there are, and how they are shared among children."""

from __future__ import annotations

import os
from typing import Any

from jobsplatform.kernel import config
from tasks.builtin.files.plan import Share, shares
from tasks.builtin.files.roots import is_allowed
from tasks.builtin.files.tally import SAMPLES, Tally
from tasks.builtin.names import brief, show
from tasks.builtin.tree import Folder, opened, reason_of, walk
from tasks.context import JobContext
from tasks.outcomes import Fail

MAX_CHILDREN = 5_000
PATH_CHARACTERS = 200


class Survey:
    """The walk of a whole tree: which folders hold something, and what was met on the way."""

    def __init__(self, context: JobContext, root: str, follow_symlinks: bool, cross_mounts: bool) -> None:
        self.context = context
        self.root = root
        self.cross_mounts = cross_mounts
        self.folders: list[tuple[str, int]] = []  # readable path, entries; only those that hold any
        self.seen = 0
        self.mounts: list[str] = []
        self.mount_count = 0
        self.refused = Tally()
        self._visited: set[tuple[int, int]] | None = set() if follow_symlinks else None
        self._links: list[str] = []

    def walk(self) -> None:
        """Note every folder of the root, then of each followed link that leads to one not yet seen."""
        self._walk(self.root, "")
        while self._links:
            link = self._links.pop()
            target = os.path.realpath(link)
            if is_allowed(target, config.get().tasks.files_scan_roots):
                self._walk(target, target)
            else:
                self.refused.refuse(show(os.path.relpath(link, self.root)), "link leads outside")

    def facts(self) -> dict[str, Any]:
        """What only the walk knows, for the totals."""
        return {
            "root": show(self.root),
            "folders": self.seen,
            "mounts_skipped": {"count": self.mount_count, "samples": self.mounts},
            "refused": self.refused.state(),
        }

    def _walk(self, top: str, prefix: str) -> None:
        """Note every folder below ``top``. Their paths are relative to the root, or begin with ``prefix``."""
        try:
            with opened(top) as descriptor:
                for folder in walk(
                    descriptor, step=self._step, cross_mounts=self.cross_mounts, visited=self._visited
                ):
                    self._note(top, prefix, folder)
        except OSError as error:
            if not prefix:
                raise Fail(f"{show(top)} cannot be scanned: {reason_of(error)}.", retryable=False) from None
            self.refused.refuse(show(top), f"folder: {reason_of(error)}")

    def _note(self, top: str, prefix: str, folder: Folder) -> None:
        path = show(f"{prefix}/{folder.path}".rstrip("/") if prefix else folder.path)
        if folder.foreign:
            self.mount_count += 1
            self.mounts = [*self.mounts, brief(path, PATH_CHARACTERS)][:SAMPLES]
            return
        if folder.error and not folder.path and not prefix:
            raise Fail(f"{show(top)} cannot be scanned: {folder.error}.", retryable=False)
        self.seen += 1
        if folder.error:
            self.refused.refuse(path, f"folder: {folder.error}")
            return
        if folder.others:
            self.folders.append((path, len(folder.others)))
        if self._visited is not None:
            self._links.extend(os.path.join(top, folder.child(name)) for name in folder.links_to_folders)

    def _step(self) -> None:
        self.context.check_cancel()
        self.context.progress(self.seen, None, "finding folders")


def shared(survey: Survey, max_children: int) -> list[Share]:
    """The survey's folders in shares for children. Raises ``Fail`` when there are too many for that."""
    # The rest of the limit is for the other params and the names' quotes.
    max_bytes = config.get().tasks.params_max_bytes * 3 // 4
    found = shares(survey.folders, at_most=max_children, max_bytes=max_bytes)
    if len(found) > max(max_children, MAX_CHILDREN):
        raise Fail(
            f"{len(survey.folders)} folders do not fit into {MAX_CHILDREN} children; "
            "scan their parent folders one by one.",
            retryable=False,
        )
    return found
