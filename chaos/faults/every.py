"""All faults, in the order in which they strike."""

from __future__ import annotations

from chaos.faults import broker, clocks, cut_off, database, death, frozen, poison, shutdown
from chaos.faults.base import Fault

# Those that need the same workers stand together, and the long ones come first.
FAULTS: tuple[Fault, ...] = (
    *database.FAULTS,
    *broker.FAULTS,
    *clocks.FAULTS,
    *cut_off.FAULTS,
    *poison.FAULTS,
    *frozen.FAULTS,
    *death.FAULTS,
    *shutdown.FAULTS,
)
