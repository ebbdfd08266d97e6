"""What a replica hears: readers, change signals, the connection, the loss of a right."""

from dataclasses import replace

from toolcrib.core.freshness.breaker import reconnected
from toolcrib.core.freshness.effects import Effect, Report, Withdrawn
from toolcrib.core.freshness.entry import (
    Entry,
    Link,
    answerable_until,
    but,
    is_interesting,
    visible,
)
from toolcrib.core.freshness.events import Invalidated, Needed, Reason
from toolcrib.core.freshness.settling import Alternation, signalled
from toolcrib.core.freshness.tempo import NEVER

SELF_NOTIFYING = "self_notifying_server"

Outcome = tuple[Entry, tuple[Effect, ...]]


def needed(entry: Entry, event: Needed) -> Entry:
    """Somebody needs the catalog: note it, and want a walk unless what is held is good enough."""
    now = event.now.mono
    return but(
        entry,
        asked=now,
        cold=min(entry.cold, now) if visible(entry, now) is None else entry.cold,
        look=entry.look or entry.remote,
        forced_at=now if event.force else entry.forced_at,
        wanted=entry.wanted or entry.remote or event.force or now >= answerable_until(entry),
    )


def awaited(entry: Entry, now: float, *, burst: bool = True) -> Entry:
    """Want a walk, if anybody cares.

    With `burst`, more signals may follow at once, so the walk waits for the end of the debounce.
    That end is fixed by the first of them: a storm must not push it away.
    """
    debounced = entry.debounced
    if burst and not debounced:
        debounced = now + entry.tempo.debounce
    wanted = entry.wanted or is_interesting(entry, now)
    return but(entry, debounced=debounced, wanted=wanted)


def stale(entry: Entry, now: float, *, burst: bool = True) -> Entry:
    """Remember a signal: from here on nothing held counts as fresh (rule 13)."""
    return awaited(but(entry, heard=True), now, burst=burst)


def invalidated(entry: Entry, event: Invalidated) -> Outcome:
    """Something says that what is held may be out of date."""
    now = event.now.mono
    match event.reason:
        case Reason.SIGNAL:
            return _signalled(entry, now)
        case Reason.CALL_CONTRADICTED:
            return stale(but(entry, asked=now), now, burst=False), ()
        case Reason.REQUESTED:
            return stale(but(entry, asked=now, forced_at=now), now, burst=False), ()
        case Reason.STREAM_LOST:
            return stream_lost(entry, now), ()
        case Reason.RECONNECTED | Reason.STARTED | Reason.CONFIG_CHANGED | Reason.VERSION_HINT:
            return stale(entry, now), ()


def _signalled(entry: Entry, now: float) -> Outcome:
    since_walk = 0.0 if entry.walk is not None else now - entry.ended
    echo = signalled(entry.echo, since_walk)
    effects: tuple[Effect, ...] = ()
    if echo.reported and not entry.echo.reported:
        detail = "the server announces a change after each listing of ours, and nothing changed"
        effects = (Report(SELF_NOTIFYING, detail),)
    # A walk that answers this signal is the re-check, too; and with signals, two listings that
    # take turns are a server that changes, not replicas that disagree.
    alternation = replace(entry.alternation, flips=(), other=None)
    entry = but(entry, echo=echo, alternation=alternation, recheck_at=NEVER)
    return stale(entry, now), effects


def connected(entry: Entry, now: float) -> Entry:
    """The server is there, now or again: whatever is held answers an old question."""
    return but(
        stale(entry, now),
        link=Link(up=True, tried=True),
        cold=now if entry.held is None else entry.cold,
        debounced=now + entry.tempo.debounce,
        breaker=reconnected(entry.breaker),
        loss=replace(entry.loss, until=now + entry.tempo.settle_window),
    )


def disconnected(entry: Entry, now: float) -> Entry:
    """The server is away: the walk under way is over, and signals are missed from here on."""
    if entry.link.listening:
        entry = stale(entry, now)
    walk = entry.walk
    if walk is not None and walk.candidate is None:
        owed = min(entry.recheck_at, now) if walk.owed else entry.recheck_at
        entry = but(entry, walk=None, release=walk.ticket, wanted=True, recheck_at=owed)
    entry = but(entry, link=Link(tried=True), loss=replace(entry.loss, digest=""))
    return unhidden(entry, now)


def unhidden(entry: Entry, now: float) -> Entry:
    """Where availability goes first, a server that cannot be asked ends the hiding after a loss."""
    held = entry.held
    if held is None or entry.tempo.after_loss == "wait" or held.hidden_until <= now:
        return entry
    return but(entry, held=replace(held, hidden_until=now))


def stream_answered(entry: Entry, now: float, *, listening: bool) -> Entry:
    """The stream of signals was acknowledged or refused: only a walk that begins now counts."""
    return but(stale(entry, now), link=replace(entry.link, listening=listening))


def stream_lost(entry: Entry, now: float) -> Entry:
    """Signals may have been missed."""
    return but(stale(entry, now), link=replace(entry.link, listening=False))


def withdrawn(entry: Entry) -> Outcome:
    """The right is gone: drop snapshot and walk at once; then the store is told (rule 18)."""
    effects: tuple[Effect, ...] = ()
    if entry.held is not None or not entry.withdrawn:
        effects = (Withdrawn(None if entry.held is None else entry.held.snapshot),)
    entry = but(
        entry,
        held=None,
        walk=None,
        release=None,
        revoked=True,
        withdrawn=True,
        regranted=False,
        wanted=False,
        forced_at=NEVER,
        recheck_at=NEVER,
        loss=replace(entry.loss, digest=""),
        alternation=Alternation(),
    )
    return entry, effects


def regranted(entry: Entry, now: float) -> Entry:
    """A right newer than the withdrawn one was obtained; a right never lost proves nothing."""
    newer = entry.withdrawn or not entry.inc
    wanted = entry.wanted or (newer and is_interesting(entry, now))
    cold = NEVER if newer else entry.cold
    return but(entry, regranted=entry.regranted or newer, wanted=wanted, cold=cold)
