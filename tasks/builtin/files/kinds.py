"""What kind of file it is: by its first bytes for the common kinds, else by its name. Pure.

The name alone lies often enough (a ``.png`` that is HTML), and the first bytes alone know no text formats;
so bytes win for kinds that have a mark, names decide between the many kinds of text and containers.
"""

from __future__ import annotations

import mimetypes
from functools import cache

HEAD_BYTES = 4096
UNKNOWN = "application/octet-stream"
TEXT = "text/plain"

# Marks at the start of a file.
_MARKS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"%PDF-", "application/pdf"),
    (b"%!PS", "application/postscript"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x7fELF", "application/x-elf"),
    (b"MZ", "application/x-dosexec"),
    (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"\x00asm", "application/wasm"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"OggS", "application/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/x-matroska"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OTTO", "font/otf"),
    (b"\x00\x01\x00\x00\x00", "font/ttf"),
)
# Two letters are a weak mark: trusted only when what follows is not plain text.
_WEAK = frozenset({b"MZ", b"BZh", b"ID3"})
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/x-wav", b"AVI ": "video/x-msvideo"}
# Containers whose name says more than their mark.
_CONTAINERS = {
    "application/zip": ("application/", "model/"),
    "application/gzip": ("application/",),
    "application/ogg": ("audio/", "video/"),
    "video/x-matroska": ("video/", "audio/"),
}

_MORE_NAMES = (
    ("text/markdown", ".md"),
    ("text/x-rst", ".rst"),
    ("application/x-yaml", ".yaml"),
    ("application/x-yaml", ".yml"),
    ("application/toml", ".toml"),
    ("application/x-ndjson", ".jsonl"),
    ("image/webp", ".webp"),
    ("image/avif", ".avif"),
    ("font/woff2", ".woff2"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".docx"),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx"),
    ("application/vnd.openxmlformats-officedocument.presentationml.presentation", ".pptx"),
    ("application/vnd.oasis.opendocument.text", ".odt"),
    ("application/vnd.oasis.opendocument.spreadsheet", ".ods"),
    ("application/epub+zip", ".epub"),
    ("application/java-archive", ".jar"),
)
_HAVE_A_MARK = {kind for _, kind in _MARKS} | {"image/bmp", "image/webp", "image/avif", "application/x-tar"}
_ENCODINGS = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


@cache
def _names() -> mimetypes.MimeTypes:
    """The machine's own tables are not read: the same tree has the same types everywhere. Made when first asked for:
    most processes never are."""
    found = mimetypes.MimeTypes(filenames=())
    for kind, suffix in _MORE_NAMES:
        found.add_type(kind, suffix)
    return found


def kind_of(name: str, head: bytes) -> str:
    """The MIME type of a file, from its name and its first ``HEAD_BYTES`` bytes."""
    marked = by_mark(head)
    named = by_name(name)
    if marked and named and named.startswith(_CONTAINERS.get(marked, ("\x00",))):
        return named
    if marked:
        return marked
    if not head:
        return named or "inode/x-empty"
    text = is_text(head)
    if named in _HAVE_A_MARK:
        named = ""  # the name lies: such a file would begin with its mark
    if named and (text or not named.startswith("text/")):
        return named
    return TEXT if text else UNKNOWN


def by_mark(head: bytes) -> str:
    """The type that the first bytes name, or an empty text."""
    for mark, kind in _MARKS:
        if head.startswith(mark) and not (mark in _WEAK and is_text(head)):
            return kind
    if head.startswith(b"RIFF"):
        return _RIFF.get(head[8:12], "")
    if head[4:8] == b"ftyp":
        return {b"avif": "image/avif", b"heic": "image/heic", b"qt  ": "video/quicktime"}.get(
            head[8:12], "video/mp4"
        )
    if head.startswith(b"BM") and len(head) >= 26 and head[6:10] == b"\x00\x00\x00\x00":
        return "image/bmp"
    if head[257:262] == b"ustar":
        return "application/x-tar"
    if head.startswith(b"#!") and is_text(head):
        return "text/x-script"
    return _markup(head)


def by_name(name: str) -> str:
    """The type that the name's ending says, or an empty text."""
    kind, encoding = _names().guess_type("x/" + name.replace(":", "_"), strict=False)
    return _ENCODINGS.get(encoding, UNKNOWN) if encoding else kind or ""


def is_text(head: bytes) -> bool:
    """Does it read as UTF-8 text? A character cut off at the end of ``head`` is no fault."""
    if b"\x00" in head:
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3 and error.reason == "unexpected end of data"
    return True


def _markup(head: bytes) -> str:
    start = head[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "text/html"
    if start.startswith(b"<svg") or (start.startswith(b"<?xml") and b"<svg" in start):
        return "image/svg+xml"
    return ""
