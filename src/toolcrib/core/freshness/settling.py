"""Second looks: what a listing that is odd in time has to show before it is believed.

Three rules, each a small record and the questions asked of it. `Echo`: a signal that changed
nothing is checked again, and a server that signals on each of our walks is slowed down. `Loss`: a
listing that shrank just after a connect is walked once more. `Alternation`: two listings that take
turns without a signal come from replicas that disagree.
"""

from dataclasses import dataclass, replace

from toolcrib.core.freshness.tempo import NEVER, Tempo
from toolcrib.core.snapshot import Snapshot

ECHO_WINDOW = 2.0
"""Seconds after one of our walks in which a signal may be its echo."""

SETTLED = 2
"""Equal digests in a row, each after a signal, that settle a server."""

MINUTE = 60.0

FLIPS = 3
"""Changes from one digest to the other and back that make four alternating listings."""


@dataclass(frozen=True, slots=True)
class Echo:
    """What came of the signals so far."""

    signalled: bool = False
    """Whether a signal is not answered yet by a clean walk."""
    echoes: int = 0
    """Walks in a row that answered a signal and found nothing new."""
    begun: tuple[float, ...] = ()
    """When the last walks began, oldest first, at most `walks_per_minute` of them."""
    digest: str = ""
    """The digest of the last whole walk."""
    reported: bool = False

    @property
    def settled(self) -> bool:
        """Whether signals of this server no longer start a walk at once."""
        return self.echoes >= SETTLED


def signalled(echo: Echo, since_walk: float) -> Echo:
    """The echo after a signal, `since_walk` seconds after a walk (0 while one is running)."""
    if since_walk > ECHO_WINDOW:
        return replace(echo, signalled=True, echoes=0)
    return replace(echo, signalled=True, reported=echo.reported or echo.settled)


def begun(echo: Echo, now: float, tempo: Tempo) -> Echo:
    """The echo after a walk began."""
    return replace(echo, begun=(*echo.begun, now)[-tempo.walks_per_minute :])


def walked(echo: Echo, digest: str) -> Echo:
    """The echo after a whole walk, published or not."""
    if digest != echo.digest:
        return replace(echo, digest=digest, echoes=0)
    return replace(echo, echoes=echo.echoes + 1) if echo.signalled else echo


def earliest(echo: Echo, tempo: Tempo) -> float:
    """When a settled server may be walked again: its last signal is delayed, never lost."""
    if not echo.settled or not echo.begun:
        return 0.0
    spaced = echo.begun[-1] + MINUTE / tempo.walks_per_minute
    full = len(echo.begun) == tempo.walks_per_minute
    return max(spaced, echo.begun[0] + MINUTE) if full else spaced


@dataclass(frozen=True, slots=True)
class Loss:
    """A listing that shrank, waiting to be confirmed."""

    until: float = 0.0
    """End of the time after a connect, of a warm start too, in which losses are confirmed."""
    digest: str = ""
    """The listing that waits; empty when none does."""
    since: float = 0.0


def is_loss(before: Snapshot, after: Snapshot) -> bool:
    """Whether more than half of the items are gone, or all."""
    if len(before) == 0:
        return False
    gone = sum(1 for item in before.items if after.get(item.key) is None)
    return len(after) == 0 or 2 * gone > len(before)


def unconfirmed(
    loss: Loss, before: Snapshot | None, after: Snapshot, now: float, tempo: Tempo
) -> Loss | None:
    """The loss as it waits from now on, or None where `after` may be published.

    An equal listing `confirm` seconds later is the confirmation. Another one that is short, too,
    says that the server is still registering: it has to be confirmed anew, until the time is over.
    """
    if before is None or now > loss.until or not is_loss(before, after):
        return None
    if loss.digest == after.digest:
        return None if now >= loss.since + tempo.confirm else loss
    return replace(loss, digest=after.digest, since=now)


@dataclass(frozen=True, slots=True)
class Alternation:
    """Two digests that took turns without a signal."""

    before: str = ""
    latest: str = ""
    flips: tuple[float, ...] = ()
    """When the digest became the other one of the two, within the last minute."""
    other: Snapshot | None = None
    """The listing that is held back; its tools stay callable."""

    @property
    def disagrees(self) -> bool:
        """Whether replicas of the server disagree."""
        return len(self.flips) >= FLIPS

    @property
    def quiet_at(self) -> float:
        """When a minute without another flip will be over."""
        return self.flips[-1] + MINUTE if self.flips else NEVER


def observed(alternation: Alternation, digest: str, now: float, *, signalled: bool) -> Alternation:
    """The alternation after a clean walk with this digest; a signal explains any change."""
    flips = tuple(at for at in alternation.flips if at > now - MINUTE)
    latest = alternation.latest
    if digest == latest:
        return replace(alternation, flips=flips)
    if signalled:
        return Alternation(latest, digest)
    if digest == alternation.before:
        return replace(alternation, before=latest, latest=digest, flips=(*flips, now)[-FLIPS:])
    return Alternation(latest, digest, (now,) if latest else ())
