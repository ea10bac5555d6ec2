"""All faults, in the order in which they strike."""

from __future__ import annotations

from chaos.faults import broker, clocks, cut_off, database, death, frozen, poison, shutdown
from chaos.faults.base import Fault

# Those that need the same workers stand together.
FAULTS: tuple[Fault, ...] = (
    *death.FAULTS,
    *frozen.FAULTS,
    *poison.FAULTS,
    *database.FAULTS,
    *cut_off.FAULTS,
    *broker.FAULTS,
    *clocks.FAULTS,
    *shutdown.FAULTS,
)
