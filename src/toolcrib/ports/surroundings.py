"""Time, chance, and whoever watches."""

from typing import Protocol

from toolcrib.core.instant import Instant
from toolcrib.facts import Fact


class Clock(Protocol):
    """Time and chance; the only source of both."""

    def now(self) -> Instant:
        """This moment."""
        ...

    def lots(self) -> float:
        """A number in [0, 1)."""
        ...


class Observer(Protocol):
    """Takes facts. Must not block or raise; may drop."""

    def note(self, fact: Fact) -> None:
        """Take one fact."""
        ...
