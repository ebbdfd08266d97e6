"""Time in a state: every time is kept relative to one moment, so that equal futures are equal.

The clock stands at `NOW` in each state. Letting `seconds` pass means that every time in the state
moves back by as much. What lies in the past and is only ever compared with now is then forgotten:
each field is given one value that stands for "over". The waits of a run are multiples of a power
of two or made by one addition, and `NOW` is small, so the subtractions are exact.

Forgotten as well is what no run within the bounds can ask for: when somebody last asked (there is a
watcher, who always cares), since when there is no listing (that decides how long readers wait, and
no step), when the store last answered (nothing is looked at by the clock), until
when a reader is answered without a step (asking again changes nothing), and which listings took
turns (that decides something only after three changes, and no run has more than two).
"""

from dataclasses import replace

from toolcrib.core.freshness.breaker import Breaker
from toolcrib.core.freshness.effects import Publish, StoreEffect
from toolcrib.core.freshness.entry import Entry, Held, Op, but
from toolcrib.core.freshness.record import Published, Record
from toolcrib.core.freshness.settling import ECHO_WINDOW, MINUTE, Alternation, Echo, Loss
from toolcrib.core.freshness.tempo import NEVER
from toolcrib.core.freshness.walk import Walk
from toolcrib.core.instant import Instant
from toolcrib.core.snapshot import Page

NOW = 512.0
"""The time on the monotonic clock in every state."""
ERA = 64.0
"""How much further the wall clock of the store stands after each loss of its memory."""


def instant(losses: int) -> Instant:
    """Now, on both clocks, after that many losses of the store's memory."""
    return Instant(NOW, NOW + losses * ERA)


def later(entry: Entry, seconds: float) -> Entry:
    """The entry as it is `seconds` later: all its times moved back."""
    held, walk, op = entry.held, entry.walk, entry.op
    return without_past(
        but(
            entry,
            held=None if held is None else _held_later(held, seconds),
            op=None if op is None else _op_later(op, seconds),
            store=_breaker_later(entry.store, seconds),
            walk=None if walk is None else _walk_later(walk, seconds),
            breaker=_breaker_later(entry.breaker, seconds),
            asked=entry.asked - seconds,
            forced_at=entry.forced_at - seconds,
            recheck_at=entry.recheck_at - seconds,
            debounced=entry.debounced - seconds if entry.debounced else 0.0,
            recorded=entry.recorded - seconds,
            not_before=entry.not_before - seconds,
            lease_until=entry.lease_until - seconds,
            ended=entry.ended - seconds,
            echo=replace(entry.echo, begun=tuple(at - seconds for at in entry.echo.begun)),
            loss=replace(
                entry.loss, until=entry.loss.until - seconds, since=entry.loss.since - seconds
            ),
            alternation=_alternation_later(entry.alternation, seconds),
            good_until=entry.good_until - seconds,
            wake=entry.wake - seconds,
        )
    )


def _held_later(held: Held, seconds: float) -> Held:
    return replace(
        held,
        read=held.read - seconds,
        expires=held.expires - seconds,
        begun=held.begun - seconds,
        walked=held.walked - seconds,
        hidden_until=held.hidden_until - seconds,
    )


def _op_later(op: Op, seconds: float) -> Op:
    walk = None if op.walk is None else _walk_later(op.walk, seconds)
    return Op(effect_later(op.effect, seconds), op.sent - seconds, walk)


def effect_later(effect: StoreEffect, seconds: float) -> StoreEffect:
    """The operation on its way, the times of what it offers moved back."""
    if not isinstance(effect, Publish):
        return effect
    return replace(effect, candidate=published_later(effect.candidate, seconds))


def _walk_later(walk: Walk, seconds: float) -> Walk:
    candidate = walk.candidate
    return replace(
        walk,
        started=walk.started - seconds,
        pages=tuple(page_later(page, seconds) for page in walk.pages),
        candidate=None if candidate is None else published_later(candidate, seconds),
        read=walk.read - seconds if walk.candidate is not None else 0.0,
        expires=walk.expires - seconds if walk.candidate is not None else 0.0,
    )


def page_later(page: Page, seconds: float) -> Page:
    """The page, received earlier."""
    return replace(page, received=page.received.plus(-seconds))


def published_later(published: Published, seconds: float) -> Published:
    """The stored snapshot, its times moved back."""
    return replace(
        published, read_at=published.read_at - seconds, expires_at=published.expires_at - seconds
    )


def _breaker_later(breaker: Breaker, seconds: float) -> Breaker:
    return replace(breaker, until=breaker.until - seconds)


def _alternation_later(alternation: Alternation, seconds: float) -> Alternation:
    return replace(alternation, flips=tuple(at - seconds for at in alternation.flips))


def without_past(entry: Entry) -> Entry:
    """The entry with every time that is over, and only compared with now, made one value."""
    tempo, held, debounced = entry.tempo, entry.held, entry.debounced
    return but(
        entry,
        held=None if held is None else _held_now(held, tempo.min_interval),
        store=_closed(entry.store),
        breaker=_closed(entry.breaker),
        viewed=0.0,
        asked=-NEVER,
        cold=NEVER,
        debounced=max(NOW, debounced) if debounced and tempo.debounce else 0.0,
        recorded=entry.recorded if entry.recorded + tempo.debounce > NOW else -NEVER,
        not_before=_ahead(entry.not_before),
        lease_until=_ahead(entry.lease_until),
        ended=entry.ended if entry.ended + ECHO_WINDOW >= NOW else -NEVER,
        echo=_echo_now(entry.echo),
        loss=_loss_now(entry.loss),
        alternation=Alternation(),
        good_until=-NEVER,
        wake=max(NOW, entry.wake),
    )


def _ahead(time: float) -> float:
    return time if time > NOW else 0.0


def _closed(breaker: Breaker) -> Breaker:
    return breaker if breaker.until > NOW or not breaker.until else replace(breaker, until=0.0)


def _held_now(held: Held, min_interval: float) -> Held:
    return replace(
        held,
        expires=held.expires if held.expires > NOW else -NEVER,
        walked=held.walked if held.walked + min_interval > NOW else 0.0,
        hidden_until=held.hidden_until if held.hidden_until > NOW else -NEVER,
    )


def _echo_now(echo: Echo) -> Echo:
    kept = tuple(at if at + MINUTE > NOW else NOW - MINUTE for at in echo.begun)
    return echo if kept == echo.begun else replace(echo, begun=kept)


def _loss_now(loss: Loss) -> Loss:
    until = loss.until if loss.until >= NOW else 0.0
    since = loss.since if loss.digest else 0.0
    return (
        loss
        if (until, since) == (loss.until, loss.since)
        else replace(loss, until=until, since=since)
    )


def record_later(record: Record, seconds: float, wall: float) -> Record:
    """The record as it is `seconds` later, when the store's clock stands at `wall`."""
    published = record.published
    if published is not None:
        published = published_later(published, seconds)
        if published.expires_at <= wall:
            published = replace(published, expires_at=0.0)
    until = record.lease_until - seconds
    return replace(record, published=published, lease_until=until if until > wall else 0.0)
