"""When to try a connection again: a pure rule over what happened so far.

Delays grow by three, not two: a server that answers the handshake and then exits is started at most
five times in its first minute. Jitter only lengthens a delay. A good handshake does not reset the
delay, sustained uptime does; otherwise a crash loop would look like success each time round.
"""

from dataclasses import dataclass

from toolcrib.settings import Reconnect

GROWTH = 3.0
JITTER = 0.25


@dataclass(frozen=True, slots=True)
class Attempts:
    """How the attempts since the last sustained uptime went."""

    failed: int = 0
    """Attempts in a row that failed or ended before uptime was sustained."""

    def after(self, uptime: float, rule: Reconnect) -> "Attempts":
        """The next state once a connection ended after `uptime` seconds.

        The uptime is 0 for one that never came up.
        """
        if uptime >= rule.sustained:
            return Attempts(1)
        return Attempts(self.failed + 1)

    def slow(self, rule: Reconnect) -> bool:
        """Whether so many attempts failed that only slow probing goes on."""
        return self.failed > rule.give_up_after

    def delay(self, rule: Reconnect, lots: float, retry_after: float | None = None) -> float:
        """Seconds to wait before the next attempt.

        Args:
            rule: The server's reconnect settings.
            lots: A number in [0, 1) for the jitter.
            retry_after: Seconds the server asked for; never undercut, bounded by the slow probe
            interval.
        """
        if self.failed == 0:
            return 0.0
        if self.slow(rule):
            base = rule.slow_probe
        else:
            exponent = min(self.failed - 1, 32)
            base = min(rule.backoff_base * GROWTH**exponent, rule.backoff_max)
        jittered = base * (1.0 + JITTER * lots)
        return max(jittered, min(retry_after or 0.0, rule.slow_probe))
