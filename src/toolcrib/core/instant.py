"""A moment, as data: the core never reads a clock, the caller hands one in."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instant:
    """One moment on two clocks."""

    mono: float
    """Seconds on a monotonic clock of this process: for intervals and deadlines."""
    wall: float
    """Seconds since the epoch: for records that outlive the process, and only for those."""

    def plus(self, seconds: float) -> "Instant":
        """The moment `seconds` later on both clocks."""
        return Instant(self.mono + seconds, self.wall + seconds)
