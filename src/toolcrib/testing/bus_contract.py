"""The contract of an `InvalidationBus`: hints reach the others, and nobody depends on them."""

from toolcrib.testing.store_rig import StoreRig, ensure, expect


class BusContract:
    """Tests that every bus must pass; subclass it and give each test a `StoreRig`.

    With pytest, define a fixture `rig`; any other runner calls the methods itself.
    """

    async def test_a_hint_reaches_the_other_replica(self, rig: StoreRig) -> None:
        """As the PID, or as None for "anything", after whatever delay the rig knows of."""
        hints: list[str | None] = []
        rig.bus(1).subscribe(hints.append)
        await rig.bus(0).publish("a")
        await rig.deliver()
        ensure("a" in hints or None in hints, f"heard {hints!r}")

    async def test_a_hint_reaches_every_listener(self, rig: StoreRig) -> None:
        """Also several on one replica, and the same function subscribed twice."""
        first: list[str | None] = []
        second: list[str | None] = []
        for listener in (first.append, second.append, second.append):
            rig.bus(1).subscribe(listener)
        await rig.bus(0).publish("a")
        await rig.deliver()
        ensure(first, "the first listener hears the hint")
        expect(len(second), 2 * len(first), "hints of the listener subscribed twice")

    async def test_whoever_unsubscribed_hears_nothing_and_may_do_so_twice(
        self, rig: StoreRig
    ) -> None:
        """Unsubscribing ends one subscription and is idempotent."""
        gone: list[str | None] = []
        still: list[str | None] = []
        unsubscribe = rig.bus(1).subscribe(gone.append)
        rig.bus(1).subscribe(still.append)
        unsubscribe()
        unsubscribe()
        await rig.bus(0).publish("a")
        await rig.deliver()
        ensure(still and not gone, f"only who stayed hears: {still!r}, {gone!r}")

    async def test_a_listener_may_unsubscribe_while_it_is_called(self, rig: StoreRig) -> None:
        """The others are called all the same."""
        heard: list[str | None] = []
        rig.bus(1).subscribe(lambda _pid: unsubscribe())
        unsubscribe = rig.bus(1).subscribe(lambda _pid: None)
        rig.bus(1).subscribe(heard.append)
        await rig.bus(0).publish("a")
        await rig.deliver()
        ensure(heard, "whoever subscribed after the leaver hears the hint")

    async def test_a_hint_without_listeners_is_no_error(self, rig: StoreRig) -> None:
        """Nobody waits for anybody."""
        await rig.bus(0).publish("a")
        await rig.deliver()

    async def test_hints_of_before_do_not_keep_those_of_after_away(self, rig: StoreRig) -> None:
        """However many came while nobody listened."""
        for number in range(50):
            await rig.bus(0).publish(f"old{number}")
        hints: list[str | None] = []
        rig.bus(1).subscribe(hints.append)
        await rig.bus(0).publish("new")
        await rig.deliver()
        ensure("new" in hints or None in hints, f"heard {hints!r}")
