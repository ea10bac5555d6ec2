"""Times of the platform and of the faults, all shortened by one printed factor."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """``factor`` 1: as shipped. Counts, limits and budgets are never scaled."""

    factor: float

    def __call__(self, seconds: float) -> float:
        """A length that is given unscaled."""
        return seconds * self.factor

    @property
    def heartbeat(self) -> float:
        return self(5)

    @property
    def lease(self) -> float:
        return self(15)

    @property
    def poll(self) -> float:
        return self(3)

    @property
    def patience(self) -> float:
        """How long a broken promise may take to be told."""
        return 45 + self(60)

    @property
    def settings(self) -> dict[str, str]:
        """The platform's settings, the defaults times the factor."""
        seconds = {
            "HEARTBEAT": self.heartbeat,
            "LEASE": self.lease,
            "POLL": self.poll,
            "RESEND": self(10),
            "CANCEL_GRACE": self(10),
            "BACKOFF_BASE": self(1),
            "SHUTDOWN_GRACE": self(25),
        }
        return {f"TASKS__{name}_SECONDS": f"{value:g}" for name, value in seconds.items()}

    def __str__(self) -> str:
        return f"times × {self.factor:g}: heartbeat {self.heartbeat:g} s, lease {self.lease:g} s"
