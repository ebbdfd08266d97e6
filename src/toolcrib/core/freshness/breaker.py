"""A breaker: each failure in a row moves the time of the next attempt further away."""

from dataclasses import dataclass

RETRY_AFTER_LIMIT = 600.0
"""The longest wait, in seconds, that a peer can ask of us: a wrong date must not end a catalog."""


@dataclass(frozen=True, slots=True)
class Breaker:
    """How often something failed in a row, and until when it is left alone."""

    failures: int = 0
    until: float = 0.0
    """Monotonic seconds; open before, closed from then on."""
    asked: bool = False
    """Whether the peer named that time itself, so that a new connection does not lift it."""

    def is_open(self, now: float) -> bool:
        """Whether nothing may be tried at monotonic time `now`."""
        return now < self.until


CLOSED = Breaker()


def backoff(attempt: int, lots: float, *, base: float, cap: float) -> float:
    """Seconds to wait after failure number `attempt`, from 1: doubled each time, half by lot."""
    return min(cap, base * 2.0 ** min(attempt - 1, 32)) * (0.5 + lots / 2)


def tripped(breaker: Breaker, now: float, wait: float, retry_after: float | None = None) -> Breaker:
    """The breaker after one more failure, open for `wait` seconds or as long as the peer asked."""
    asked = retry_after is not None and retry_after > wait
    if retry_after is not None and asked:
        wait = min(retry_after, max(wait, RETRY_AFTER_LIMIT))
    return Breaker(breaker.failures + 1, now + wait, asked)


def reconnected(breaker: Breaker) -> Breaker:
    """The breaker once the peer is there again: closed, unless the peer named the time itself."""
    return breaker if breaker.asked else Breaker(breaker.failures)
