"""The contract suite of an `EntryStore`: one class whose tests every store must pass.

Subclass `EntryContract` and give each test an `EntryRig` for your store; with pytest that is a
fixture called `rig`, in any other runner an argument.
"""

from abc import ABC, abstractmethod

import anyio

from toolcrib.errors import LimitExceeded
from toolcrib.ports import EntryStore
from toolcrib.testing.store_rig import SteppedClock, ensure, expect

VALUE_LIMIT = 16 * 1024 * 1024
"""Bytes a value may have."""
LIFE = 60.0
"""Seconds an entry of these tests lives, where it does not matter."""
ALONE = ("space", "owner")
"""The owner most tests are about."""


class EntryRig(ABC):
    """One memory as two replicas reach it, 0 and 1, each with its own handle where that can be."""

    def __init__(self) -> None:
        self.clock = SteppedClock()
        """The time of the store, for stores that are given one."""

    @abstractmethod
    def entries(self, replica: int) -> EntryStore:
        """The handle of replica 0 or 1."""

    async def pass_time(self, seconds: float) -> None:
        """Let time pass for the store."""
        self.clock.advance(seconds)

    async def turn_back(self, seconds: float) -> None:
        """Set the wall clock of the store back; raise `unittest.SkipTest` where it has its own."""
        self.clock.jump(-seconds)


