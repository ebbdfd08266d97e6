"""What surrounds the replicas: the server, the rights, the faults that are left, and time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from toolcrib.core.freshness.tempo import NEVER
from toolcrib.testing.orders.bounds import Bounds, Fault
from toolcrib.testing.orders.kept import NOBODY, Kept, Parts
from toolcrib.testing.orders.moment import NOW
from toolcrib.testing.orders.moves import elapsed
from toolcrib.testing.orders.pages import TTL
from toolcrib.testing.orders.replica import Replica
from toolcrib.testing.orders.shared import Shared

Turn = tuple[str, Parts]
"""What happens, and the state after it."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The server, and what may still happen."""

    version: int = 0
    """The state of the server."""
    right: bool = True
    budget: tuple[int, ...] = (0,) * len(Fault)
    calm: bool = True
    """Whether faults have ceased."""

    def after(self, fault: Fault) -> "Surroundings | None":
        """The surroundings with one such fault less to come, or None if none may."""
        left = list(self.budget)
        left[fault] -= 1
        return None if left[fault] < 0 else replace(self, budget=tuple(left))


class Everybody:
    """What happens to the server, the store, the rights, and time; each turn of it."""

    def __init__(
        self,
        bounds: Bounds,
        around: Kept[Surroundings],
        stores: Kept[Shared],
        replicas: Kept[Replica],
    ) -> None:
        self._bounds = bounds
        self._around = around
        self._stores = stores
        self._replicas = replicas
        self._replicas_later: dict[tuple[int, float], int] = {}
        self._stores_later: dict[tuple[int, float], int] = {}
        self.faults: dict[Fault, Callable[[Parts], Iterator[Turn]]] = {
            Fault.CHANGE: self._change,
            Fault.SPURIOUS: self._spurious,
            Fault.EXPIRY: self._expiry,
            Fault.TTL: self._ttl,
            Fault.TICK: self.tick,
            Fault.LOSS: self._loss,
            Fault.FAILOVER: self._failover,
            Fault.SPLIT: self._split,
            Fault.SYNC: self._sync,
            Fault.REVOCATION: self._revocation,
            Fault.REGRANT: self._regrant,
        }
        """Turns by fault, from a state in which that one is already paid for."""

    # ---- the server ----

    def _change(self, parts: Parts) -> Iterator[Turn]:
        around = self._around[parts[0]]
        version = around.version + 1
        if version == len(self._bounds.contents):
            return
        changed = self._around.number(replace(around, version=version))
        for who, a, b in _each_set(parts, lambda mine: self.signalled(mine, version)):
            yield f"the server changes to v{version}, and tells {who}", (changed, *parts[1:3], a, b)

    def _spurious(self, parts: Parts) -> Iterator[Turn]:
        version = self._around[parts[0]].version
        for who, a, b in _each_set(parts, lambda mine: self.signalled(mine, version)):
            if (a, b) != parts[3:]:
                yield f"the server signals, without a change, to {who}", (*parts[:3], a, b)

    def signalled(self, mine: int, version: int) -> int:
        """The replica with a signal on its way, if it can hear any."""
        replica = self._replicas[mine]
        if not replica.entry.link.listening:
            return mine
        return self._replicas.number(replace(replica, signals=(*replica.signals, version)))

    # ---- the right ----

    def _revocation(self, parts: Parts) -> Iterator[Turn]:
        around = self._around[parts[0]]
        if not around.right:
            return
        gone = self._around.number(replace(around, right=False))
        for who, a, b in _each_set(parts, lambda mine: self.told(mine, right=False)):
            if self._bounds.refuses or (a, b) != parts[3:]:
                yield f"the right is withdrawn, and {who} told", (gone, *parts[1:3], a, b)

    def _regrant(self, parts: Parts) -> Iterator[Turn]:
        around, (a, b) = self._around[parts[0]], parts[3:]
        if around.right:
            return
        back = self._around.number(replace(around, right=True))
        a = self.told(a, right=True)
        b = b if b == NOBODY else self.told(b, right=True)
        yield "a new right is obtained", (back, *parts[1:3], a, b)

    def told(self, mine: int, *, right: bool) -> int:
        """The replica with news about the right on its way."""
        replica = self._replicas[mine]
        return self._replicas.number(replace(replica, rights=(*replica.rights, right)))

    # ---- the store ----

    def _loss(self, parts: Parts) -> Iterator[Turn]:
        empty = self._stores.number(self._stores[parts[1]].lost(None))
        yield "the store starts empty", (parts[0], empty, *parts[2:])

    def _back(self, store: int) -> int:
        shared = self._stores[store]
        return self._stores.number(shared.lost(shared.standby))

    def _failover(self, parts: Parts) -> Iterator[Turn]:
        yield "the store falls back to its standby", (parts[0], self._back(parts[1]), *parts[2:])

    def _split(self, parts: Parts) -> Iterator[Turn]:
        around, store = parts[:2]
        for who, a, b in _each_set(parts, self._strayed):
            if (a, b) != parts[3:]:
                what = f"the store is split, and the old one kept by {who}"
                yield what, (around, self._back(store), store, a, b)

    def _strayed(self, mine: int) -> int:
        return self._replicas.number(replace(self._replicas[mine], astray=True))

    def _sync(self, parts: Parts) -> Iterator[Turn]:
        shared = self._stores[parts[1]]
        if shared.standby != shared.record:
            synced = self._stores.number(replace(shared, standby=shared.record))
            yield "the standby is brought up to date", (parts[0], synced, *parts[2:])

    # ---- time ----

    def tick(self, parts: Parts) -> Iterator[Turn]:
        """Time goes on to the next moment that a replica waits for."""
        wakes = [self._replicas[mine].entry.wake for mine in parts[3:] if mine != NOBODY]
        ahead = min((wake - NOW for wake in wakes if NOW < wake < NEVER), default=0.0)
        if ahead > 0:
            yield f"{ahead:g} s pass", self._passed(parts, ahead)

    def _expiry(self, parts: Parts) -> Iterator[Turn]:
        shared = self._stores[parts[1]]
        lease = 0.0 if shared.record is None else shared.record.lease_until - shared.wall
        if lease > 0:
            yield "the lease is over", self._passed(parts, lease)

    def _ttl(self, parts: Parts) -> Iterator[Turn]:
        yield "the ttl is over", self._passed(parts, TTL + 1)

    def _passed(self, parts: Parts, seconds: float) -> Parts:
        around, store, old, a, b = parts
        return (
            around,
            self._store_later(store, seconds),
            self._store_later(old, seconds) if old else 0,
            self._replica_later(a, seconds),
            b if b == NOBODY else self._replica_later(b, seconds),
        )

    def _replica_later(self, mine: int, seconds: float) -> int:
        found = self._replicas_later.get((mine, seconds))
        if found is None:
            found = self._replicas.number(elapsed(self._replicas[mine], seconds))
            self._replicas_later[mine, seconds] = found
        return found

    def _store_later(self, store: int, seconds: float) -> int:
        found = self._stores_later.get((store, seconds))
        if found is None:
            found = self._stores.number(self._stores[store].later(seconds))
            self._stores_later[store, seconds] = found
        return found


def _each_set(parts: Parts, changed: Callable[[int], int]) -> Iterator[tuple[str, int, int]]:
    """Both replicas after a change to each set of them: nobody, either, both; equal ones once."""
    a, b = parts[3:]
    yield "nobody", a, b
    x = changed(a)
    if x != a:
        yield "A", x, b
    if b in (a, NOBODY):
        if b == a != x:
            yield "both", x, x
        return
    y = changed(b)
    if y == b:
        return
    yield "B", a, y
    if x != a:
        yield "both", x, y
