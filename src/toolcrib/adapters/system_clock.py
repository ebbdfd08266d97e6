"""The system's clocks and chance, behind the Clock port."""

import random
import time

from toolcrib.core.instant import Instant


class SystemClock:
    """Reads the clocks of this machine."""

    def now(self) -> Instant:
        """This moment."""
        return Instant(time.monotonic(), time.time())

    def lots(self) -> float:
        """A number in [0, 1)."""
        return random.random()  # noqa: S311 - spreads retries, guards nothing
