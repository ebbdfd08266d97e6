"""The explorer finds what there is to find, by the shortest way."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from toolcrib.testing.explorer import explore, settle, way_to


@dataclass
class Graph:
    """A space of few states."""

    turns: Mapping[int, Sequence[int]]
    bad: frozenset[int] = frozenset()
    ends: frozenset[int] = frozenset()
    """States in which it may end."""
    walks: frozenset[tuple[int, int]] = frozenset()
    under_way: Mapping[int, int] = field(default_factory=dict[int, int])

    def start(self) -> int:
        return 0

    def starts(self, state: int) -> Iterable[int]:
        return [state]

    def after(self, state: int) -> Iterable[int]:
        return self.turns.get(state, ())

    def broken(self, state: int) -> str:
        return "bad" if state in self.bad else ""

    def counts(self, state: int, after: int) -> bool:
        return (state, after) in self.walks

    def begun(self, state: int) -> int:
        return self.under_way.get(state, 0)

    def unconverged(self, state: int) -> str:
        return "" if state in self.ends else "not there"


DIAMOND = {0: [1, 2], 1: [3], 2: [3, 4], 4: [5], 3: [6], 5: [6]}


def test_every_state_is_visited_once_and_every_turn_is_counted() -> None:
    found = explore(Graph(DIAMOND))
    assert (found.states, found.edges, found.depth) == (7, 8, 3)
    assert found.exhausted
    assert found.broken == ""


@pytest.mark.parametrize(("bad", "path"), [(6, [0, 1, 3, 6]), (5, [0, 2, 4, 5]), (0, [0])])
def test_what_is_broken_is_reached_by_the_shortest_way(bad: int, path: list[int]) -> None:
    found = explore(Graph(DIAMOND, bad=frozenset({bad})))
    assert found.broken == "bad"
    assert found.path == path
    assert not found.exhausted


def test_an_exploration_can_be_bounded() -> None:
    found = explore(Graph({number: [number + 1] for number in range(1000)}), most=10)
    assert found.states == 10
    assert not found.exhausted


def test_a_calm_that_ends_well_counts_its_longest_way() -> None:
    graph = Graph(
        DIAMOND, ends=frozenset({6}), walks=frozenset({(0, 2), (4, 5), (1, 3)}), under_way={5: 1}
    )
    settled = settle(graph, [0], most=2)
    assert settled.broken == ""
    assert (settled.states, settled.edges, settled.ends, settled.longest) == (7, 8, 1, 2)


def test_more_than_is_allowed_is_reported_where_it_begins() -> None:
    graph = Graph(DIAMOND, ends=frozenset({6}), walks=frozenset({(2, 4), (4, 5)}))
    settled = settle(graph, [0], most=1)
    assert "2 times" in settled.broken
    assert settled.path == [0, 2]


def test_a_state_without_turns_must_have_converged() -> None:
    settled = settle(Graph(DIAMOND), [1, 2], most=9)
    assert settled.broken == "not there"
    assert settled.path[0] in {1, 2}
    assert settled.path[-1] == 6


def test_a_promise_that_is_broken_in_the_calm_is_reported() -> None:
    settled = settle(Graph(DIAMOND, bad=frozenset({4}), ends=frozenset({6})), [0], most=9)
    assert settled.broken == "bad"
    assert settled.path == [0, 2, 4]


@pytest.mark.parametrize("back", [0, 2, 4])
def test_an_order_that_goes_on_for_ever_is_found(back: int) -> None:
    graph = Graph({**DIAMOND, 5: [6, back]}, ends=frozenset({6}))
    settled = settle(graph, [0], most=9)
    assert "for ever" in settled.broken
    assert settled.path[-1] in settled.path[:-1]
    assert all(
        after in graph.turns[state]
        for state, after in zip(settled.path, settled.path[1:], strict=False)
    )


def test_an_order_that_never_comes_back_is_found_as_well() -> None:
    endless = {number: [number + 1] for number in range(3000)}
    settled = settle(Graph(endless), [0], most=9)
    assert "for ever" in settled.broken
    assert settled.path[:3] == [0, 1, 2]
    assert settled.states < 3000


def test_states_that_many_ways_lead_to_are_followed_once() -> None:
    layers = {number: [number + 1, number + 2] for number in range(40)}
    settled = settle(Graph(layers, ends=frozenset({40, 41})), range(40), most=9)
    assert settled.states == 42
    assert settled.edges == 80


def test_the_way_to_a_state_begins_where_there_is_no_origin() -> None:
    assert way_to({3: -1, 5: 3, 7: 5}, 7) == [3, 5, 7]
