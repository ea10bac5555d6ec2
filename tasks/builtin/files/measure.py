"""Measuring one file: size, SHA-256, kind, image dimensions. Every read is bounded."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass

from tasks.builtin.files import images, kinds
from tasks.builtin.tree import reason_of

CHUNK_BYTES = 1024 * 1024
# Without O_NONBLOCK, opening a FIFO that took a file's place would wait for a writer for ever.
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_SPECIAL = (
    (stat.S_ISFIFO, "named pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)


class Unreadable(Exception):
    """This file cannot be scanned; ``reason`` is a short stable text."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Measured:
    """What one file is. ``sha256`` is empty when the file was too large to be read."""

    size: int
    kind: str
    sha256: str
    image: bool = False
    dimensions: tuple[int, int] | None = None
    inode: str = ""  # tells names of one file apart from copies; only set when it has several names
    changed: bool = False  # it shrank while it was read


def is_link(folder: int, name: str) -> bool:
    """Is the entry a symbolic link that leads somewhere? Raises ``Unreadable`` for a broken one."""
    try:
        if not stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            return False
        os.stat(name, dir_fd=folder)
    except FileNotFoundError:
        raise Unreadable("broken link" if _there(folder, name) else "vanished") from None
    except OSError as error:
        raise Unreadable(reason_of(error)) from None
    return True


def measure(folder: int, name: str, *, max_bytes: int, step: Callable[[int, int], None]) -> Measured:
    """Read the file ``name`` of the open folder once, from its start to the size it had when opened.

    What is appended meanwhile is not read, so that a growing log, or a file of /proc without end, ends here.
    ``step(read, size)`` is called between two chunks and may raise. Raises ``Unreadable``.
    """
    try:
        before = os.stat(name, dir_fd=folder, follow_symlinks=False)
        _refuse_special(before.st_mode)
        descriptor = os.open(name, _OPEN, dir_fd=folder)
    except OSError as error:
        raise Unreadable(reason_of(error)) from None
    try:
        return _read(descriptor, name, max_bytes, step)
    except OSError as error:
        raise Unreadable(reason_of(error)) from None
    finally:
        os.close(descriptor)


def _read(descriptor: int, name: str, max_bytes: int, step: Callable[[int, int], None]) -> Measured:
    facts = os.fstat(descriptor)
    _refuse_special(facts.st_mode)
    size = facts.st_size
    head = os.pread(descriptor, min(kinds.HEAD_BYTES, size), 0)
    kind = kinds.kind_of(name, head)
    image = kind in images.MEASURED
    digest, read = ("", size) if size > max_bytes else _hash(descriptor, size, step)
    return Measured(
        size=size,
        kind=kind,
        sha256=digest,
        image=image,
        dimensions=images.dimensions(kind, descriptor) if image else None,
        inode=f"{facts.st_dev}:{facts.st_ino}" if facts.st_nlink > 1 else "",
        changed=read < size,
    )


def _hash(descriptor: int, size: int, step: Callable[[int, int], None]) -> tuple[str, int]:
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(min(CHUNK_BYTES, max(1, size))))
    done = 0
    os.lseek(descriptor, 0, os.SEEK_SET)
    while done < size:
        count = os.readv(descriptor, [buffer[: min(len(buffer), size - done)]])
        if count == 0:
            break
        digest.update(buffer[:count])
        done += count
        if done < size:
            step(done, size)
    return digest.hexdigest(), done


def _refuse_special(mode: int) -> None:
    for test, reason in _SPECIAL:
        if test(mode):
            raise Unreadable(reason)
    if not stat.S_ISREG(mode):
        raise Unreadable("no regular file")


def _there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
