"""Thumbnails of image files; knows nothing of jobs."""

from __future__ import annotations

import os
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

FOLDER = ".thumbnails"
SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff"})


class NoImage(Exception):
    """The file cannot be read as an image, and will not be the next time."""


def found_in(folder: Path) -> list[Path]:
    """The image files of one folder, by name; links are not followed."""
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in SUFFIXES and path.is_file() and not path.is_symlink()
    )


def within(root: Path, name: str) -> Path:
    """The path of ``name`` below ``root``. Raises ValueError for one that leads out of it."""
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()):
        raise ValueError(f"{name!r} is not below {root}.")
    return path


def thumbnail_of(image: Path) -> Path:
    """Where the thumbnail of an image goes."""
    return image.parent / FOLDER / f"{image.name}.jpg"


def is_fresh(image: Path, thumbnail: Path) -> bool:
    """Is there a thumbnail that is not older than its image?"""
    return thumbnail.exists() and thumbnail.stat().st_mtime >= image.stat().st_mtime


def make(image: Path, size: int) -> tuple[int, int]:
    """Write the thumbnail of an image, at most ``size`` pixels wide and high, upright; its width and height.

    Whoever looks meanwhile sees the old one or the new one, whole. Raises NoImage.
    """
    target = thumbnail_of(image)
    target.parent.mkdir(exist_ok=True)
    try:
        with Image.open(image) as opened:
            opened.draft("RGB", (size, size))
            picture = ImageOps.exif_transpose(opened).convert("RGB")
            picture.thumbnail((size, size))
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise NoImage(f"{image.name}: {error}") from None
    unfinished = target.with_suffix(f".{os.getpid()}.part")
    picture.save(unfinished, "JPEG", quality=85)
    unfinished.replace(target)
    return picture.size
