"""All faults, in the order in which they strike."""

from __future__ import annotations

from chaos.faults import death
from chaos.faults.base import Fault

FAULTS: tuple[Fault, ...] = (*death.FAULTS,)
