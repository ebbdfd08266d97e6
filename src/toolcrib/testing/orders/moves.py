"""What may happen to one replica: each move gives the replica after it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from toolcrib.core.freshness.effects import Begin, FetchPage, Revoke
from toolcrib.core.freshness.entry import OPERATIONS, Entry, caller_of
from toolcrib.core.freshness.events import (
    Connected,
    Disconnected,
    Event,
    Failure,
    FailureKind,
    Granted,
    Hinted,
    Invalidated,
    Needed,
    PageArrived,
    Reason,
    Refused,
    Regranted,
    Revoked,
    StoreFailed,
    StreamLost,
    StreamOpened,
    Viewed,
    WalkFailed,
    Woke,
)
from toolcrib.core.freshness.replica import step
from toolcrib.core.instant import Instant
from toolcrib.core.snapshot import Kind
from toolcrib.testing.orders.bounds import Bounds, Fault
from toolcrib.testing.orders.moment import NOW, effect_later, later, page_later, without_past
from toolcrib.testing.orders.pages import marked
from toolcrib.testing.orders.promises import AT, STORE_EFFECTS, broken_by
from toolcrib.testing.orders.replica import UNKNOWN, Order, Replica, Reply, Shown

Move = tuple[str, Replica]


class Place(NamedTuple):
    """What a replica sees of its surroundings."""

    version: int
    """The state of the server."""
    refuses: bool
    """Whether the server refuses to list."""
    wall: float
    """Seconds on the wall clock."""
    calm: bool
    """Whether faults have ceased, and nobody asks any more."""


DOWN = Failure(FailureKind.TRANSPORT, "down")
FORBIDDEN = Failure(FailureKind.FORBIDDEN, "403")
CURSOR = Failure(FailureKind.REFUSED_CURSOR, "no such page")


def started(bounds: Bounds) -> Replica:
    """A replica whose process has just begun: it reads what the store has."""
    entry = Entry(Kind.TOOLS, bounds.tempo, remote=bounds.remote, viewed=0.0, watchers=1)
    return fed(Replica(entry), Invalidated(Reason.STARTED, AT))


def fed(before: Replica, event: Event, reply: Reply | None = None) -> Replica:
    """The replica after one step of the heart; `reply` is what the event tells of the store."""
    entry, effects = step(before.entry, event)
    order = before.order if entry.op is not None and entry.op is before.entry.op else None
    fetch = before.fetch
    for effect in effects:
        if isinstance(effect, STORE_EFFECTS):
            order = Order(effect, caller_of(entry), before.heard)
        elif isinstance(effect, FetchPage):
            fetch = effect
    walk = entry.walk
    if fetch and (walk is None or walk.candidate is not None or walk.ticket != fetch.ticket):
        fetch = None
    after = replace(
        before,
        entry=without_past(entry),
        order=order,
        fetch=fetch,
        read=before.read if fetch is before.fetch else None,
        shown=before.shown if reply is None else _shown(entry, reply, before.shown),
    )
    broken = broken_by(before, event, effects, after)
    return replace(after, broken=broken) if broken else after


def _shown(entry: Entry, reply: Reply, before: Shown | None) -> Shown | None:
    held, view = entry.held, reply.answer.view
    if held is None or (held.inc, held.generation) != (view.inc, view.gen):
        return before
    if held.epoch != view.snap_epoch:
        return before
    return Shown(held.generation, held.snapshot.digest, reply.reads, reply.grant)


def answered(replica: Replica) -> Replica:
    """The answer of the store arrives."""
    order, reply = replica.order, replica.reply
    if order is None or reply is None:
        raise AssertionError("nothing was answered")
    known = replace(
        replica,
        reply=None,
        heard=max(replica.heard, reply.recorded),
        revokes=_revokes(replica, order, reply),
    )
    answer, effect = reply.answer, order.effect
    if not isinstance(effect, Begin):
        return fed(known, Viewed(OPERATIONS[type(effect)], answer, AT), reply)
    if answer.ticket is None:
        return fed(known, Refused(answer, AT), reply)
    return fed(replace(known, grant=reply.revokes), Granted(answer.ticket, answer.view, AT), reply)


def _revokes(replica: Replica, order: Order, reply: Reply) -> int:
    if replica.revokes < UNKNOWN:
        return max(replica.revokes, reply.revokes)
    recorded = isinstance(order.effect, Revoke) and not replica.entry.revoked
    return reply.revokes if recorded else UNKNOWN


def free(replica: Replica, bounds: Bounds, place: Place) -> Iterator[Move]:
    """What happens by itself, sooner or later."""
    if replica.reply is not None:
        yield "takes the answer", answered(replica)
    if replica.fetch is not None:
        yield from _page(replica, replica.fetch, bounds, place)
    yield from _news(replica)
    entry = replica.entry
    if entry.wake <= NOW:
        yield "wakes", fed(replica, Woke(AT))
    if not entry.link.up:
        yield "is connected", fed(replica, Connected(AT))
    elif not entry.link.listening:
        yield "hears that signals flow", fed(replica, StreamOpened(AT))
    if replica.astray and (replica.order is None or replica.reply is not None):
        yield "moves to the new store", replace(replica, astray=False)
    if not place.calm:
        yield "is asked", fed(replica, Needed(AT))


def _page(replica: Replica, fetch: FetchPage, bounds: Bounds, place: Place) -> Iterator[Move]:
    """The server answers the list request under way."""
    read, now = replica.read, Instant(NOW, place.wall)
    if read is not None:
        yield "takes the page", fed(replica, PageArrived(fetch.ticket, read, now))
        return
    if place.refuses:
        known = replace(replica, revokes=UNKNOWN)
        yield "is refused the listing", fed(known, WalkFailed(fetch.ticket, FORBIDDEN, now))
        return
    content, last = bounds.contents[place.version], bounds.pages - 1
    read = marked(place.version, content, fetch.cursor, replica.grant, last, now)
    if bounds.late_pages:
        yield "has a page read", replace(replica, read=read)
    else:
        yield "is answered a page", fed(replica, PageArrived(fetch.ticket, read, now))


def _news(replica: Replica) -> Iterator[Move]:
    signals, rights = replica.signals, replica.rights
    if signals:
        told = replace(replica, signals=signals[1:], heard=max(replica.heard, signals[0]))
        yield f"hears of v{signals[0]}", fed(told, Invalidated(Reason.SIGNAL, AT))
    if rights and rights[0]:
        yield "hears of a new right", fed(replace(replica, rights=rights[1:]), Regranted(AT))
    elif rights:
        told = replace(replica, rights=rights[1:], revokes=UNKNOWN)
        yield "hears that the right is gone", fed(told, Revoked(AT))


def hinted(replica: Replica) -> Replica:
    """The bus says `look again`."""
    return fed(replica, Hinted(AT))


def _failing_page(replica: Replica, _: Bounds) -> Iterator[Move]:
    if replica.fetch is not None:
        yield "is answered no page", fed(replica, WalkFailed(replica.fetch.ticket, DOWN, AT))


def _refused_cursor(replica: Replica, _: Bounds) -> Iterator[Move]:
    fetch = replica.fetch
    if fetch is not None and fetch.cursor is not None:
        yield "has its cursor refused", fed(replica, WalkFailed(fetch.ticket, CURSOR, AT))


def _lost_answer(replica: Replica, _: Bounds) -> Iterator[Move]:
    order = replica.order
    if order is not None:
        name = OPERATIONS[type(order.effect)]
        yield f"gets no answer to {name}", fed(replace(replica, reply=None), StoreFailed(name, AT))


def _late_run(replica: Replica, _: Bounds) -> Iterator[Move]:
    order = replica.order
    if order is not None and replica.reply is None:
        name = OPERATIONS[type(order.effect)]
        left = replace(replica, zombies=(*replica.zombies, order))
        yield f"gives {name} up, which is still under way", fed(left, StoreFailed(name, AT))


def _lost_stream(replica: Replica, _: Bounds) -> Iterator[Move]:
    if replica.entry.link.listening:
        yield "loses its stream of signals", fed(replace(replica, signals=()), StreamLost(AT))


def _disconnect(replica: Replica, _: Bounds) -> Iterator[Move]:
    if replica.entry.link.up:
        yield "loses its connection", fed(replace(replica, signals=()), Disconnected(AT))


def _crash(replica: Replica, bounds: Bounds) -> Iterator[Move]:
    yield "starts anew", replace(started(bounds), zombies=replica.zombies, astray=replica.astray)


def _force(replica: Replica, _: Bounds) -> Iterator[Move]:
    yield "is asked for a walk", fed(replica, Needed(AT, force=True))


FAULTY: dict[Fault, Callable[[Replica, Bounds], Iterator[Move]]] = {
    Fault.FAILING_PAGE: _failing_page,
    Fault.REFUSED_CURSOR: _refused_cursor,
    Fault.LOST_ANSWER: _lost_answer,
    Fault.LATE_RUN: _late_run,
    Fault.LOST_STREAM: _lost_stream,
    Fault.DISCONNECT: _disconnect,
    Fault.CRASH: _crash,
    Fault.FORCE: _force,
}
"""What happens to one replica only by a fault, or by somebody's wish."""


def elapsed(replica: Replica, seconds: float) -> Replica:
    """The replica `seconds` later, with nothing done in between."""
    order, read, zombies = replica.order, replica.read, replica.zombies
    after = replace(
        replica,
        entry=later(replica.entry, seconds),
        order=None if order is None else _order_later(order, seconds),
        read=None if read is None else page_later(read, seconds),
        zombies=tuple(_order_later(zombie, seconds) for zombie in zombies),
    )
    broken = broken_by(replica, Woke(AT), (), after)
    return replace(after, broken=broken) if broken else after


def _order_later(order: Order, seconds: float) -> Order:
    return replace(order, effect=effect_later(order.effect, seconds))
