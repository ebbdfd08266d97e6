"""The contract suite of a `VectorStore`: one class whose tests every store must pass.

Subclass `VectorContract` and give each test a `VectorRig` for your store; with pytest that is a
fixture called `rig`, in any other runner an argument.
"""

from abc import ABC, abstractmethod

from toolcrib.ports import VectorStore
from toolcrib.testing.store_rig import SteppedClock, expect

DAY = 86_400.0
"""Seconds within which two uses of a vector may count as one."""
MARK = "model 1"
"""The model most tests are about."""


class VectorRig(ABC):
    """One memory as two replicas reach it, 0 and 1, each with its own handle where that can be."""

    def __init__(self) -> None:
        self.clock = SteppedClock()
        """The time of the store, for stores that are given one."""

    @abstractmethod
    def vectors(self, replica: int) -> VectorStore:
        """The handle of replica 0 or 1, of a store that keeps five vectors."""

    async def pass_time(self, seconds: float) -> None:
        """Let time pass for the store."""
        self.clock.advance(seconds)

    async def turn_back(self, seconds: float) -> None:
        """Set the wall clock of the store back; raise `unittest.SkipTest` where it has its own."""
        self.clock.jump(-seconds)


class VectorContract:
    """Every test of a store of vectors."""

    async def test_a_vector_comes_back_to_every_replica(self, rig: VectorRig) -> None:
        """Any bytes; the last write wins, and what is not there is left out."""
        a, b = rig.vectors(0), rig.vectors(1)
        expect(await b.get(MARK, ["k"]), {})
        for value in (b"v", b"", bytes(range(256)), b"x" * 2048):
            await a.put(MARK, {"k": value})
            expect(await b.get(MARK, ["k", "other"]), {"k": value})
        expect(await b.get(MARK, []), {})

    async def test_models_and_keys_are_kept_apart(self, rig: VectorRig) -> None:
        """Whatever text they are."""
        store = rig.vectors(0)
        for mark in ("", "a'b\"c;--", "\ud800", "x\x00y", "é"):
            rows = {key: repr((mark, key)).encode() for key in ("", "\ud801", "k", "k\x00", "K")}
            await store.put(mark, rows)
            expect(await rig.vectors(1).get(mark, list(rows)), rows)
            expect(await store.get(f"{mark}2", list(rows)), {})
        for mark in ("a", "b", "c"):
            await store.put(mark, {"k": mark.encode()})
        for mark in ("a", "b", "c"):
            expect(await store.get(mark, ["k"]), {"k": mark.encode()})

    async def test_many_are_asked_for_at_once(self, rig: VectorRig) -> None:
        """More than one statement of any database takes."""
        store = rig.vectors(0)
        await store.put(MARK, {"k7": b"7", "k39999": b"9"})
        found = await store.get(MARK, [f"k{number}" for number in range(40_000)])
        expect(found, {"k7": b"7", "k39999": b"9"})
        expect(await store.get(MARK, ["k7", "k7"]), {"k7": b"7"}, "one key twice")

    async def test_the_least_recently_used_go_first(self, rig: VectorRig) -> None:
        """Beyond the bound, of whatever model; reading is a use, and so is writing."""
        store = rig.vectors(0)
        for number in range(5):
            await store.put(f"model {number % 2}", {f"k{number}": b"v"})
            await rig.pass_time(2 * DAY)
        expect(await rig.vectors(1).get("model 0", ["k0"]), {"k0": b"v"})
        await rig.pass_time(2 * DAY)
        await store.put("model 1", {"k1": b"w"})
        await rig.pass_time(2 * DAY)
        await store.put(MARK, {"new": b"v", "newer": b"v"})
        expect(await store.get("model 0", ["k0", "k2", "k4"]), {"k0": b"v", "k4": b"v"})
        expect(await store.get("model 1", ["k1", "k3"]), {"k1": b"w"})
        expect(await store.get(MARK, ["new", "newer"]), {"new": b"v", "newer": b"v"})

    async def test_more_than_there_is_room_for_leaves_the_last(self, rig: VectorRig) -> None:
        """In the order of the mapping."""
        store = rig.vectors(0)
        rows = {f"k{number}": b"%d" % number for number in range(9)}
        await store.put(MARK, rows)
        found = await store.get(MARK, list(rows))
        expect(found, {key: rows[key] for key in ("k4", "k5", "k6", "k7", "k8")})

    async def test_a_clock_that_is_set_back_loses_nothing(self, rig: VectorRig) -> None:
        """What is used now counts as used now."""
        store = rig.vectors(0)
        await store.put(MARK, {"k": b"v"})
        await rig.turn_back(365 * DAY)
        await store.put(MARK, {"earlier": b"v"})
        expect(sorted(await store.get(MARK, ["k", "earlier"])), ["earlier", "k"])
        await rig.pass_time(2 * DAY)
        await store.put(MARK, {f"new{number}": b"v" for number in range(3)})
        expect(await store.get(MARK, ["k"]), {"k": b"v"})
        await rig.turn_back(365 * DAY)
        await store.get(MARK, ["earlier", "k", "new0", "new1", "new2"])
        await rig.pass_time(2 * DAY)
        rows = {f"newer{number}": b"v" for number in range(5)}
        await store.put(MARK, rows)
        expect(await store.get(MARK, ["earlier", "k", *rows]), rows, "what was used last")
