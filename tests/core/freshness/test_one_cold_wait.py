"""A server without a listing costs its readers one cold wait together, and not one each."""

from dataclasses import replace

import pytest

from toolcrib.core.freshness.entry import Entry, Link
from toolcrib.core.freshness.events import Connected, Disconnected, Needed, Regranted, Revoked
from toolcrib.core.freshness.need import Purpose, wait_until
from toolcrib.core.freshness.replica import step
from toolcrib.core.freshness.tempo import NEVER, Tempo
from toolcrib.core.instant import Instant
from toolcrib.core.snapshot import Kind
from toolcrib.testing.simulator import Replica, World

T = 1000.0
COLD = Tempo().cold_wait


def waited(world: World, replica: Replica, purpose: Purpose = "list") -> float:
    """Seconds that a reader takes that comes now."""
    reader = replica.read(purpose)
    world.run(2 * COLD)
    assert reader.answered is not None
    return reader.answered - reader.arrived


def hanging() -> World:
    """A server whose first attempt to connect goes on and on, and somebody who listed it."""
    world = World()
    world.a.read()
    world.run(COLD)
    return world


def begun(at: float) -> Entry:
    """A catalog that is first asked for while a connection, begun at `at`, is under way."""
    return Entry(Kind.TOOLS, inc="inc", heard=False, link=Link(), cold=at)


# ---- while it connects ----


def test_the_first_listing_waits_and_later_ones_are_answered_at_once() -> None:
    world = World()
    assert waited(world, world.a) == COLD
    assert [waited(world, world.a) for _ in range(3)] == [0.0, 0.0, 0.0]


def test_a_listing_that_comes_during_the_wait_of_another_waits_for_the_rest_of_it() -> None:
    world = World()
    world.a.read()
    world.run(2)
    assert waited(world, world.a) == COLD - 2


@pytest.mark.parametrize(
    ("after", "left"), [(0.0, COLD), (1.0, COLD - 1), (COLD, 0.0), (50.0, 0.0)]
)
def test_the_wait_is_counted_from_when_the_connection_was_begun(after: float, left: float) -> None:
    arrived = T + after
    entry, _ = step(begun(T), Needed(Instant(arrived, 0.0)))
    assert max(0.0, wait_until(entry, arrived, arrived, "list") - arrived) == left


def test_what_the_store_keeps_is_waited_for_however_long_the_server_hangs() -> None:
    arrived = T + 50
    unseen = replace(begun(T), inc="")
    assert wait_until(unseen, arrived, arrived, "list") == arrived + COLD


def test_a_call_waits_by_itself() -> None:
    world = hanging()
    assert waited(world, world.a) == 0.0
    assert waited(world, world.a, "admit") == COLD


# ---- once it is connected ----


def test_a_listing_is_waited_for_once_the_server_is_there_however_late_that_was() -> None:
    world = hanging()
    world.run(20)
    world.server.listing = (("a", "b"), ("c",))
    world.server.latency = 1.0
    world.a.tell(Connected(world.instant))
    reader = world.a.read()
    world.run(5)
    assert reader.names == ["a", "b", "c"]


def test_a_server_that_never_answers_its_list_is_waited_for_once() -> None:
    world = World()
    world.server.latency = NEVER
    world.a.read()
    world.a.tell(Connected(world.instant))
    assert waited(world, world.a) == COLD
    assert waited(world, world.a) == 0.0


def test_a_connection_that_comes_up_again_is_waited_for_again() -> None:
    world = World()
    world.server.latency = NEVER
    world.a.tell(Connected(world.instant))
    assert [waited(world, world.a), waited(world, world.a)] == [COLD, 0.0]
    world.a.tell(Disconnected(world.instant))
    assert waited(world, world.a) == 0.0
    world.a.tell(Connected(world.instant))
    assert [waited(world, world.a), waited(world, world.a)] == [COLD, 0.0]


# ---- where a listing was lost ----


def test_a_right_that_comes_back_is_waited_for() -> None:
    world = World.at_rest()
    world.a.tell(Revoked(world.instant))
    assert waited(world, world.a) == 0.0
    world.run(100)
    world.server.latency = NEVER
    world.a.tell(Regranted(world.instant))
    assert [waited(world, world.a), waited(world, world.a)] == [COLD, 0.0]


def test_a_store_that_lost_its_memory_is_waited_for_each_time() -> None:
    world = World.at_rest()
    world.server.latency = NEVER
    for _ in range(2):
        world.store.lose()
        world.signal()
        world.run(0.05)
        assert world.a.names is None, "hidden for as long as a walk may still confirm it"
        reader = world.a.read()
        world.run(COLD)
        assert reader.names == ["a", "b", "c"]
        world.run(60)


def test_where_a_listing_is_held_nothing_is_counted() -> None:
    world = World.at_rest()
    assert world.a.entry.cold == NEVER
    world.a.tell(Disconnected(world.instant))
    world.a.tell(Connected(world.instant))
    assert world.a.entry.cold == NEVER