class EntryContract:
    """Every test of a store of entries."""

    async def test_a_value_comes_back_to_every_replica(self, rig: EntryRig) -> None:
        """Any bytes, the empty value too; the last write wins."""
        a, b = rig.entries(0), rig.entries(1)
        expect(await b.get(*ALONE, "k"), None)
        for value in (b"v", b"", bytes(range(256)), b"x" * 100_000):
            await a.put(*ALONE, {"k": value}, lifetime=LIFE, most=9)
            expect(await b.get(*ALONE, "k"), value)
        expect(await b.entries(*ALONE), {"k": b"x" * 100_000})

    async def test_spaces_owners_and_keys_are_kept_apart(self, rig: EntryRig) -> None:
        """Also where one ends as the next begins, and whatever text they are."""
        store = rig.entries(0)
        texts = ("", "a", "A", "ab", "b", "a'b\"c;--", "\ud800", "é", "e\u0301", "x\x00y", "x")
        places = [(space, owner) for space in texts for owner in texts]
        for space, owner in places:
            values = {key: repr((space, owner, key)).encode() for key in texts}
            await store.put(space, owner, values, lifetime=LIFE, most=len(texts))
        for space, owner in places:
            expect(
                await rig.entries(1).entries(space, owner),
                {key: repr((space, owner, key)).encode() for key in texts},
            )
        expect(await store.drop("a", "b"), len(texts))
        expect(await store.entries("a", "b"), {})
        expect(len(await store.entries("a", "ab")), len(texts))
        expect(len(await store.entries("ab", "")), len(texts))

    async def test_what_has_expired_is_gone_for_every_operation(self, rig: EntryRig) -> None:
        """At its last moment, not before."""
        store = rig.entries(0)
        for key in ("get", "take", "drop", "add"):
            await store.put(*ALONE, {key: b"v"}, lifetime=LIFE, most=9)
        await rig.pass_time(LIFE - 1)
        await store.put(*ALONE, {"late": b"v"}, lifetime=LIFE, most=9)
        expect(len(await store.entries(*ALONE)), 5)
        await rig.pass_time(1)
        expect(await rig.entries(1).get(*ALONE, "get"), None, "get")
        expect(await store.take(*ALONE, "take"), None, "take")
        expect(await store.drop(*ALONE, "drop"), 0, "drop")
        expect(await store.add(*ALONE, "add", b"w", lifetime=LIFE, most=9), True, "add")  # noqa: FBT003
        expect(await store.entries(*ALONE), {"late": b"v", "add": b"w"})
        expect(await store.drop(*ALONE), 2, "drop everything")

    async def test_a_lifetime_that_is_none_ends_at_once(self, rig: EntryRig) -> None:
        """And what was under the key before is gone; an endless one is no error."""
        store = rig.entries(0)
        for lifetime in (0.0, -1.0, float("-inf"), float("nan")):
            await store.put(*ALONE, {"k": b"v"}, lifetime=LIFE, most=9)
            await store.put(*ALONE, {"k": b"w"}, lifetime=lifetime, most=9)
            expect(await store.get(*ALONE, "k"), None, f"lifetime {lifetime}")
        await store.put(*ALONE, {"k": b"v"}, lifetime=float("inf"), most=9)
        await rig.pass_time(365 * 86_400)
        expect(await store.get(*ALONE, "k"), b"v")

    async def test_writing_again_begins_a_new_life(self, rig: EntryRig) -> None:
        """Longer or shorter than the one before."""
        store = rig.entries(0)
        await store.put(*ALONE, {"a": b"1", "b": b"1"}, lifetime=LIFE, most=9)
        await rig.pass_time(LIFE / 2)
        await store.put(*ALONE, {"a": b"2"}, lifetime=LIFE, most=9)
        await store.put(*ALONE, {"b": b"2"}, lifetime=1, most=9)
        await rig.pass_time(1)
        expect(await store.entries(*ALONE), {"a": b"2"})
        await rig.pass_time(LIFE - 1)
        expect(await store.entries(*ALONE), {})

    async def test_what_was_seen_expired_stays_so_when_the_clock_is_set_back(
        self, rig: EntryRig
    ) -> None:
        """Whoever was told that a grant is over must not find it again."""
        store = rig.entries(0)
        for look in (
            lambda: store.get(*ALONE, "k"),
            lambda: store.entries(*ALONE),
            lambda: store.take(*ALONE, "k"),
            lambda: store.put(*ALONE, {"other": b"v"}, lifetime=LIFE, most=9),
        ):
            await store.put(*ALONE, {"k": b"v"}, lifetime=LIFE, most=9)
            await rig.pass_time(LIFE)
            await look()
            await rig.turn_back(LIFE)
            expect(await rig.entries(1).get(*ALONE, "k"), None)

    async def test_the_least_recently_written_go_first(self, rig: EntryRig) -> None:
        """Beyond `most`, of this owner only; reading does not count as writing."""
        store = rig.entries(0)
        await store.put("space", "other", {"k": b"v"}, lifetime=LIFE, most=3)
        for key in ("a", "b", "c"):
            await store.put(*ALONE, {key: b"1"}, lifetime=LIFE, most=3)
        await store.put(*ALONE, {"a": b"2"}, lifetime=LIFE, most=3)
        await store.get(*ALONE, "b")
        await store.put(*ALONE, {"d": b"1"}, lifetime=LIFE, most=3)
        held = await rig.entries(1).entries(*ALONE)
        expect(list(held.items()), [("c", b"1"), ("a", b"2"), ("d", b"1")])
        await store.add(*ALONE, "e", b"1", lifetime=LIFE, most=2)
        expect(list(await store.entries(*ALONE)), ["d", "e"])
        expect(await store.get("space", "other", "k"), b"v")

    async def test_more_values_than_there_is_room_for_leave_the_last(self, rig: EntryRig) -> None:
        """In the order of the mapping; no room at all leaves nothing."""
        store = rig.entries(0)
        values = {f"k{number}": b"v" for number in range(10)}
        await store.put(*ALONE, values, lifetime=LIFE, most=3)
        expect(list(await store.entries(*ALONE)), ["k7", "k8", "k9"])
        await store.put(*ALONE, {"k": b"v"}, lifetime=LIFE, most=0)
        expect(await store.entries(*ALONE), {})

    async def test_what_expired_takes_no_room(self, rig: EntryRig) -> None:
        """An entry that is over does not push one out that is not."""
        store = rig.entries(0)
        await store.put(*ALONE, {"long": b"v"}, lifetime=LIFE, most=3)
        await store.put(*ALONE, {"short": b"v", "brief": b"v"}, lifetime=1, most=3)
        await rig.pass_time(1)
        await store.put(*ALONE, {"a": b"v", "b": b"v"}, lifetime=LIFE, most=3)
        expect(list(await store.entries(*ALONE)), ["long", "a", "b"])

    async def test_a_key_is_added_once(self, rig: EntryRig) -> None:
        """By whoever; until it is taken, dropped, or over."""
        a, b = rig.entries(0), rig.entries(1)

        async def add(store: EntryStore, value: bytes) -> bool:
            return await store.add(*ALONE, "k", value, lifetime=LIFE, most=9)

        expect([await add(a, b"1"), await add(a, b"2"), await add(b, b"3")], [True, False, False])
        expect(await b.get(*ALONE, "k"), b"1", "the first stays as it was")
        expect(await b.take(*ALONE, "k"), b"1")
        expect(await add(b, b"4"), wanted=True)
        expect(await a.drop(*ALONE, "k"), 1)
        expect([await add(a, b"5"), await add(b, b"6")], [True, False])
        expect(await a.get(*ALONE, "k"), b"5")

    async def test_a_refused_add_changes_no_order_and_no_life(self, rig: EntryRig) -> None:
        """It is as if nobody had asked."""
        store = rig.entries(0)
        await store.put(*ALONE, {"a": b"1"}, lifetime=2, most=9)
        await store.put(*ALONE, {"b": b"1"}, lifetime=LIFE, most=9)
        await store.add(*ALONE, "a", b"2", lifetime=LIFE, most=1)
        expect(list(await store.entries(*ALONE)), ["a", "b"])
        await rig.pass_time(2)
        expect(list(await store.entries(*ALONE)), ["b"])

    async def test_of_those_who_add_at_once_one_succeeds(self, rig: EntryRig) -> None:
        """Over both handles; the value is that of who succeeded."""
        outcomes: dict[int, bool] = {}

        async def add(number: int) -> None:
            outcomes[number] = await rig.entries(number % 2).add(
                *ALONE, "k", b"%d" % number, lifetime=LIFE, most=9
            )

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(add, number)
        winners = [number for number, won in outcomes.items() if won]
        expect(len(winners), 1, "how many succeeded")
        expect(await rig.entries(0).get(*ALONE, "k"), b"%d" % winners[0])

    async def test_of_those_who_take_at_once_one_gets_it(self, rig: EntryRig) -> None:
        """Over both handles; and then it is gone."""
        await rig.entries(0).put(*ALONE, {"k": b"v"}, lifetime=LIFE, most=9)
        taken: list[bytes | None] = []

        async def take(replica: int) -> None:
            taken.append(await rig.entries(replica).take(*ALONE, "k"))

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(take, number % 2)
        expect(sorted(filter(None, taken)), [b"v"])
        expect(len(taken), 20)
        expect(await rig.entries(1).get(*ALONE, "k"), None)

    async def test_dropping_says_how_many_there_were(self, rig: EntryRig) -> None:
        """One key, everything, and nothing."""
        store = rig.entries(0)
        await store.put(*ALONE, {"a": b"", "b": b"", "": b""}, lifetime=LIFE, most=9)
        expect([await store.drop(*ALONE, key) for key in ("a", "a", "zzz")], [1, 0, 0])
        expect(await rig.entries(1).drop(*ALONE, ""), 1, "the empty key is a key")
        expect(await store.drop(*ALONE), 1)
        expect(await store.drop(*ALONE), 0)

    async def test_a_value_that_is_too_large_is_refused_and_nothing_changes(
        self, rig: EntryRig
    ) -> None:
        """16 MiB, and the error says so; values beside it are not kept either."""
        store = rig.entries(0)
        largest = b"x" * VALUE_LIMIT
        await store.put(*ALONE, {"k": largest}, lifetime=LIFE, most=9)
        ensure(await rig.entries(1).get(*ALONE, "k") == largest, "the largest value comes back")
        beyond = largest + b"x"
        for operation in (
            lambda: store.put(*ALONE, {"a": b"v", "k": beyond}, lifetime=LIFE, most=9),
            lambda: store.add(*ALONE, "new", beyond, lifetime=LIFE, most=9),
        ):
            try:
                await operation()
            except LimitExceeded as error:
                ensure(str(VALUE_LIMIT) in error.message, "the error names the limit")
            else:
                raise AssertionError("a value of more than 16 MiB was taken")
        expect(list(await store.entries(*ALONE)), ["k"])
        ensure(await store.get(*ALONE, "k") == largest, "the old value stays")
