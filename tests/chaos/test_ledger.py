"""The append-only file: what is written is read, whoever died while writing."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos import ledger


def test_what_is_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger"
    monkeypatch.setenv(ledger.FILE, str(path))
    read = ledger.Ledger(path)
    assert read.refresh() == []
    ledger.append("start", "job-1", 1, 1)
    ledger.append("start", "job-2", 1, 1)
    ledger.append("end", "job-1", 1, 1)
    ledger.append("start", "job-1", 2, 2)
    (first, second), (other,) = read.runs({"job-1", "job-2"}).values()
    assert (first.ended, first.unfinished, first.starts) == (True, False, 1)
    assert (second.ended, second.unfinished, second.lease) == (False, True, 2)
    assert other.unfinished
    assert read.count("start") == 3


def test_half_a_line_waits_for_its_other_half(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    read = ledger.Ledger(path)
    path.write_text("start 1000000000 job 1 1 7 -\nend 2000000000 jo")
    assert [line.what for line in read.refresh()] == ["start"]
    with path.open("a") as file:
        file.write("b 1 1 7 -\n")
    assert [(line.what, line.job, line.at) for line in read.refresh()][1:] == [("end", "job", 2.0)]


def test_what_is_frozen_and_not_thawed_is_frozen_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    path.write_text("frozen 1000000000 - 0 0 1 8\nfrozen 2000000000 - 0 0 1 9\nthawed 3000000000 - 0 0 1 8\n")
    assert list(ledger.Ledger(path).frozen()) == [(8, 1.0, 3.0), (9, 2.0, float("inf"))]
