"""Real folders with what real folders hold: images, copies, broken things and odd names."""

from __future__ import annotations

import os
import socket
import struct
import zlib
from pathlib import Path

from PIL import Image

ODD_NAMES = (
    b"latin-\xe9.txt",
    b"line\nfeed.txt",
    b"esc\x1b[31m.txt",
    b"back\\slash.txt",
    "tür \U0001f6aa.txt".encode(),
)


def plant(root: Path) -> None:
    """Fill ``root``: 3 images, 3 copies of one text, hard links, odd names, and six things nobody can read."""
    (root / "text" / "deep" / "deeper").mkdir(parents=True)
    (root / "empty").mkdir()
    for place in ("text/one.txt", "text/deep/two.txt", "text/deep/deeper/three.md"):
        (root / place).write_bytes(b"the same words\n" * 50)
    (root / "text" / "data.json").write_text('{"a": 1}')
    os.link(root / "text" / "data.json", root / "text" / "again.json")
    images = root / "images"
    images.mkdir()
    Image.new("RGB", (64, 48), "red").save(images / "red.png")
    Image.new("RGB", (200, 10), "blue").save(images / "blue.jpg")
    Image.new("L", (5, 7)).save(images / "grey.gif")
    (images / "liar.png").write_bytes(b"<!doctype html><p>no image")
    odd = root / "odd"
    odd.mkdir()
    for name in ODD_NAMES:
        (odd / os.fsdecode(name)).write_bytes(name)
    (odd / os.fsdecode(b"folder-\xff")).mkdir()
    (odd / os.fsdecode(b"folder-\xff") / "inside.txt").write_bytes(b"inside")
    plant_unreadable(root / "bad")


def plant_unreadable(folder: Path) -> None:
    """A pipe, a socket, a broken link, a link to itself; and two links that are fine."""
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    server = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(folder)  # socket paths have a short limit
    try:
        server.bind("socket")
    finally:
        os.chdir(here)
        server.close()
    (folder / "broken").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")
    (folder / "to-file").symlink_to("../text/one.txt")
    (folder / "to-folder").symlink_to("../text")


def huge_png(width: int, height: int) -> bytes:
    """A tiny PNG whose header claims to be enormous."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"\0"))
        + chunk(b"IEND", b"")
    )
