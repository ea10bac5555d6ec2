"""How long a scene waits for its jobs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from chaos.scale import Scale
from chaos.scene import Scene


class Told(Scene):
    """A scene whose count of unfinished jobs is told, one number a look; the last one stays."""

    numbers: Iterator[int]
    left = 0

    def open(self) -> int:
        self.left = next(self.numbers, self.left)
        return self.left


@pytest.fixture
def scene() -> Told:
    servers: Any = SimpleNamespace(scale=Scale(1), ledger=None)
    fleet: Any = SimpleNamespace(web=SimpleNamespace(silent=[]))
    return Told("settling", servers, fleet, random.Random(1), patience=0.4)


def test_patience_begins_anew_with_each_job_that_ends(scene: Told) -> None:
    # Ten ends, each within the patience, all of them far beyond it.
    scene.numbers = iter([n for n in range(10, 0, -1) for _ in range(4)] + [0])
    scene.settle()
    assert scene.problems == []


def test_jobs_that_never_end_are_told_with_their_number(scene: Told) -> None:
    scene.numbers = iter([3, 2])
    scene.settle()
    assert scene.problems == ["every job ends (2 have not): not within 0 s"]


def test_the_flow_beside_a_fault_stops_before_its_jobs_are_waited_for(
    scene: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr("chaos.flow.Flow.start", lambda flow: told.append("flows"))
    monkeypatch.setattr("chaos.flow.Flow.stop", lambda flow: told.append("stopped"))
    scene.numbers = iter([0])
    with scene.flow_beside("steady"):
        scene.settle()
        told.append("settled")
    assert told[:3] == ["flows", "stopped", "settled"]
