"""Places are shared by caller: nobody starves, no flood helps, and one place stays in reach."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from toolcrib.core.fair_queue import FairQueue

CALLERS = ("ada", "bo", "cy", "di", "owner")
MOST = 4


class Sharing(RuleBasedStateMachine):
    """Callers who come, end, leave and come back in any order, beside a model of what is true."""

    def __init__(self) -> None:
        super().__init__()
        self.places = 0
        self.number = 0
        self.waits: list[tuple[str, int]] = []
        self.holds: list[tuple[str, int]] = []
        self.away: list[tuple[str, int]] = []
        self.patience: dict[str, int] = {}
        """Releases after which a caller that waits and holds none must have a place."""

    @precondition(lambda self: not self.places)
    @rule(places=st.integers(1, 7))
    def open(self, places: int) -> None:
        self.places = places
        self.queue = FairQueue[str, int](places, MOST, owner="owner")

    @property
    def held(self) -> Counter[str]:
        return Counter(caller for caller, _ in self.holds)

    @property
    def empty_handed(self) -> set[str]:
        return {caller for caller, _ in self.waits} - self.held.keys()

    def heard(self) -> None:
        """Places were handed out: each to one who held no more than anybody who waits on."""
        for number in self.queue.admitted():
            [found] = [it for it in self.waits if it[1] == number]
            [first, *_] = [it for it in self.waits if it[0] == found[0]]
            assert found == first
            waiting = {caller for caller, _ in self.waits}
            assert self.held[found[0]] == min(self.held[caller] for caller in waiting)
            self.waits.remove(found)
            self.holds.append(found)
        for caller in self.patience.keys() - self.empty_handed:
            del self.patience[caller]
        for caller in sorted(self.empty_handed):
            self.patience.setdefault(caller, len({it for it, _ in self.waits}))

    @precondition(lambda self: self.places)
    @rule(caller=st.sampled_from(CALLERS))
    def come(self, caller: str) -> None:
        self.number += 1
        mine = [it for it in self.waits if it[0] == caller]
        self.waits.append((caller, self.number))
        if not self.queue.enter(caller, self.number):
            self.waits.pop()
            assert len(mine) >= MOST
        self.heard()
        assert len([it for it in self.waits if it[0] == caller]) <= max(MOST, len(mine))

    @precondition(lambda self: self.places)
    @rule(caller=st.sampled_from(CALLERS))
    def flood(self, caller: str) -> None:
        for _ in range(MOST + self.places + 1):
            self.come(caller)

    @precondition(lambda self: self.holds)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        found = data.draw(st.sampled_from(self.holds))
        self.holds.remove(found)
        self.queue.give_back(found[0])
        for caller in self.patience:
            self.patience[caller] -= 1
        self.heard()
        assert all(left > 0 for left in self.patience.values())

    @precondition(lambda self: self.holds)
    @rule(data=st.data())
    def go_away(self, data: st.DataObject) -> None:
        found = data.draw(st.sampled_from(self.holds))
        self.away.append(found)
        self.holds.remove(found)
        self.queue.give_back(found[0])
        self.heard()

    @precondition(lambda self: self.away)
    @rule(data=st.data())
    def come_back(self, data: st.DataObject) -> None:
        found = data.draw(st.sampled_from(self.away))
        self.away.remove(found)
        self.waits.insert(0, found)
        self.queue.come_back(*found)
        self.heard()

    @precondition(lambda self: self.waits)
    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        found = data.draw(st.sampled_from(self.waits))
        self.waits.remove(found)
        self.queue.leave(*found)
        self.heard()

    @invariant()
    def places_are_bounded_and_one_is_in_reach(self) -> None:
        if not self.places:
            return
        held, waiting = self.held, {caller for caller, _ in self.waits}
        free = self.places - len(self.holds)
        assert free >= 0
        assert {caller: self.queue.held(caller) for caller in held} == held
        assert self.queue.waiting() == len(self.waits)
        for caller in CALLERS:
            others = [it for it in self.waits if it[0] != caller]
            assert self.queue.waiting(besides=caller) == len(others)
        if self.empty_handed:
            assert not free
        kept = min(2 if len(held) == 1 else 1, self.places // 2)
        if waiting and free > kept:
            raise AssertionError("a place stands empty that is kept for nobody")
        if waiting == {"owner"} and held.keys() <= {"owner"}:
            assert not free


TestSharing = Sharing.TestCase


@given(
    places=st.integers(1, 6),
    lines=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    ends=st.lists(st.integers(0, 5), max_size=30),
)
def test_everybody_who_waits_has_a_place_after_as_many_releases_as_there_are_callers(
    places: int, lines: list[int], ends: list[int]
) -> None:
    queue = FairQueue[int, tuple[int, int]](places, 100)
    for caller, tickets in enumerate(lines):
        for ticket in range(tickets):
            assert queue.enter(caller, (caller, ticket))
    running = [caller for caller, _ in queue.admitted()]
    served = set(running)
    for end in [*ends, *range(len(lines))][: len(lines)]:
        if not running:
            break
        queue.give_back(running.pop(end % len(running)))
        new = [caller for caller, _ in queue.admitted()]
        running += new
        served |= set(new)
    assert served == set(range(len(lines)))


def admitted(queue: FairQueue[str, int]) -> list[int]:
    return list(queue.admitted())


@pytest.mark.parametrize(
    ("places", "one", "two"), [(1, 1, 1), (2, 1, 2), (3, 2, 3), (4, 2, 3), (5, 3, 4), (8, 6, 7)]
)
def test_one_caller_and_two_together_have_so_many_places(places: int, one: int, two: int) -> None:
    queue = FairQueue[str, int](places, 100)
    for ticket in range(20):
        queue.enter("a", ticket)
    assert len(admitted(queue)) == one
    for ticket in range(20, 40):
        queue.enter("b", ticket)
    assert one + len(admitted(queue)) == two


def test_the_owner_has_all_places_while_nobody_else_is_there_and_shares_them_then() -> None:
    queue = FairQueue[str, int](4, 100, owner="me")
    for ticket in range(8):
        queue.enter("me", ticket)
    assert admitted(queue) == [0, 1, 2, 3]
    queue.enter("other", 100)
    assert admitted(queue) == []
    queue.give_back("me")
    assert admitted(queue) == [100]
    queue.give_back("me")
    assert admitted(queue) == []
    queue.give_back("other")
    assert admitted(queue) == [4, 5]


def test_the_owner_has_all_places_again_once_the_last_other_one_gives_up_waiting() -> None:
    queue = FairQueue[str, int](1, 100, owner="me")
    assert [queue.enter("me", 1), queue.enter("me", 2), queue.enter("x", 3)] == [True] * 3
    queue.leave("x", 3)
    queue.give_back("me")
    assert admitted(queue) == [1, 2]


def test_equals_take_turns_however_long_one_of_them_has_waited() -> None:
    queue = FairQueue[str, int](1, 100)
    for ticket in range(5):
        queue.enter("flood", ticket)
    queue.enter("late", 10)
    queue.enter("late", 11)
    order = admitted(queue)
    for caller in ("flood", "late", "flood", "late"):
        queue.give_back(caller)
        order += admitted(queue)
    assert order == [0, 1, 10, 2, 11]


def test_nothing_waits_beyond_the_bound_of_one_caller_and_others_are_not_concerned() -> None:
    queue = FairQueue[str, int](1, 2)
    assert [queue.enter("a", ticket) for ticket in range(4)] == [True, True, True, False]
    assert [queue.enter("b", ticket) for ticket in range(10, 13)] == [True, True, False]
    none = FairQueue[str, int](1, 0)
    assert [none.enter("a", 1), none.enter("a", 2)] == [True, False]


def test_what_comes_back_stands_in_front_and_is_never_one_too_many() -> None:
    queue = FairQueue[str, int](1, 1)
    queue.enter("a", 1)
    queue.give_back("a")
    queue.enter("a", 2)
    queue.enter("a", 3)
    queue.come_back("a", 1)
    assert admitted(queue) == [1, 2]
    queue.give_back("a")
    assert admitted(queue) == [1]
