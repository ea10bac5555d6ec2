"""What the entries shall be, left by the client for the scheduler."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.handlers import FOLDER


@dataclass(frozen=True, slots=True)
class Plan:
    count: int = 0
    at: float = 0.0

    @property
    def is_far(self) -> bool:
        """Whether nothing of it comes due while it is measured."""
        return self.at - time.time() > 3600


def _file() -> Path:
    return Path(os.environ[FOLDER]) / "plan.json"


def write(plan: Plan) -> None:
    _file().write_text(json.dumps(asdict(plan)))


def read() -> Plan:
    """An empty one when there is none."""
    try:
        return Plan(**json.loads(_file().read_text()))
    except FileNotFoundError:
        return Plan()
