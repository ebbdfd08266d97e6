"""The whole: two replicas, the store, the server and time, and everything that may happen next.

A state is five numbers packed into one (`kept`). Each part is a value that is kept once; what
follows from it is computed once, by the real code, and looked up from then on. `step` and the
operations are functions, so nothing is lost by that.

Which states are not visited, and why nothing is missed:

- Replicas are interchangeable: neither the record nor a view names one, so a state and its mirror
  image have the same future. The smaller number comes first.
- A hint is delivered only where the look that follows would teach the replica something or change
  the record, and only while no operation is in flight. Looks that change nothing lead back to the
  same state; a hint that comes during an operation does nothing until its answer, so it may as well
  come after it. Hints that are lost are those that are never delivered; late, doubled and forged
  ones are delivered when they come.
- Requests for pages of walks that were given up are not kept. Instead, for each different state of
  a replica, answers to such requests are tried, and none may change anything (`promises`).
- A need that changes nothing is skipped, and so is every other turn that leads nowhere.
- A page is read and arrives in one turn, except in runs with `late_pages`.
- What is over is forgotten (`moment`).
- Equal parts share what follows from them. That is no reduction: every state of the product is
  visited, and every turn of it is taken.

Once faults have ceased, time passes only when nothing else is left to do: every answer comes before
the next moment that somebody waits for.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from toolcrib.core.freshness.entry import OPERATIONS
from toolcrib.core.freshness.record import DIRTY_LIMIT
from toolcrib.testing.orders import moves
from toolcrib.testing.orders.bounds import Bounds, Fault
from toolcrib.testing.orders.kept import BITS, NOBODY, Kept, Parts, packed, unpacked
from toolcrib.testing.orders.promises import looked_at
from toolcrib.testing.orders.replica import Replica
from toolcrib.testing.orders.shared import Shared, run
from toolcrib.testing.orders.surroundings import Everybody, Surroundings, Turn

T = TypeVar("T")
Own = tuple[str, int, int]
"""A turn of one replica: what happens, surroundings and store after it packed, the replica."""


@dataclass(frozen=True, slots=True)
class Menu:
    """What certain surroundings allow."""

    around: Surroundings
    refuses: bool
    """Whether the server refuses to list."""
    of_one: tuple[tuple[Fault, int], ...]
    """Faults of one replica that are left, and the surroundings after each."""
    of_all: tuple[tuple[Fault, int], ...]


class World:
    """All states within the bounds, and the turns from each to the next."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.around: Kept[Surroundings] = Kept()
        self.stores: Kept[Shared] = Kept()
        self.replicas: Kept[Replica] = Kept(looked_at)
        self.everybody = Everybody(bounds, self.around, self.stores, self.replicas)
        self._menus: dict[int, Menu] = {}
        self._own: dict[tuple[int, int, int], list[Own]] = {}
        self._alone: dict[moves.Place, dict[int, list[tuple[str, int]]]] = {}
        self._faults: dict[tuple[Fault, int], list[tuple[str, int]]] = {}
        self._runs: dict[tuple[int, int], tuple[str, int, int]] = {}
        self._hints: dict[tuple[int, int], int] = {}

    def start(self) -> int:
        """The first state: replicas that start, or are at rest with the first listing."""
        bounds = self.bounds
        new = self.replicas.number(moves.started(bounds))
        store = self.stores.number(Shared(useless=not bounds.clock))
        other = NOBODY if bounds.alone else new
        parts = (self.around.number(Surroundings()), store, 0, new, other)
        if not bounds.cold:
            parts = self._at_rest(parts)
        _, store, old, a, b = parts
        shared = self.stores[store]
        store = self.stores.number(replace(shared, standby=shared.record))
        around = self.around.number(Surroundings(budget=bounds.budget, calm=False))
        return packed((around, store, old, a, b))

    def _at_rest(self, parts: Parts) -> Parts:
        while turns := list(self.turns(parts)):
            parts = turns[0][1]
        return parts

    # ---- every turn ----

    def after(self, state: int) -> list[int]:
        """Every state that one turn leads to."""
        around, store, old, a, b = parts = unpacked(state)
        if old:
            return [packed(after) for _, after in self.turns(parts)]
        out: list[int] = []
        for _, head, new in self._turns_of(around, store, a):
            out.append(head | (new << BITS | b if new <= b else b << BITS | new))
        if b not in (a, NOBODY):
            for _, head, new in self._turns_of(around, store, b):
                out.append(head | (new << BITS | a if new <= a else a << BITS | new))
        out.extend(packed(after) for _, after in self._turns_of_all(parts, rest=not out))
        return out

    def turns(self, parts: Parts) -> Iterator[Turn]:
        """Every turn from a state: what happens, and the state after it, replicas in place."""
        around, store, old, a, b = parts
        rest = True
        for name, mine, other in (("A", a, b), ("B", b, a)):
            if mine == NOBODY or (name == "B" and a == b):
                continue
            astray = self.replicas[mine].astray
            for what, after, home, new in self._turns_at(around, old if astray else store, mine):
                stores = (store, home) if astray else (home, old)
                kept = old and (self._is_astray(new) or self._is_astray(other))
                two = (new, other) if name == "A" else (other, new)
                rest = False
                yield f"{name} {what}", (after, stores[0], stores[1] if kept else 0, *two)
        yield from self._turns_of_all(parts, rest=rest)

    def _is_astray(self, mine: int) -> bool:
        return mine != NOBODY and self.replicas[mine].astray

    def _turns_at(self, around: int, home: int, mine: int) -> Iterator[tuple[str, int, int, int]]:
        for what, head, new in self._turns_of(around, home, mine):
            after, store, *_ = unpacked(head)
            yield what, after, store, new

    def _turns_of_all(self, parts: Parts, *, rest: bool) -> Iterator[Turn]:
        menu = self._menu(parts[0])
        if menu.around.calm and rest:
            yield from self.everybody.tick(parts)
        for fault, left in menu.of_all:
            yield from self.everybody.faults[fault]((left, *parts[1:]))

    def _menu(self, around: int) -> Menu:
        found = self._menus.get(around)
        if found is None:
            now = self.around[around]
            left = [(fault, now.after(fault)) for fault in Fault]
            able = [(fault, self.around.number(after)) for fault, after in left if after]
            found = self._menus[around] = Menu(
                now,
                self.bounds.refuses and not now.right,
                tuple(each for each in able if each[0] in moves.FAULTY),
                tuple(each for each in able if each[0] in self.everybody.faults),
            )
        return found

    # ---- the turns of one replica ----

    def _turns_of(self, around: int, home: int, mine: int) -> list[Own]:
        found = self._own.get((around, home, mine))
        if found is None:
            turns = self._own_turns(around, home, mine)
            found = self._own[around, home, mine] = [
                (what, packed((after, store, 0, 0, 0)), new) for what, after, store, new in turns
            ]
        return found

    def _own_turns(self, around: int, home: int, mine: int) -> Iterator[tuple[str, int, int, int]]:
        menu, replica = self._menu(around), self.replicas[mine]
        for what, new in self._without_store(menu, home, mine):
            yield what, around, home, new
        if replica.order is not None and replica.reply is None:
            what, store, new = self._run(home, mine)
            yield what, around, store, new
        elif replica.order is None and (hinted := self._hinted(home, mine)):
            yield "is told to look again", around, home, hinted
        if menu.around.calm:
            return
        for number, order in enumerate(replica.zombies):
            left = replace(replica, zombies=_without(replica.zombies, number))
            ahead, _ = run(self.stores[home], order)
            what = f"has a late {OPERATIONS[type(order.effect)]} run at the store"
            yield what, around, self.stores.number(ahead), self.replicas.number(left)
        for fault, after in menu.of_one:
            for what, new in self._faulty(fault, mine):
                yield what, after, home, new

    def _without_store(self, menu: Menu, home: int, mine: int) -> list[tuple[str, int]]:
        """What happens to a replica by itself, wherever its store is."""
        now, replica = menu.around, self.replicas[mine]
        place = moves.Place(now.version, menu.refuses, self.stores[home].wall, now.calm)
        known = self._alone.setdefault(place, {})
        found = known.get(mine)
        if found is None:
            every = moves.free(replica, self.bounds, place)
            numbered = [(what, self.replicas.number(after)) for what, after in every]
            found = known[mine] = [(what, new) for what, new in numbered if new != mine]
        return found

    def _faulty(self, fault: Fault, mine: int) -> list[tuple[str, int]]:
        found = self._faults.get((fault, mine))
        if found is None:
            every = moves.FAULTY[fault](self.replicas[mine], self.bounds)
            found = [(what, self.replicas.number(after)) for what, after in every]
            self._faults[fault, mine] = found
        return found

    def _run(self, home: int, mine: int) -> tuple[str, int, int]:
        found = self._runs.get((home, mine))
        if found is None:
            replica = self.replicas[mine]
            if replica.order is None:
                raise AssertionError("nothing was sent")
            ahead, reply = run(self.stores[home], replica.order)
            name = OPERATIONS[type(replica.order.effect)]
            found = self._runs[home, mine] = (
                f"has {name} run at the store: {reply.answer.verdict}",
                self.stores.number(ahead),
                self.replicas.number(replace(replica, reply=reply)),
            )
        return found

    def _hinted(self, home: int, mine: int) -> int:
        """The replica after a hint; 0 where the look that follows would change nothing."""
        found = self._hints.get((home, mine))
        if found is None:
            found = self._hints[home, mine] = self._looked(home, mine)
        return found

    def _looked(self, home: int, mine: int) -> int:
        new = self.replicas.number(moves.hinted(self.replicas[mine]))
        if self.replicas[new].order is None:
            return 0
        _, store, ran = self._run(home, new)
        taken = self.replicas.number(moves.answered(self.replicas[ran]))
        return 0 if (store, taken) == (home, mine) else new

    # ---- what must hold ----

    def broken(self, state: int) -> str:
        """The promise that a state breaks; empty if it breaks none."""
        around, store, old, a, b = unpacked(state)
        shared = self.stores[store]
        mine, other = self.replicas[a], None if b == NOBODY else self.replicas[b]
        if old and self.stores[old].broken:
            return self.stores[old].broken
        if mine.broken or shared.broken or (other and other.broken):
            return mine.broken or shared.broken or (other.broken if other else "")
        record = shared.record
        if record is not None and record.dirty > DIRTY_LIMIT + self.around[around].version:
            return "a storm starves its readers"
        return self._contradicted(shared, mine, other)

    def _contradicted(self, shared: Shared, mine: Replica, other: Replica | None) -> str:
        """Whether one number stands for two contents."""
        if not self.bounds.clock:
            return ""
        known: list[tuple[int, str]] = []
        record = shared.record
        if record is not None and record.published is not None:
            known.append((record.gen, record.published.snapshot.digest))
        every = [each.shown for each in (mine, other) if each is not None]
        known += [(shown.generation, shown.digest) for shown in every if shown is not None]
        different = len(set(known)) != len({number for number, _ in known})
        return "promise 2: one number, two contents" if different else ""


def _without(every: tuple[T, ...], number: int) -> tuple[T, ...]:
    return (*every[:number], *every[number + 1 :])
