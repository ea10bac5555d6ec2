"""A walk sees every folder once and is not led out of its tree."""

import os
from pathlib import Path

import pytest

from tasks.builtin import tree
from tasks.builtin.tree import Folder, is_inside, opened, walk


def folders_of(root: Path, **options: object) -> list[Folder]:
    with opened(str(root)) as descriptor:
        return list(walk(descriptor, step=lambda: None, **options))  # type: ignore[arg-type]


def test_every_folder_is_met_once_parents_first(tmp_path: Path) -> None:
    for name in ("b/x", "b/a/deep", "a"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "b" / "file").touch()
    found = folders_of(tmp_path)
    assert [folder.path for folder in found] == ["", "a", "b", "b/a", "b/a/deep", "b/x"]
    assert [folder.others for folder in found if folder.path == "b"] == [["file"]]


def test_links_are_entries_and_never_entered(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "up").symlink_to("..")
    (tmp_path / "self").symlink_to("self")
    (top, real) = folders_of(tmp_path)
    assert (top.folders, top.others, top.links_to_folders) == (["real"], ["self", "up"], ["up"])
    assert real.path == "real"


def test_a_folder_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "tree" / "victim").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    with opened(str(tmp_path / "tree")) as root:
        folders = walk(root, step=lambda: None)
        assert next(folders).folders == ["victim"]
        (tmp_path / "tree" / "victim").rmdir()
        (tmp_path / "tree" / "victim").symlink_to(tmp_path / "elsewhere")
        assert [bool(folder.error) for folder in folders] == [True]


def test_a_path_longer_than_the_system_allows_is_reached(tmp_path: Path) -> None:
    name = "d" * 200
    current = os.open(tmp_path, os.O_RDONLY)
    for _ in range(30):
        os.mkdir(name, dir_fd=current)
        following = os.open(name, os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = following
    os.close(current)
    found = folders_of(tmp_path)
    assert len(found) == 31
    assert len(found[-1].path) > 4096
    assert not any(folder.error for folder in found)


def test_too_deep_is_told_and_not_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_DEPTH", 2)
    (tmp_path / "a/b/c/d").mkdir(parents=True)
    assert [(folder.path, folder.error) for folder in folders_of(tmp_path)][3:] == [("a/b/c", "too deep")]


def test_a_folder_that_vanishes_is_told(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    with opened(str(tmp_path)) as root:
        folders = walk(root, step=lambda: None)
        next(folders)
        (tmp_path / "gone").rmdir()
        assert [folder.error for folder in folders] == ["vanished"]


def test_another_file_system_is_told_and_not_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mount" / "below").mkdir(parents=True)
    inode = (tmp_path / "mount").stat().st_ino
    real = os.fstat

    def fstat(descriptor: int) -> os.stat_result:
        facts = real(descriptor)
        if facts.st_ino != inode:
            return facts
        return os.stat_result([*facts[:2], facts.st_dev + 1, *facts[3:]])

    monkeypatch.setattr(tree.os, "fstat", fstat)
    assert [(folder.path, folder.foreign) for folder in folders_of(tmp_path)] == [
        ("", False),
        ("mount", True),
    ]
    assert len(folders_of(tmp_path, cross_mounts=True)) == 3


def test_visited_folders_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    visited: set[tuple[int, int]] = set()
    assert len(folders_of(tmp_path / "a", visited=visited)) == 2
    assert [folder.path for folder in folders_of(tmp_path, visited=visited)] == [""]


def test_a_walk_leaves_no_descriptor_open(tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    folders_of(tmp_path)
    with pytest.raises(OSError), opened(str(tmp_path / "missing" / "x")):
        pass
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


@pytest.mark.parametrize(
    ("path", "folder", "inside"),
    [("/a/b", "/a", True), ("/a", "/a", True), ("/ab", "/a", False), ("/a", "/", True), ("/", "/a", False)],
)
def test_is_inside(path: str, folder: str, inside: bool) -> None:
    assert is_inside(path, folder) is inside
