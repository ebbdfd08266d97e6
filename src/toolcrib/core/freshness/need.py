"""What a reader gets: at once, after a wait, or instead of what it wanted."""

from dataclasses import dataclass
from typing import Literal

from toolcrib.core.freshness.agenda import walk_at
from toolcrib.core.freshness.entry import (
    Entry,
    Held,
    answerable_until,
    is_clean,
    may_walk,
    visible,
)
from toolcrib.core.snapshot import Item, Scope, Snapshot

Purpose = Literal["list", "admit"]
"""What a reader needs a catalog for: to show it, or to decide about one call."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What can be answered right now, and how true it is."""

    snapshot: Snapshot | None
    """The newest published snapshot that may be shown; None when nothing is."""
    generation: int = 0
    fresh: bool = False
    """Whether its hints still hold and nothing invalidated it."""
    age: float | None = None
    """Seconds since its earliest page was received."""
    ttl_left: float = 0.0
    """Seconds its hints still allow: what may be promised downstream; 0 unless fresh."""
    scope: Scope = Scope.PRIVATE
    invalidated: bool = False
    """Whether something says that it may be out of date."""
    trouble: str = ""
    """Why it is missing or stale, for a person; empty when fresh."""


def peek(entry: Entry, now: float) -> Snapshot | None:
    """The snapshot, if a reader may have it at once and without a step; else None."""
    if now < entry.good_until and not entry.remote and entry.held is not None:
        return entry.held.snapshot
    return None


def is_fresh(entry: Entry, now: float) -> bool:
    """Whether what is held may be listed, its hints hold and nothing invalidated it."""
    held = visible(entry, now)
    return (
        held is not None
        and now < held.expires
        and max(0.0, now - held.read) <= entry.tempo.max_stale_list
        and is_clean(entry)
    )


def is_satisfied(entry: Entry, now: float, arrived: float, purpose: Purpose) -> bool:
    """Whether a reader that came at `arrived` gets nothing better by waiting."""
    held = visible(entry, now)
    if held is None:
        return False
    if purpose == "list":
        return now < answerable_until(entry)
    if not is_clean(entry):
        return False
    return held.begun >= arrived or now - held.read < _admit_max_age(entry, held)


def _admit_max_age(entry: Entry, held: Held) -> float:
    tempo = entry.tempo
    if tempo.strategy == "always":
        return 0.0
    if tempo.strategy == "notify" and entry.link.listening:
        return tempo.max_stale
    if tempo.strategy == "notify+verify" and held.snapshot.hints.peer_digest:
        # The peer checks each call against its own catalog, and each answer says whether ours
        # still equals it.
        return tempo.max_stale
    return max(tempo.admit_max_age, held.snapshot.hints.ttl)


def wait_until(entry: Entry, now: float, arrived: float, purpose: Purpose) -> float:
    """Until when a reader that came at `arrived` may wait; at or before `now` means: answer it.

    Ask again after every step and at that time. It waits only for something that is under way or
    due within its patience: not on a warm start before the server was ever there, not while it is
    away, not while a breaker is open. Of a server that has no listing yet, all listings together
    wait for one `cold_wait`, and once more when its connection is up: one that hangs must not make
    each of them late.
    """
    tempo = entry.tempo
    if entry.remote and entry.viewed < arrived and entry.store.failures == 0:
        looked = arrived + tempo.look_wait
    else:
        looked = now
    if is_satisfied(entry, now, arrived, purpose):
        return looked
    if visible(entry, now) is None:
        deadline = _cold_since(entry, arrived, purpose) + tempo.cold_wait
    else:
        deadline = arrived + (tempo.list_wait if purpose == "list" else tempo.admit_wait)
    return max(looked, deadline) if _is_coming(entry, now, deadline) else looked


def _cold_since(entry: Entry, arrived: float, purpose: Purpose) -> float:
    """From when on a reader of a catalog that is not there counts its wait.

    What the store keeps is waited for by each; and a call costs nobody but its own caller.
    """
    return min(arrived, entry.cold) if purpose == "list" and entry.inc else arrived


def _is_coming(entry: Entry, now: float, deadline: float) -> bool:
    """Whether a newer snapshot may arrive by `deadline`."""
    if entry.store.is_open(now):
        return False
    breaker = entry.breaker
    if breaker.is_open(now) or (breaker.failures > 0 and visible(entry, now) is not None):
        return False
    if entry.held is None and not entry.link.tried:
        return not entry.withdrawn
    if entry.op is not None and (may_walk(entry) or not entry.inc):
        return True
    if entry.walk is not None:
        return True
    if now < entry.lease_until and entry.held is None:
        return True  # another replica walks, and its hint brings what it publishes
    return walk_at(entry, now) < deadline


def standing(entry: Entry, now: float, purpose: Purpose = "list") -> Standing:
    """What a reader is answered at `now`, having waited or not.

    Past `max_stale_list` nothing is listed, past `max_stale` nothing is admitted: then `snapshot`
    is None, `age` tells how old it is and `trouble` why it is not used.
    """
    held = visible(entry, now)
    if held is None:
        return Standing(None, trouble=_absence(entry))
    age = max(0.0, now - held.read)
    tempo = entry.tempo
    name, limit = (
        ("max_stale_list", tempo.max_stale_list)
        if purpose == "list"
        else ("max_stale", tempo.max_stale)
    )
    if age > limit:
        trouble = f"the last good listing is {age:.0f} s old, more than {name} ({limit:g} s) allows"
        return Standing(None, held.generation, age=age, invalidated=True, trouble=trouble)
    clean = is_clean(entry)
    fresh = clean and now < held.expires
    return Standing(
        held.snapshot,
        held.generation,
        fresh=fresh,
        age=age,
        ttl_left=held.expires - now if fresh else 0.0,
        scope=held.snapshot.hints.scope,
        invalidated=not clean,
        trouble="" if fresh else _staleness(entry),
    )


def callable_item(entry: Entry, now: float, key: str) -> Item | None:
    """The item that a call to `key` is checked against.

    While replicas of the server disagree, a tool in either of their two listings stays callable.
    """
    held = visible(entry, now)
    if held is None:
        return None
    other = entry.alternation.other
    found = held.snapshot.get(key)
    return found if found is not None or other is None else other.get(key)


def _absence(entry: Entry) -> str:
    if entry.withdrawn:
        return "the right to see this catalog is gone"
    if entry.held is not None:
        return "the store lost its memory; the last good listing is kept back until it is confirmed"
    if entry.failure is not None:
        return f"nothing was listed so far: {entry.failure.detail}"
    return "nothing was listed so far" if entry.link.up else "the server was not reached so far"


def _staleness(entry: Entry) -> str:
    if not entry.link.up:
        return "the server is away" if entry.link.tried else "the server was not reached so far"
    if entry.failure is not None:
        return f"the last refresh failed: {entry.failure.detail}"
    if entry.store.failures > 0:
        return "the store does not answer"
    if not is_clean(entry):
        return "a change was signalled, or may have been missed"
    return "its hints allow no more"
