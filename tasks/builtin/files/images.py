"""Width and height of an image from its header. No pixel is ever decoded.

The format's own reader is called directly, chosen by the file's mark: ``Image.open`` would try every format
known, and refuse by size alone images whose header is what we are after. WebP is read here, because
Pillow's reader takes in the whole file.
"""

from __future__ import annotations

import io
import os
from importlib import import_module
from typing import Any

HEADER_BYTES = 4 * 1024 * 1024
"""A header that is longer is refused: nothing that a file claims makes us read or hold more."""

# By name: Pillow takes 3 MB, and most workers never see an image.
_READERS = {
    "image/png": ("PIL.PngImagePlugin", "PngImageFile"),
    "image/jpeg": ("PIL.JpegImagePlugin", "JpegImageFile"),
    "image/gif": ("PIL.GifImagePlugin", "GifImageFile"),
    "image/tiff": ("PIL.TiffImagePlugin", "TiffImageFile"),
    "image/bmp": ("PIL.BmpImagePlugin", "BmpImageFile"),
}
MEASURED = frozenset({*_READERS, "image/webp"})


class HeaderTooLong(OSError):
    """The header of an image asks for more than ``HEADER_BYTES``."""


class Header(io.RawIOBase):
    """A file's bytes, of which at most ``HEADER_BYTES`` may be read. Does not own the descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size
        self._at = 0
        self._left = HEADER_BYTES

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise OSError("a header points before its file")
        self._at = base + offset
        return self._at

    def read(self, size: int | None = -1, /) -> bytes:
        rest = max(0, self._size - self._at)
        wanted = rest if size is None or size < 0 else min(size, rest)
        if wanted > self._left:
            raise HeaderTooLong("the image's header is too long")
        found = os.pread(self._descriptor, wanted, self._at)
        self._at += len(found)
        self._left -= len(found)
        return found


def dimensions(kind: str, descriptor: int) -> tuple[int, int] | None:
    """Width and height in pixels of the image behind ``descriptor``; None when it cannot be told."""
    header = Header(descriptor)
    reader = None if kind == "image/webp" else _reader(kind)
    try:
        width, height = _webp(header) if reader is None else reader(header).size
    except MemoryError:
        raise
    except Exception:
        # A broken image raises whatever its reader stumbles over: struct.error, SyntaxError, ValueError …
        return None
    return (int(width), int(height)) if 0 < width < 2**31 and 0 < height < 2**31 else None


def _reader(kind: str) -> Any:
    module, name = _READERS[kind]
    return getattr(import_module(module), name)


def _webp(header: Header) -> tuple[int, int]:
    """Source: RFC 9649, sections 2.4 to 2.7 (the three kinds of first chunk)."""
    head = header.read(min(30, HEADER_BYTES))
    chunk, body = head[12:16], head[20:]
    if chunk == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if chunk == b"VP8L" and body[:1] == b"\x2f":
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if chunk == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        return int.from_bytes(body[6:8], "little") & 0x3FFF, int.from_bytes(body[8:10], "little") & 0x3FFF
    raise ValueError("no WebP image")
