"""One file is read once, up to its size when opened, whatever it is and does."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from tasks.builtin.files import images, measure
from tasks.builtin.files.kinds import kind_of
from tasks.builtin.files.measure import Measured, Unreadable, is_link
from tests.pure.builtin.trees import huge_png, plant


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def measured(folder: int, name: str, max_bytes: int = 2**40) -> Measured:
    return measure.measure(folder, name, max_bytes=max_bytes, step=lambda _read, _size: None)


def test_hash_size_and_kind_of_a_file_of_many_chunks(folder: int, tmp_path: Path) -> None:
    content = os.urandom(3 * measure.CHUNK_BYTES + 17)
    (tmp_path / "blob").write_bytes(content)
    found = measured(folder, "blob")
    assert (found.size, found.sha256) == (len(content), hashlib.sha256(content).hexdigest())


def test_an_empty_file(folder: int, tmp_path: Path) -> None:
    (tmp_path / "none.txt").touch()
    found = measured(folder, "none.txt")
    assert (found.size, found.sha256, found.kind) == (0, hashlib.sha256().hexdigest(), "text/plain")


def test_what_is_appended_while_reading_is_not_read(folder: int, tmp_path: Path) -> None:
    log = tmp_path / "growing.log"
    log.write_bytes(b"x" * measure.CHUNK_BYTES * 2)

    def grow(_read: int, _size: int) -> None:
        with log.open("ab") as more:
            more.write(b"y" * measure.CHUNK_BYTES)

    found = measure.measure(folder, "growing.log", max_bytes=2**40, step=grow)
    assert found.sha256 == hashlib.sha256(b"x" * measure.CHUNK_BYTES * 2).hexdigest()
    assert not found.changed


def test_a_file_that_shrinks_is_told(folder: int, tmp_path: Path) -> None:
    file = tmp_path / "shrinking"
    file.write_bytes(b"x" * measure.CHUNK_BYTES * 2)
    found = measure.measure(folder, "shrinking", max_bytes=2**40, step=lambda *_: os.truncate(file, 10))
    assert found.changed


def test_a_file_above_the_limit_is_measured_and_not_read(folder: int, tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as sparse:
        sparse.truncate(1024**4)
    found = measured(folder, "sparse", max_bytes=1024**3)
    assert (found.size, found.sha256) == (1024**4, "")


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_a_file_of_proc_ends_at_the_size_it_claims() -> None:
    descriptor = os.open("/proc/self", os.O_RDONLY)
    try:
        assert measured(descriptor, "status").size == 0
    finally:
        os.close(descriptor)


def test_special_files_and_broken_links_are_refused_without_waiting(tmp_path: Path) -> None:
    plant(tmp_path)
    descriptor = os.open(tmp_path / "bad", os.O_RDONLY)
    reasons = {}
    for name in ("pipe", "socket", "broken", "loop", "missing"):
        with pytest.raises(Unreadable) as refusal:
            is_link(descriptor, name)
            measured(descriptor, name)
        reasons[name] = refusal.value.reason
    links = [is_link(descriptor, "to-file"), is_link(descriptor, "to-folder")]
    os.close(descriptor)
    assert links == [True, True]
    assert reasons.pop("loop").startswith("too many levels")
    assert reasons == {
        "pipe": "named pipe",
        "socket": "socket",
        "broken": "broken link",
        "missing": "vanished",
    }


def test_a_pipe_that_took_a_files_place_does_not_block(
    folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the open, the file is exchanged."""
    (tmp_path / "file").touch()
    real = os.open

    def exchange(path: str, flags: int, *args: object, **kwargs: object) -> int:
        (tmp_path / "file").unlink()
        os.mkfifo(tmp_path / "file")
        return real(path, flags, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(measure.os, "open", exchange)
    with pytest.raises(Unreadable, match="named pipe"):
        measured(folder, "file")


def test_permission_denied_is_told(folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").touch()

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(measure.os, "open", refuse)
    with pytest.raises(Unreadable, match="permission denied"):
        measured(folder, "secret")


def test_only_a_file_with_several_names_has_an_inode(folder: int, tmp_path: Path) -> None:
    (tmp_path / "one").write_text("a")
    assert measured(folder, "one").inode == ""
    os.link(tmp_path / "one", tmp_path / "other")
    assert measured(folder, "one").inode == measured(folder, "other").inode != ""


@pytest.mark.parametrize("suffix", ["png", "jpg", "gif", "bmp", "tiff", "webp"])
def test_image_dimensions(folder: int, tmp_path: Path, suffix: str) -> None:
    Image.new("RGB", (123, 45), "green").save(tmp_path / f"image.{suffix}")
    assert measured(folder, f"image.{suffix}").dimensions == (123, 45)


def test_lossless_and_extended_webp(folder: int, tmp_path: Path) -> None:
    Image.new("RGBA", (301, 17)).save(tmp_path / "a.webp", lossless=True)
    Image.new("RGB", (19, 400)).save(tmp_path / "b.webp", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0")
    assert measured(folder, "a.webp").dimensions == (301, 17)
    assert measured(folder, "b.webp").dimensions == (19, 400)


def test_a_decompression_bomb_is_measured_by_its_header(folder: int, tmp_path: Path) -> None:
    (tmp_path / "bomb.png").write_bytes(huge_png(200_000, 200_000))
    assert measured(folder, "bomb.png").dimensions == (200_000, 200_000)


def test_a_broken_image_has_no_dimensions_and_is_hashed_all_the_same(folder: int, tmp_path: Path) -> None:
    (tmp_path / "cut.jpg").write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF")
    found = measured(folder, "cut.jpg")
    assert found.image and found.dimensions is None and len(found.sha256) == 64


def test_a_header_without_end_is_not_read(
    folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "HEADER_BYTES", 4096)
    (tmp_path / "fat.jpg").write_bytes(b"\xff\xd8" + b"\xff\xe1\xff\xff" + b"x" * 65_533 + b"\xff\xd9")
    assert measured(folder, "fat.jpg").dimensions is None


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n...", "image/png"),
        ("a.txt", b"\x89PNG\r\n\x1a\n...", "image/png"),
        ("a.png", b"hello", "text/plain"),
        ("a.png", b"<!DOCTYPE html>", "text/html"),
        (
            "a.docx",
            b"PK\x03\x04....",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        ("a.zip", b"PK\x03\x04....", "application/zip"),
        ("a.json", b'{"a": 1}', "application/json"),
        ("a.md", b"# Title", "text/markdown"),
        ("changelog.gz", b"\x1f\x8b\x08....", "application/gzip"),
        ("noname", b"plain words", "text/plain"),
        ("noname", b"\x00\x01\x02", "application/octet-stream"),
        ("a.txt", b"\x00\x01\x02", "application/octet-stream"),
        ("noname", b"#!/bin/sh\n", "text/x-script"),
        ("noname", b"MZ is how this sentence begins", "text/plain"),
        ("a.exe", b"MZ\x90\x00\x03", "application/x-dosexec"),
        ("cut", "ü".encode()[:1], "text/plain"),
        ("pic.svg", b"<svg xmlns='x'>", "image/svg+xml"),
        ("http://x", b"words", "text/plain"),
    ],
)
def test_kinds(name: str, head: bytes, kind: str) -> None:
    assert kind_of(name, head) == kind
