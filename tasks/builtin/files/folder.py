"""Scanning a share of folders: one child's work, which an interruption continues where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobsplatform.kernel import clock
from tasks.builtin.files.measure import Measured, Unreadable, is_link, measure
from tasks.builtin.files.tally import PATH_CHARACTERS, Hashes, Tally
from tasks.builtin.names import brief, read, show
from tasks.builtin.tree import listed, opened, reason_of
from tasks.context import JobContext
from tasks.outcomes import JobCancelled

LISTED_FILES = 50
LISTED_FOLDERS = 100
CHECKPOINT_SECONDS = 5.0
CHECKPOINT_FILES = 500
LARGE_FILE_BYTES = 64 * 1024 * 1024
LABEL_CHARACTERS = 120


class FolderScan:
    """The state of one child: what it has counted, and the folder and name up to which it has.

    Folder paths and names are readable (``names.show``) in everything that leaves this object.
    """

    def __init__(
        self,
        context: JobContext,
        root: str,
        folders: Sequence[str],
        expected: int,
        hashes: Hashes,
        max_bytes: int,
    ) -> None:
        self.context = context
        self.root = root
        self.folders = folders
        self.expected = expected
        self.max_bytes = max_bytes
        self.hashes = hashes
        self.tally = Tally()
        self.files: list[dict[str, Any]] = []
        self.sizes: list[dict[str, Any]] = []
        self.folder = 0  # index of the folder in work
        self.after = ""  # name in it up to which it is done
        self.done = 0
        self._saved_at = clock.monotonic()
        self._saved_done = 0

    def run(self) -> dict[str, Any]:
        """Scan what is left and return the share's report."""
        self._load(self.context.cursor)
        try:
            with opened(self.root) as root:
                while self.folder < len(self.folders):
                    self._scan(root, self.folders[self.folder])
                    self.folder, self.after = self.folder + 1, ""
        except JobCancelled:
            # Whoever asked us to stop may want it to go on later: nothing that was counted is lost.
            self._save()
            raise
        except OSError as error:
            if self.folder < len(self.folders):
                self.tally.refuse(".", f"scanned folder: {reason_of(error)}", len(self.folders) - self.folder)
        self.context.progress(self.done, self.done, "")
        return self._report()

    def _scan(self, root: int, shown: str) -> None:
        path = read(shown)
        self._begin_folder(shown)
        try:
            # A followed link is planned by its real, absolute path.
            with opened(path, below=None if path.startswith("/") else root) as folder:
                for name in sorted(listed(folder, path).others, key=place_of):
                    if place_of(name) > self.after:
                        self._entry(folder, shown, name)
        except OSError as error:
            self.tally.refuse(shown or ".", f"folder: {reason_of(error)}")

    def _entry(self, folder: int, parent: str, name: str) -> None:
        shown = show(name)
        path = f"{parent}/{shown}" if parent else shown
        label = brief(path, LABEL_CHARACTERS)
        self.context.check_cancel()
        self.context.progress(self.done, max(self.expected, self.done + 1), label)
        try:
            if is_link(folder, name):
                self.tally.links += 1
            else:
                found = measure(folder, name, max_bytes=self.max_bytes, step=self._step(label))
                self._count(path, found)
        except Unreadable as refusal:
            self.tally.refuse(path, refusal.reason)
        self.done += 1
        self.after = place_of(name)
        self._save_if_due()

    def _step(self, label: str) -> Any:
        def step(read_bytes: int, size: int) -> None:
            self.context.check_cancel()
            if size >= LARGE_FILE_BYTES:
                share = f"{label} ({100 * read_bytes // size} %)"
                self.context.progress(self.done, max(self.expected, self.done + 1), share)

        return step

    def _count(self, path: str, found: Measured) -> None:
        self.tally.add(path, found)
        self.hashes.add(path, found)
        if self.sizes and self.sizes[-1]["index"] == self.folder:
            self.sizes[-1]["files"] += 1
            self.sizes[-1]["bytes"] += found.size
        if len(self.files) >= LISTED_FILES:
            return
        row: dict[str, Any] = {
            "path": brief(path, PATH_CHARACTERS),
            "bytes": found.size,
            "type": found.kind,
            "sha256": found.sha256,
        }
        if found.dimensions is not None:
            row["width"], row["height"] = found.dimensions
        self.files.append(row)

    def _begin_folder(self, shown: str) -> None:
        if len(self.sizes) < LISTED_FOLDERS and not (self.sizes and self.sizes[-1]["index"] == self.folder):
            name = brief(shown or ".", PATH_CHARACTERS)
            self.sizes.append({"index": self.folder, "folder": name, "files": 0, "bytes": 0})

    def _report(self) -> dict[str, Any]:
        rows = [{key: row[key] for key in ("folder", "files", "bytes")} for row in self.sizes]
        return {
            "folders": {"count": len(self.folders), "listed": rows},
            **self.tally.report(),
            "listed": self.files,
            "hashes": {"complete": self.hashes.complete, "rows": self.hashes.rows()},
        }

    def _save_if_due(self) -> None:
        due = clock.monotonic() - self._saved_at >= CHECKPOINT_SECONDS
        if due or self.done - self._saved_done >= CHECKPOINT_FILES:
            self._save()

    def _save(self) -> None:
        self.context.checkpoint(
            {
                "folder": self.folder,
                "after": self.after,
                "done": self.done,
                "tally": self.tally.state(),
                "files": self.files,
                "sizes": self.sizes,
                "hashes": self.hashes.rows(),
                "complete": self.hashes.complete,
            }
        )
        self._saved_at, self._saved_done = clock.monotonic(), self.done

    def _load(self, cursor: Any) -> None:
        if not cursor:
            return
        self.folder, self.after, self.done = cursor["folder"], cursor["after"], cursor["done"]
        self.tally = Tally.from_state(cursor["tally"])
        self.files, self.sizes = list(cursor["files"]), list(cursor["sizes"])
        self.hashes.load(cursor["hashes"], cursor["complete"])
        self._saved_done = self.done


def place_of(name: str) -> str:
    """The place of a name in its folder, as text that a checkpoint can hold: hexadecimal keeps the order of
    bytes, which escaped text does not."""
    return name.encode("utf-8", "surrogateescape").hex()
