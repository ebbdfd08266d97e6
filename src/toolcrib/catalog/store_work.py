"""Carrying out one store effect: the operation it names, and the event its outcome is."""

from typing import assert_never

from toolcrib.core.freshness.effects import (
    Begin,
    Invalidate,
    Look,
    Publish,
    Release,
    Renew,
    Revoke,
    StoreEffect,
)
from toolcrib.core.freshness.events import Event, Granted, Refused, StoreFailed, Viewed
from toolcrib.core.freshness.record import Answer, Caller
from toolcrib.errors import StoreUnreachable
from toolcrib.ports import Clock, SnapshotStore


async def operate(
    store: SnapshotStore, pid: str, caller: Caller, effect: StoreEffect, clock: Clock
) -> Event:
    """Runs the operation and turns its answer, or its silence, into the event for the heart."""
    name = type(effect).__name__.upper()
    try:
        answer = await _ask(store, pid, caller, effect)
    except StoreUnreachable:
        return StoreFailed(name, clock.now(), clock.lots())
    if not isinstance(effect, Begin):
        return Viewed(name, answer, clock.now(), clock.lots())
    if answer.ticket is not None:
        return Granted(answer.ticket, answer.view, clock.now(), clock.lots())
    return Refused(answer, clock.now(), clock.lots())


async def _ask(store: SnapshotStore, pid: str, caller: Caller, effect: StoreEffect) -> Answer:
    match effect:
        case Look():
            return await store.look(pid, caller)
        case Invalidate():
            return await store.invalidate(pid, caller)
        case Begin(force, regranted):
            return await store.begin(pid, caller, force=force, regranted=regranted)
        case Renew(ticket):
            return await store.renew(pid, caller, ticket)
        case Release(ticket):
            return await store.release(pid, caller, ticket)
        case Publish(ticket, candidate):
            return await store.publish(pid, caller, ticket, candidate)
        case Revoke():
            return await store.revoke(pid, caller)
        case _:
            assert_never(effect)
