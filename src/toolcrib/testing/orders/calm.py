"""What must happen once faults have ceased: in whatever order, everybody has the server's list."""

from dataclasses import replace

from toolcrib.core.freshness.effects import Invalidate, Publish, Revoke
from toolcrib.core.freshness.need import standing
from toolcrib.core.freshness.record import Ticket
from toolcrib.testing.orders.kept import NOBODY, packed, unpacked
from toolcrib.testing.orders.moment import NOW
from toolcrib.testing.orders.pages import contents_of
from toolcrib.testing.orders.replica import Replica
from toolcrib.testing.orders.shared import Shared
from toolcrib.testing.orders.surroundings import Surroundings
from toolcrib.testing.orders.world import World


class Calm:
    """The states of a world once nothing goes wrong any more."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.after = world.after
        self.broken = world.broken

    def starts(self, state: int) -> list[int]:
        """The state, and no more faults.

        Operations that were given up have run or never will. Where nobody can know of the last
        change, or that the right is gone, one replica is told, either of them.
        """
        world = self._world
        around, store, old, a, b = unpacked(state)
        now = world.around[around]
        around = world.around.number(Surroundings(now.version, now.right))
        a, b = self._unhaunted(a), self._unhaunted(b)
        if self._is_known(now, world.stores[store], self._replicas(a, b)):
            return [packed((around, store, old, a, b))]
        told = [packed((around, store, old, self._told(a, now), b))]
        if b != NOBODY:
            told.append(packed((around, store, old, a, self._told(b, now))))
        return told

    def _replicas(self, a: int, b: int) -> list[Replica]:
        return [self._world.replicas[mine] for mine in (a, b) if mine != NOBODY]

    def _unhaunted(self, mine: int) -> int:
        if mine == NOBODY or not self._world.replicas[mine].zombies:
            return mine
        return self._world.replicas.number(replace(self._world.replicas[mine], zombies=()))

    def _told(self, mine: int, now: Surroundings) -> int:
        everybody = self._world.everybody
        if now.right:
            return everybody.signalled(mine, now.version)
        return everybody.told(mine, right=False)

    def _is_known(self, now: Surroundings, store: Shared, replicas: list[Replica]) -> bool:
        if not now.right:
            return store.revokes > 0 or any(each.revokes or each.rights for each in replicas)
        if not all(each.entry.link.listening for each in replicas):
            return True  # it will listen again, which is a signal
        heard = [max((each.heard, *each.signals)) for each in replicas]
        return max(store.recorded, *heard) >= now.version

    def counts(self, state: int, after: int) -> bool:
        """Whether a walk was granted in this turn, and no signal is on its way any more."""
        before, now = unpacked(state)[1], unpacked(after)[1]
        if before == now or not self._is_told(state):
            return False
        record, ahead = self._world.stores[before].record, self._world.stores[now].record
        if record is None or ahead is None:
            return False
        return ahead.fence != record.fence and ahead.lease_until > 0

    def _is_told(self, state: int) -> bool:
        """Whether everything that was heard is recorded, and everybody has seen it."""
        _, store, old, a, b = unpacked(state)
        record = self._world.stores[store].record
        if old or record is None:
            return False
        return all(
            each.entry.inc == record.inc and not _has_news(each) for each in self._replicas(a, b)
        )

    def begun(self, state: int) -> int:
        """How many walks are under way that may still be published, where everything is told."""
        _, store, _, a, b = unpacked(state)
        record = self._world.stores[store].record
        if record is None or not self._is_told(state):
            return 0
        tickets = [_ticket_of(each) for each in self._replicas(a, b)]
        return sum(
            1 for each in tickets if each and (each.inc, each.fence) == (record.inc, record.fence)
        )

    def unconverged(self, state: int) -> str:
        """What is wrong with a state in which nothing more happens."""
        around, _, _, a, b = unpacked(state)
        now, bounds = self._world.around[around], self._world.bounds
        for each in self._replicas(a, b):
            stands = standing(each.entry, NOW)
            if not now.right:
                if stands.snapshot is not None:
                    return "promise 5: what was withdrawn is shown for ever"
                continue
            if stands.snapshot is None:
                return "promise 3: nothing is shown for ever"
            if contents_of(stands.snapshot) != {str(bounds.contents[now.version])}:
                return "promise 3: what is shown for ever is not what the server has"
            if stands.invalidated:
                return "promise 3: what is shown stays stale for ever"
        return ""


def _has_news(replica: Replica) -> bool:
    entry, order = replica.entry, replica.order
    recording = order is not None and isinstance(order.effect, Invalidate | Revoke)
    return bool(
        replica.signals
        or replica.rights
        or entry.heard
        or entry.revoked
        or not entry.link.listening
        or (recording and replica.reply is None)
    )


def _ticket_of(replica: Replica) -> Ticket | None:
    """The ticket of its walk, from the grant to the moment it is decided about."""
    walk, order, reply = replica.entry.walk, replica.order, replica.reply
    if reply is not None and reply.answer.ticket is not None:
        return reply.answer.ticket
    if order is not None and isinstance(order.effect, Publish) and reply is None:
        return order.effect.ticket
    return None if walk is None else walk.ticket
