"""files.scan on real trees: what the parent shares out, what a child finds, what the totals say."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.errors import ParamsInvalid
from tasks import queries
from tasks.builtin.files import folder as folder_module
from tasks.builtin.files import scan as scan_module
from tasks.builtin.files.scan import scan, scan_folder
from tasks.context import ChildResult
from tasks.outcomes import Fail, JobCancelled
from tasks.states import CancelReason, State
from tests.pure.builtin.fakes import START, FakePort, as_child, context_with, run
from tests.pure.builtin.trees import ODD_NAMES, plant


@pytest.fixture(autouse=True)
def platform_facts(monkeypatch: pytest.MonkeyPatch) -> Any:
    row = SimpleNamespace(queue="bulk", priority=1000)
    monkeypatch.setattr(queries, "get_job", lambda _: row)
    with clock.use(clock.FrozenClock(START)) as frozen:
        yield frozen


def planned(root: Path, **params: Any) -> FakePort:
    port = FakePort()
    run(scan, port, root=str(root), **params)
    return port


def totals(root: Path, **params: Any) -> dict[str, Any]:
    """The whole life of a scan, each child run by itself."""
    port = planned(root, **params)
    ended = [as_child(child, run(scan_folder, **child.params).result) for child in port.children]
    return added_up(port, ended)


def added_up(port: FakePort, ended: list[ChildResult]) -> dict[str, Any]:
    context = context_with(port, data=port.data, children=ended, params={"root": "/"})
    result = scan.run_continuation(context).result
    json.dumps(result).encode()  # no lone surrogates
    return dict(result)


def truth(root: Path) -> dict[str, Any]:
    """The same facts by the standard library alone."""
    regular = [
        path
        for folder, _, names in os.walk(root)
        for path in (os.path.join(folder, name) for name in names)
        if os.path.isfile(path) and not os.path.islink(path)
    ]
    return {"files": len(regular), "bytes": sum(os.path.getsize(path) for path in regular)}


def test_one_child_for_each_folder_with_entries(tmp_path: Path) -> None:
    plant(tmp_path)
    port = planned(tmp_path)
    assert [child.params["folders"] for child in port.children] == [
        ["bad"],
        ["images"],
        ["odd"],
        ["odd/folder-\\xff"],
        ["text"],
        ["text/deep"],
        ["text/deep/deeper"],
    ]
    assert len({child.child_key for child in port.children}) == 7
    assert port.ignore_failures is True
    assert {(child.queue, child.priority) for child in port.children} == {("bulk", 1000)}


def test_totals_of_a_real_tree(tmp_path: Path) -> None:
    plant(tmp_path)
    result = totals(tmp_path)
    expected = truth(tmp_path)
    assert {name: result[name] for name in expected} == expected
    assert result["complete"] and result["folders"] == 9
    assert result["images"]["count"] == 3 and result["images"]["unreadable"] == 0
    assert result["images"]["largest"][0] == {"path": "images/red.png", "width": 64, "height": 48}
    assert result["by_type"]["text/html"]["files"] == 1
    assert sum(row["files"] for row in result["by_type"].values()) == expected["files"]
    assert result["links"] == 2 and result["hard_links"] == 2
    assert result["unreadable"]["count"] == 4
    assert set(result["unreadable"]["reasons"]) >= {"named pipe", "socket", "broken link"}
    twins = result["duplicates"]
    assert (twins["exact"], twins["groups"], twins["copies"], twins["wasted_bytes"]) == (True, 1, 2, 1500)
    assert twins["top"][0]["paths"] == ["text/deep/deeper/three.md", "text/deep/two.txt", "text/one.txt"]
    assert twins["top"][0]["sha256"] == hashlib.sha256(b"the same words\n" * 50).hexdigest()
    assert len(result["largest"]) == 10
    assert [row["bytes"] for row in result["largest"]] == sorted(
        (row["bytes"] for row in result["largest"]), reverse=True
    )
    assert result["elapsed_seconds"] == 0


@pytest.mark.parametrize("max_children", [1, 2, 3, 5])
def test_fewer_children_than_folders_scan_every_file_once(tmp_path: Path, max_children: int) -> None:
    plant(tmp_path)
    port = planned(tmp_path, max_children=max_children)
    assert len(port.children) <= max_children
    folders = [folder for child in port.children for folder in child.params["folders"]]
    assert len(folders) == len(set(folders)) == 7
    whole, shared = totals(tmp_path), totals(tmp_path, max_children=max_children)
    for result in (whole, shared):
        del result["children"]
    assert whole == shared


def test_a_thousand_folders_fit_into_two_hundred_children(tmp_path: Path) -> None:
    for number in range(1_000):
        folder = tmp_path / f"{number % 10}" / f"{number}"
        folder.mkdir(parents=True)
        (folder / "file").write_text(str(number))
    port = planned(tmp_path)
    assert 150 <= len(port.children) <= 200
    spread = Counter(folder for child in port.children for folder in child.params["folders"])
    assert len(spread) == 1_000 and set(spread.values()) == {1}


def test_per_folder_result_lists_files_with_their_facts(tmp_path: Path) -> None:
    plant(tmp_path)
    report = run(scan_folder, root=str(tmp_path), folders=["images", "odd"]).result
    assert report["folders"]["listed"] == [
        {
            "folder": "images",
            "files": 4,
            "bytes": sum(p.stat().st_size for p in (tmp_path / "images").iterdir()),
        },
        {"folder": "odd", "files": len(ODD_NAMES), "bytes": sum(map(len, ODD_NAMES))},
    ]
    assert {row["path"] for row in report["listed"]} >= {
        "odd/latin-\\xe9.txt",
        "odd/line\\x0afeed.txt",
        "odd/esc\\x1b[31m.txt",
        "odd/back\\\\slash.txt",
    }
    red = next(row for row in report["listed"] if row["path"] == "images/red.png")
    assert (red["type"], red["width"], red["height"]) == ("image/png", 64, 48)


def test_results_stay_small_for_a_folder_of_thousands(tmp_path: Path) -> None:
    for number in range(3_000):
        (tmp_path / f"{number:05}-{'n' * 60}").write_text(str(number))
    with config.override(tasks={"result_max_bytes": 150_000}):
        report = run(scan_folder, root=str(tmp_path), folders=[""]).result
    assert report["files"] == 3_000
    assert len(json.dumps(report)) < 100_000
    assert report["hashes"]["complete"] is False


def test_progress_counts_files_and_names_the_current_one(tmp_path: Path) -> None:
    plant(tmp_path)
    port = FakePort()
    run(scan_folder, port, root=str(tmp_path), folders=["images"], files=4)
    assert port.told == [
        (0, 4, "images/blue.jpg"),
        (1, 4, "images/grey.gif"),
        (2, 4, "images/liar.png"),
        (3, 4, "images/red.png"),
        (4, 4, ""),
    ]


def test_an_interrupted_child_goes_on_wherever_it_was_stopped(tmp_path: Path) -> None:
    plant(tmp_path)
    folders = ["text", "odd", "bad", "images"]
    whole = run(scan_folder, root=str(tmp_path), folders=folders).result
    entries = sum(
        len([p for p in (tmp_path / f).iterdir() if p.is_symlink() or not p.is_dir()]) for f in folders
    )
    stops = 0
    for stop_at in range(1, 60):
        port = FakePort(stop_at)
        try:
            run(scan_folder, port, root=str(tmp_path), folders=folders)
        except JobCancelled:
            stops += 1
            again = FakePort()
            result = run(scan_folder, again, cursor=port.cursor, root=str(tmp_path), folders=folders).result
            assert result == whole, f"stopped at look {stop_at}"
            assert port.cursor["done"] + len({t for t in again.told if t[2]}) == entries
    assert stops == entries  # one look before each


def test_a_crashed_child_goes_on_at_its_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "CHECKPOINT_FILES", 2)
    plant(tmp_path)
    port = FakePort()
    whole = run(scan_folder, port, root=str(tmp_path), folders=["odd", "text"]).result
    assert port.cursor["done"] >= 6
    assert run(scan_folder, cursor=port.cursor, root=str(tmp_path), folders=["odd", "text"]).result == whole


def test_a_cancel_is_seen_inside_a_large_file(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as sparse:
        sparse.truncate(64 * 1024**2)
    port = FakePort(stop_at=10, reason=CancelReason.USER)
    with pytest.raises(JobCancelled):
        run(scan_folder, port, root=str(tmp_path), folders=[""])
    assert port.looks == 10
    assert any("%" in label for _, _, label in port.told)


def test_a_folder_that_vanished_is_counted(tmp_path: Path) -> None:
    report = run(scan_folder, root=str(tmp_path), folders=["gone"]).result
    assert report["unreadable"]["samples"] == [{"path": "gone", "reason": "folder: vanished"}]


def test_a_folder_exchanged_for_a_link_is_not_followed(tmp_path: Path) -> None:
    plant(tmp_path)
    report = run(scan_folder, root=str(tmp_path), folders=["bad/to-folder"]).result
    assert report["files"] == 0 and report["unreadable"]["count"] == 1


def test_an_unreadable_folder_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path)
    real = os.open

    def refuse(path: Any, *args: Any, **kwargs: Any) -> int:
        if path == "images":
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)
    result = totals(tmp_path)
    assert result["unreadable"]["reasons"]["folder: permission denied"] == 1
    assert result["images"]["count"] == 0 and result["complete"]


def test_an_empty_tree_has_totals_at_once_and_no_children(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    port = FakePort()
    outcome = run(scan, port, root=str(tmp_path))
    assert port.children == []
    assert (outcome.count, outcome.result["folders"], outcome.result["complete"]) == (0, 2, True)


def test_one_failed_child_leaves_the_totals_incomplete(tmp_path: Path) -> None:
    plant(tmp_path)
    port = planned(tmp_path)
    ended = [as_child(child, run(scan_folder, **child.params).result) for child in port.children]
    ended[1] = as_child(port.children[1], None, State.FAILED, "worker died")
    result = added_up(port, ended)
    assert not result["complete"] and not result["duplicates"]["exact"]
    assert result["children"] == {
        "count": 7,
        "failed": 1,
        "samples": [{"key": "1:images", "error": "worker died"}],
    }


def test_a_scan_without_one_good_child_fails(tmp_path: Path) -> None:
    plant(tmp_path)
    port = planned(tmp_path)
    ended = [as_child(child, None, State.FAILED, "disk away") for child in port.children]
    with pytest.raises(Fail, match="None of 7 folder scans succeeded: disk away"):
        added_up(port, ended)


def test_a_parent_run_again_keeps_the_children_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path)
    port = planned(tmp_path)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "file").touch()
    monkeypatch.setattr(queries, "children_summary", lambda _: {"total": 7})
    again = FakePort()
    assert run(scan, again, cursor=port.cursor, root=str(tmp_path)) is None
    assert again.children == []


def test_a_parent_that_died_before_it_had_children_plans_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path)
    monkeypatch.setattr(queries, "children_summary", lambda _: {"total": 0})
    again = FakePort()
    run(scan, again, cursor={"planned": 7}, root=str(tmp_path))
    assert len(again.children) == 7


def test_followed_links_are_scanned_once_and_end(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "far.txt").write_text("far")
    (outside / "back").symlink_to(tmp_path / "tree")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "near.txt").write_text("near")
    for name in ("link", "same-link"):
        (tree / name).symlink_to(outside)
    (tree / "self").symlink_to(tree)
    assert totals(tree)["files"] == 1
    followed = totals(tree, follow_symlinks=True)
    assert (followed["files"], followed["folders"]) == (2, 2)
    with config.override(tasks={"files_scan_roots": [str(tree)]}):
        kept_in = totals(tree, follow_symlinks=True)
    assert kept_in["files"] == 1
    assert kept_in["unreadable"]["reasons"] == {"link leads outside": 2}


def test_roots_that_cannot_be_scanned(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    (tmp_path / "out").symlink_to("/usr")
    allowed = {"files_scan_roots": [str(tmp_path)]}
    for root, why in (
        (str(tmp_path / "missing"), "does not exist"),
        (str(file), "is no folder"),
        ("relative/path", "absolute path"),
        ("", "absolute path"),
        ("/usr", "TASKS__FILES_SCAN_ROOTS"),
        (f"{tmp_path}/../..", "TASKS__FILES_SCAN_ROOTS"),
        (f"{tmp_path}/out", "TASKS__FILES_SCAN_ROOTS"),
    ):
        with config.override(tasks=allowed), pytest.raises(Fail, match=why) as failure:
            run(scan, root=root)
        assert failure.value.retryable is False, root


@pytest.mark.parametrize("folder", ["..", "a/../../etc", "/etc"])
def test_a_child_is_not_sent_outside(tmp_path: Path, folder: str) -> None:
    with (
        config.override(tasks={"files_scan_roots": [str(tmp_path)]}),
        pytest.raises(Fail, match="not below") as failure,
    ):
        run(scan_folder, root=str(tmp_path), folders=[folder])
    assert failure.value.retryable is False


def test_wrong_params_are_refused_before_anything_is_stored() -> None:
    for wrong in ({"max_children": 0}, {"max_children": 10**6}, {"max_children": "9"}, {"depth": 1}):
        with pytest.raises(ParamsInvalid):
            scan.schema.normalise({"root": "/", **wrong})


def test_many_files_lower_what_each_child_may_return() -> None:
    assert scan_module._hash_limit(1_000, 200) == 4_000
    assert scan_module._hash_limit(10**7, 200) == 1_000
    assert scan_module._hash_limit(10**9, 5_000) == 40


def test_a_tree_whose_paths_do_not_fit_is_refused_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.builtin.files.survey.MAX_CHILDREN", 3)
    for number in range(30):
        (tmp_path / f"{number}-{'n' * 150}").mkdir()
        (tmp_path / f"{number}-{'n' * 150}" / "f").touch()
    with config.override(tasks={"params_max_bytes": 400}), pytest.raises(Fail, match="one by one") as failure:
        planned(tmp_path, max_children=2)
    assert failure.value.retryable is False


def test_children_are_asked_for_with_valid_params(tmp_path: Path) -> None:
    plant(tmp_path)
    for child in planned(tmp_path, max_children=2).children:
        scan_folder.schema.normalise(dict(child.params))
