"""Adding up is exact where it says so, bounded everywhere, and does not depend on the order."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.builtin.files.duplicates import duplicates
from tasks.builtin.files.measure import Measured
from tasks.builtin.files.plan import shares
from tasks.builtin.files.tally import LARGEST, OTHER, TYPES, Hashes, Tally, merged

measurements = st.builds(
    Measured,
    size=st.integers(0, 2**50),
    kind=st.sampled_from(["text/plain", "image/png", "x/y"]),
    sha256=st.sampled_from(["", "aa" * 32, "bb" * 32]),
    image=st.booleans(),
    dimensions=st.none() | st.tuples(st.integers(1, 9999), st.integers(1, 9999)),
    inode=st.sampled_from(["", "1:2"]),
    changed=st.booleans(),
)
files = st.lists(st.tuples(st.text("abc/", min_size=1, max_size=6), measurements), max_size=40)


def tally_of(found: list[tuple[str, Measured]]) -> Tally:
    tally = Tally()
    for path, one in found:
        tally.add(path, one)
    return tally


@settings(deadline=None)
@given(files, files)
def test_merging_equals_adding_all(
    one: list[tuple[str, Measured]], other: list[tuple[str, Measured]]
) -> None:
    assert merged([tally_of(one), tally_of(other)]).report() == tally_of(one + other).report()


@settings(deadline=None)
@given(files)
def test_a_report_and_a_checkpoint_give_the_tally_back(found: list[tuple[str, Measured]]) -> None:
    tally = tally_of(found)
    tally.refuse("x", "permission denied")
    assert Tally.from_report(json.loads(json.dumps(tally.report()))).report() == tally.report()
    assert Tally.from_state(json.loads(json.dumps(tally.state()))).report() == tally.report()


def test_a_tally_stays_small_whatever_it_counts() -> None:
    tally = Tally()
    for number in range(1_000):
        tally.add(f"{number}/" + "p" * 5_000, Measured(number, f"x/{number}", "aa"))
        tally.refuse("q" * 5_000, f"reason {number}")
    report = tally.report()
    assert len(json.dumps(report)) < 40_000
    assert report["files"] == 1_000 and report["unreadable"]["count"] == 1_000
    assert len(report["by_type"]) == TYPES + 1 and report["by_type"][OTHER]["files"] == 1_000 - TYPES
    assert [row["bytes"] for row in report["largest"]] == list(range(999, 999 - LARGEST, -1))


def test_sums_stay_within_what_can_be_stored() -> None:
    tally = Tally()
    for _ in range(3):
        tally.add("x", Measured(2**62, "x/y", ""))
    assert tally.bytes == 2**63 - 1


def test_hashes_keep_the_largest_files_and_say_that_some_are_missing() -> None:
    hashes = Hashes(limit=3, max_bytes=10_000)
    for size in (5, 1, 9, 7):
        hashes.add(f"f{size}", Measured(size, "x/y", "aa"))
    assert [row[1] for row in hashes.rows()] == [5, 7, 9]
    assert not hashes.complete


def test_hashes_keep_to_their_bytes() -> None:
    hashes = Hashes(limit=1_000, max_bytes=10_000)
    for size in range(1, 500):
        hashes.add("ü" * 50, Measured(size, "x/y", "a" * 64))
    assert len(json.dumps(hashes.rows())) < 10_000
    assert not hashes.complete


def test_an_unhashed_file_makes_duplicates_inexact_an_empty_one_does_not() -> None:
    hashes = Hashes(10, 10_000)
    hashes.add("empty", Measured(0, "x/y", "e3"))
    assert hashes.complete
    hashes.add("huge", Measured(10, "x/y", ""))
    assert not hashes.complete and hashes.rows() == []


def test_duplicates_are_counted_and_the_worst_listed_first() -> None:
    rows = [
        ["aa", 10, "a1", ""],
        ["aa", 10, "a2", ""],
        ["aa", 10, "a3", ""],
        ["bb", 100, "b1", ""],
        ["bb", 100, "b2", ""],
        ["cc", 5, "alone", ""],
    ]
    found = duplicates(rows, exact=True)
    assert (found["groups"], found["copies"], found["wasted_bytes"]) == (2, 3, 120)
    assert [group["paths"] for group in found["top"]] == [["b1", "b2"], ["a1", "a2", "a3"]]


def test_names_of_one_file_are_no_duplicates() -> None:
    rows = [["aa", 10, "name", "1:2"], ["aa", 10, "other name", "1:2"]]
    assert duplicates(rows, exact=True)["groups"] == 0
    assert duplicates([*rows, ["aa", 10, "copy", ""]], exact=True)["wasted_bytes"] == 10


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 500), max_size=200),
    st.integers(1, 40),
    st.integers(100, 5_000),
)
def test_every_folder_is_in_exactly_one_share(counts: list[int], at_most: int, max_bytes: int) -> None:
    folders = [(f"folder-{number}", count) for number, count in enumerate(counts)]
    found = shares(folders, at_most=at_most, max_bytes=max_bytes)
    assert [path for share in found for path in share.folders] == [path for path, _ in folders]
    assert [share.files for share in found] == [
        sum(dict(folders)[path] for path in share.folders) for share in found
    ]
    if len(folders) > at_most:
        assert all(len(json.dumps(share.folders)) <= max_bytes or len(share.folders) == 1 for share in found)
    if max_bytes == 5_000:
        assert len(found) <= at_most + len(json.dumps(folders)) // 5_000


@settings(deadline=None)
@given(st.lists(st.integers(0, 500), max_size=200), st.integers(1, 40))
def test_shares_keep_to_the_bound_and_balance(counts: list[int], at_most: int) -> None:
    folders = [(f"f{number}", count) for number, count in enumerate(counts)]
    found = shares(folders, at_most=at_most, max_bytes=10**9)
    assert len(found) <= at_most
    if len(folders) > at_most:
        fair = sum(count + 1 for count in counts) / at_most
        assert all(share.files <= fair + max(counts) + 1 for share in found)
