"""What a store remembers: whole snapshots exactly, small notes, and who has to look again."""

from collections.abc import Awaitable, Callable

from toolcrib.core.freshness.record import LEASE
from toolcrib.core.snapshot import Hints, Item, Kind, Quarantined, Scope, Snapshot
from toolcrib.errors import LimitExceeded
from toolcrib.testing.store_rig import (
    PID,
    StoreRig,
    ensure,
    expect,
    expire,
    item_of,
    listing,
    replicas,
    snapshot_of,
)

NOTE_LIMIT = 64 * 1024
V0, V1 = listing("v0", "v0"), listing("v1", "v1")


def odd_snapshot() -> Snapshot:
    """Everything a definition may hold that a store could lose."""
    item = Item(
        key="tool:\ud800 alone",
        definition={
            "z": 1,
            "name": "tool:\ud800 alone",
            "a": [2**53 + 1, -(10**40), 1.5, -0.0, 1e300, True, None],
            "inputSchema": {
                "properties": {"": {}, "\ude00": {"deep": [[[[{}]]]]}, "\u2028": "\n\x00"}
            },
        },
        fingerprint="f" * 64,
        contract="c" * 64,
        notes=("repaired", ""),
    )
    return Snapshot(
        kind=Kind.TEMPLATES,
        items=(item,),
        digest="d" * 64,
        quarantined=(Quarantined("#3", "no_name", "it has no name", "0" * 64),),
        warnings=("the cursor went in a circle",),
        hints=Hints(12.25, Scope.PUBLIC, ("ttlMs was negative",)),
        pages=7,
    )


class StoreMemory:
    """What comes back is what went in, and everybody else hears of it."""

    async def test_a_snapshot_comes_back_exactly(self, rig: StoreRig) -> None:
        """Large integers, lone surrogates, key order, quarantine, warnings, hints, pages."""
        for number, snapshot in enumerate((odd_snapshot(), Snapshot(Kind.PROMPTS, (), "e" * 64))):
            pid = f"{number:032x}"
            await rig.replica(0, pid).walk(snapshot)
            view = await rig.replica(1, pid).look()
            if view.body is None:
                raise AssertionError("the view carries no body")
            expect(view.body.snapshot, snapshot)
            expect(repr(view.body.snapshot.items), repr(snapshot.items), "order and types")
            for item in snapshot.items:
                expect(view.body.snapshot.get(item.key), item)

    async def test_a_renewed_snapshot_replaces_the_one_of_the_same_digest(
        self, rig: StoreRig
    ) -> None:
        """What is not in the digest (key order, warnings, hints) is that of the newest walk."""
        item = item_of({"name": "t", "a": 1, "b": 2})
        turned = Item("t", {"b": 2, "a": 1, "name": "t"}, item.fingerprint, item.contract)
        a, _ = await replicas(rig, snapshot_of(item))
        await a.walk(snapshot_of(turned, ttl=5.0))
        view = await rig.replica(1).look()
        expect(None if view.body is None else repr(view.body.snapshot.items), repr((turned,)))
        expect((view.gen, view.ttl_left), (a.gen, 5.0))

    async def test_a_large_snapshot_comes_back_exactly(self, rig: StoreRig) -> None:
        """A thousand tools, some of them long."""
        tools = (
            item_of({"name": f"tool_{n:04}", "description": "d" * (n % 97)}) for n in range(1000)
        )
        snapshot = snapshot_of(*tools, pages=10)
        await rig.replica(0).walk(snapshot)
        view = await rig.replica(1).look()
        ensure(view.body and view.body.snapshot == snapshot, "all of it comes back")

    async def test_operations_that_change_something_give_a_hint(self, rig: StoreRig) -> None:
        """INVALIDATE, RELEASE, PUBLISH (refused as dirty, too) and REVOKE; to the other replica."""
        a, b = await replicas(rig)
        expect(await heard(rig, b.invalidate), [PID], "INVALIDATE")
        ticket = await a.begin()
        expect(await heard(rig, lambda: a.release(ticket)), [PID], "RELEASE")
        ticket = await a.begin()
        expect(await heard(rig, lambda: a.publish(ticket, V1)), [PID], "PUBLISH")
        dirty = await a.begin(force=True)
        await b.invalidate()
        await rig.deliver()
        expect(await heard(rig, lambda: a.publish(dirty, V0)), [PID], "PUBLISH, dirty")
        expect(await heard(rig, a.revoke), [PID], "REVOKE")

    async def test_operations_that_change_nothing_for_others_give_no_hint(
        self, rig: StoreRig
    ) -> None:
        """LOOK, RENEW, BEGIN, what was refused, and a signal that is already covered."""
        a, b = await replicas(rig)
        expect(await heard(rig, a.look), [], "LOOK")
        expect(await heard(rig, a.ask), [], "BEGIN, refused")
        expire(rig)
        late = await a.begin()
        expect(await heard(rig, lambda: a.renew(late)), [], "RENEW")
        rig.clock.advance(LEASE)
        expect(await heard(rig, b.ask), [], "BEGIN")
        expect(await heard(rig, lambda: a.publish(late, V1)), [], "PUBLISH, refused")
        expect(await heard(rig, lambda: a.release(late)), [], "RELEASE, lost")
        await b.invalidate()
        await rig.deliver()
        expect(await heard(rig, a.invalidate), [], "INVALIDATE, covered")

    async def test_a_note_is_remembered_for_everybody_until_it_is_forgotten(
        self, rig: StoreRig
    ) -> None:
        """An empty note is a note."""
        a, b = rig.store(0), rig.store(1)
        expect(await a.read_note("era:x"), None)
        for value in (b"modern", b"", bytes(range(256))):
            await a.write_note("era:x", value)
            expect(await b.read_note("era:x"), value)
        expect(await b.read_note("era:y"), None)
        await b.write_note("era:x", None)
        await b.write_note("era:x", None)
        expect(await a.read_note("era:x"), None)

    async def test_the_key_of_a_note_is_any_text(self, rig: StoreRig) -> None:
        """Keys hold configured names, and those may hold anything."""
        store = rig.store(0)
        keys = ("", "a'b\"c;--", "\ud800", "\u00e9", "e\u0301", "x\x00y", "x")
        for key in keys:
            await store.write_note(key, repr(key).encode())
        for key in keys:
            expect(await rig.store(1).read_note(key), repr(key).encode(), repr(key))

    async def test_a_note_that_is_too_large_is_refused_and_the_old_one_stays(
        self, rig: StoreRig
    ) -> None:
        """64 KiB, and the error says so."""
        store = rig.store(0)
        await store.write_note("k", b"x" * NOTE_LIMIT)
        try:
            await store.write_note("k", b"y" * (NOTE_LIMIT + 1))
        except LimitExceeded as error:
            ensure(str(NOTE_LIMIT) in error.message, "the error names the limit")
        else:
            raise AssertionError("a note of more than 64 KiB was taken")
        expect(await store.read_note("k"), b"x" * NOTE_LIMIT)


async def heard(rig: StoreRig, operation: Callable[[], Awaitable[object]]) -> list[str | None]:
    """The hints that reach replica 1 because of an operation, each once."""
    await rig.deliver()
    hints: list[str | None] = []
    unsubscribe = rig.bus(1).subscribe(hints.append)
    await operation()
    await rig.deliver()
    unsubscribe()
    return sorted(set(hints), key=str)
