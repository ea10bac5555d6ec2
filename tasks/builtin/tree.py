"""Walking a real folder tree without being led out of it.

Every folder is opened component by component relative to its parent, and never through a symbolic link, so
that neither a link nor a folder exchanged in the middle of a walk leads elsewhere, and paths longer than the
system's limit are reached. No recursion: depth costs no stack, and one open folder at a time no descriptors.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

MAX_DEPTH = 2_000
"""Folders below this depth are reported, not entered: each is opened from the top."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Passing through a folder takes less permission than reading it; Linux can say so.
_PASS = (getattr(os, "O_PATH", 0) or os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class Folder:
    """One folder of a walk: its path below the root ("" is the root), and the names directly inside."""

    path: str
    folders: list[str] = field(default_factory=list)  # sorted
    others: list[str] = field(default_factory=list)  # everything that is no folder; sorted
    links_to_folders: list[str] = field(default_factory=list)  # part of others
    error: str = ""  # why it could not be read
    foreign: bool = False  # another file system is mounted here; not entered

    def child(self, name: str) -> str:
        """The path of an entry."""
        return f"{self.path}/{name}" if self.path else name


@contextmanager
def opened(path: str, *, below: int | None = None) -> Iterator[int]:
    """A descriptor of the folder ``path``: absolute, or relative to the descriptor ``below``.

    Raises OSError (ELOOP or ENOTDIR for a link on the way).
    """
    parts = [part for part in path.split("/") if part]
    current = os.open("/", _PASS if parts else _FOLDER) if below is None else os.dup(below)
    try:
        if below is not None and not parts:
            parts = ["."]
        for number, part in enumerate(parts, 1):
            following = os.open(part, _FOLDER if number == len(parts) else _PASS, dir_fd=current)
            os.close(current)
            current = following
        yield current
    finally:
        os.close(current)


def reason_of(error: OSError) -> str:
    """A short stable text for why the system refused."""
    if isinstance(error, FileNotFoundError):
        return "vanished"
    if isinstance(error, PermissionError):
        return "permission denied"
    return (error.strerror or type(error).__name__).lower()


def listed(descriptor: int, path: str) -> Folder:
    """What is directly in an open folder. Raises OSError."""
    folder = Folder(path)
    with os.scandir(descriptor) as entries:
        for entry in entries:
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
            except OSError:
                is_folder = False  # it vanished; whoever opens it will tell
            if is_folder:
                folder.folders.append(entry.name)
                continue
            folder.others.append(entry.name)
            if entry.is_symlink() and _is_link_to_folder(entry):
                folder.links_to_folders.append(entry.name)
    folder.folders.sort()
    folder.others.sort()
    folder.links_to_folders.sort()
    return folder


def walk(
    root: int,
    *,
    step: Callable[[], None],
    cross_mounts: bool = False,
    visited: set[tuple[int, int]] | None = None,
) -> Iterator[Folder]:
    """Every folder below the open folder ``root``, itself first, parents before their children.

    ``step`` is called before each folder. A folder that cannot be read is yielded with its ``error``; one on
    another file system as ``foreign``, unless ``cross_mounts``. Folders (device and inode) in ``visited`` are
    left out with all that is below them, and those yielded are added to it.
    """
    device = os.fstat(root).st_dev
    waiting: list[tuple[str, int]] = [("", 0)]
    while waiting:
        step()
        path, depth = waiting.pop()
        if depth > MAX_DEPTH:
            yield Folder(path, error="too deep")
            continue
        try:
            with opened(path, below=root) as descriptor:
                facts = os.fstat(descriptor)
                place = (facts.st_dev, facts.st_ino)
                if visited is not None and place in visited:
                    continue
                if not cross_mounts and facts.st_dev != device:
                    yield Folder(path, foreign=True)
                    continue
                folder = listed(descriptor, path)
        except OSError as error:
            yield Folder(path, error=reason_of(error))
            continue
        if visited is not None:
            visited.add(place)
        yield folder
        waiting.extend((folder.child(name), depth + 1) for name in reversed(folder.folders))


def is_inside(path: str, folder: str) -> bool:
    """Is the real path ``path`` the real folder ``folder`` or below it?"""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _is_link_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return stat.S_ISDIR(entry.stat().st_mode)
    except OSError:
        return False
