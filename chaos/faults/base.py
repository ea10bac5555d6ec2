"""What a fault is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chaos.scene import Scene


@dataclass(frozen=True, slots=True)
class Fault:
    """``shows``: the promise, as the table says it. ``strike`` does it, in a scene of its own. ``workers``: who
    must run then, and nobody else (see ``chaos.fleet.KINDS``)."""

    name: str
    shows: str
    strike: Callable[[Scene], None]
    workers: tuple[str, ...] = ("a", "b")
