"""Counter-examples without loss: what goes wrong between replicas that share one whole memory.

Each test is one row of REPLICAS section 6, played as far as the store sees it; its docstring
tells the events, and the assertions are the answer of the protocol. `p1 v0` reads: page 1 was
read from state v0.
"""

from toolcrib.core.freshness.record import DIRTY_LIMIT, LEASE
from toolcrib.core.snapshot import Snapshot
from toolcrib.testing.store_rig import (
    PID,
    Replica,
    StoreRig,
    ensure,
    expect,
    expire,
    listing,
    replicas,
)

V0, V1 = listing("v0", "v0"), listing("v1", "v1")
TORN = listing("v0", "v1")


class StoreRaces:
    """Two replicas, one memory, and the orders of events that simpler protocols fall for."""

    async def test_a_walk_torn_by_a_signalled_change_is_not_published(self, rig: StoreRig) -> None:
        """A BEGIN; p1 v0; change, B is told; p2 v1; B INVALIDATE; A PUBLISH: refused, dirty."""
        a, b = await replicas(rig)
        expire(rig)
        ticket = await a.begin()
        await b.invalidate()
        answer = await a.publish(ticket, TORN)
        expect(answer.verdict, "refused_dirty")
        expect(answer.view.digest, V0.digest, "what is current")
        expect((await b.look()).digest, V0.digest, "what the other sees")

    async def test_the_epoch_of_a_walk_is_the_one_of_its_ticket(self, rig: StoreRig) -> None:
        """A BEGIN; p1 v0; B INVALIDATE; A sees the new epoch while it walks; A PUBLISH: dirty."""
        a, b = await replicas(rig)
        expire(rig)
        ticket = await a.begin()
        await b.invalidate()
        expect((await a.look()).epoch, ticket.epoch + 1, "epoch seen in mid-walk")
        expect((await a.renew(ticket)).view.epoch, ticket.epoch + 1, "epoch seen by RENEW")
        expect((await a.publish(ticket, TORN)).verdict, "refused_dirty")

    async def test_a_walker_that_records_its_own_signal_first_is_refused(
        self, rig: StoreRig
    ) -> None:
        """A BEGIN; p1 v0; change, A is told; p2 v1; A INVALIDATE, then PUBLISH: refused, dirty."""
        a, _ = await replicas(rig)
        expire(rig)
        ticket = await a.begin()
        expect((await a.invalidate()).epoch, ticket.epoch + 1)
        answer = await a.publish(ticket, TORN)
        expect((answer.verdict, answer.view.digest), ("refused_dirty", V0.digest))

    async def test_a_walk_that_was_taken_over_is_refused_whatever_its_epoch(
        self, rig: StoreRig
    ) -> None:
        """A BEGIN; lease expires; silent change; B walks v1, PUBLISH; A PUBLISH: refused, fence."""
        a, b = await replicas(rig)
        expire(rig)
        late = await a.begin()
        rig.clock.advance(LEASE + 1)
        ticket = await b.begin()
        expect((ticket.fence, ticket.epoch), (late.fence + 1, late.epoch))
        published = await b.publish(ticket, V1)
        answer = await a.publish(late, TORN)
        expect(answer.verdict, "refused_fence")
        expect((answer.view.gen, answer.view.digest), (published.view.gen, V1.digest))

    async def test_a_walk_is_refused_as_soon_as_a_newer_one_was_granted(
        self, rig: StoreRig
    ) -> None:
        """A BEGIN f2; lease expires; B BEGIN f3; A PUBLISH before B does: refused all the same."""
        a, b = await replicas(rig)
        expire(rig)
        late = await a.begin()
        rig.clock.advance(LEASE + 1)
        ticket = await b.begin()
        expect((await a.publish(late, TORN)).verdict, "refused_fence")
        answer = await b.publish(ticket, V0)
        expect((answer.verdict, answer.view.digest), ("done", V0.digest))

    async def test_generations_come_from_the_store_and_never_from_a_replica(
        self, rig: StoreRig
    ) -> None:
        """A PUBLISH torn, gen 2; A INVALIDATE; B, still at gen 1, walks and PUBLISH: gen 3."""
        a, b = await replicas(rig)
        expire(rig)
        first = b.gen
        torn = await a.publish(await a.begin(), TORN)
        expect((torn.verdict, torn.view.gen), ("done", first + 1))
        await a.invalidate()
        answer = await b.publish(await b.begin(), V1)
        expect((answer.verdict, answer.view.gen), ("done", first + 2))

    async def test_a_revocation_beats_a_publish_that_came_just_before(self, rig: StoreRig) -> None:
        """A walks; the right goes, B is told; A PUBLISH, hint; B REVOKE, LOOK: nothing to adopt."""
        a, b = await replicas(rig)
        expire(rig)
        await a.publish(await a.begin(), V0)
        ensure((await b.revoke()).withdrawn, "the view of REVOKE says withdrawn")
        for replica in (a, b):
            view = await replica.look()
            expect((view.withdrawn, view.digest, view.body), (True, None, None))

    async def test_a_look_after_a_hint_sees_what_the_hint_was_about(self, rig: StoreRig) -> None:
        """A INVALIDATE, its answer delayed; B PUBLISH gen 2, hint; A LOOK after both: gen 2."""
        heard: list[str | None] = []
        a, b = await replicas(rig)
        await rig.deliver()
        unsubscribe = rig.bus(0).subscribe(heard.append)
        delayed = await a.invalidate()
        published = await b.publish(await b.begin(), V1)
        await rig.deliver()
        unsubscribe()
        ensure(set(heard) <= {PID, None} and bool(heard), "a hint is a PID and nothing else")
        ensure(published.view.gen > delayed.gen, "the delayed answer is the older one")
        view = await a.look()
        expect((view.gen, view.digest), (published.view.gen, V1.digest))

    async def test_a_view_from_before_a_revocation_is_told_by_its_count(
        self, rig: StoreRig
    ) -> None:
        """A LOOK, answer delayed; the right goes, A REVOKE: the delayed view counts one less."""
        a, _ = await replicas(rig)
        delayed = await a.look()
        view = await a.revoke()
        expect((delayed.rev, delayed.has_snapshot), (view.rev - 1, True))
        expect((view.withdrawn, view.has_snapshot), (True, False))

    async def test_no_walk_begun_before_a_revocation_is_published_after_it(
        self, rig: StoreRig
    ) -> None:
        """A BEGIN, p1, p2; the right goes, B REVOKE; A PUBLISH: refused, fence; still withdrawn."""
        a, b = await replicas(rig)
        expire(rig)
        ticket = await a.begin()
        view = await b.revoke()
        expect((view.epoch, view.lease_left), (ticket.epoch + 1, 0.0))
        answer = await a.publish(ticket, V0)
        expect((answer.verdict, answer.view.withdrawn), ("refused_fence", True))
        ensure(not (await b.look()).has_snapshot, "nothing came back")

    async def test_a_storm_does_not_publish_a_walk_that_differs_from_the_one_before(
        self, rig: StoreRig
    ) -> None:
        """Dirty walks (v0,v0), (v0,v0), then one torn by a change: the third is refused, too."""
        a, b = await replicas(rig, listing("old", "old"))
        for content in (*[V0] * (DIRTY_LIMIT - 1), TORN):
            expire(rig)
            ticket = await a.begin()
            await b.invalidate()
            expect((await a.publish(ticket, content)).verdict, "refused_dirty")
        expect((await b.look()).digest, listing("old", "old").digest)

    async def test_a_storm_does_not_starve_equal_walks(self, rig: StoreRig) -> None:
        """Signals without change in each walk: the last walk the limit allows goes out, stale."""
        a, b = await replicas(rig, listing("old", "old"))
        answers = [await dirty_walk(a, b, V0) for _ in range(DIRTY_LIMIT)]
        expect(answers, ["refused_dirty"] * (DIRTY_LIMIT - 1) + ["done"])
        view = await b.look()
        expect((view.digest, view.needs_walk), (V0.digest, True))
        clean = await a.publish(await a.begin(), V0)
        expect((clean.verdict, clean.view.needs_walk), ("done", False), "after the storm")

    async def test_a_replica_that_missed_a_hint_looks_and_has_it(self, rig: StoreRig) -> None:
        """A INVALIDATE, walks, PUBLISH gen 2; the hint to B is lost; B LOOK: gen 2, with body."""
        a, b = await replicas(rig)
        await a.invalidate()
        await a.walk(V1)
        b.adopt(await b.look())
        expect((b.gen, b.held), (a.gen, V1))

    async def test_a_signal_recorded_late_still_makes_everybody_walk(self, rig: StoreRig) -> None:
        """A hears a change while the store is away; it is back; A INVALIDATE: stale for B, too."""
        a, b = await replicas(rig)
        ensure(not (await b.look()).needs_walk, "fresh before the signal is recorded")
        await a.invalidate()
        ensure((await b.look()).needs_walk, "stale for the other, too")
        expect((await b.ask()).verdict, "done")

    async def test_a_replica_that_starts_makes_the_catalog_stale(self, rig: StoreRig) -> None:
        """A hears a change, crashes before it records it, starts anew: INVALIDATE, so stale."""
        _, b = await replicas(rig)
        reborn = rig.replica(0)
        view = await reborn.invalidate()
        expect((view.needs_walk, view.body is not None), (True, True), "stale, and served at once")
        ensure((await b.look()).needs_walk, "stale for the other, too")

    async def test_a_signal_later_than_the_publish_makes_it_stale_at_once(
        self, rig: StoreRig
    ) -> None:
        """A documented limit: torn gen 2 counts as fresh until B records its signal, not longer."""
        a, b = await replicas(rig)
        expire(rig)
        torn = await a.publish(await a.begin(), TORN)
        expect((torn.verdict, torn.view.needs_walk), ("done", False))
        ensure((await b.invalidate()).needs_walk, "stale from here")
        answer = await b.publish(await b.begin(), V1)
        expect((answer.view.gen, answer.view.needs_walk), (torn.view.gen + 1, False))

    async def test_resonance_is_published_as_stale_and_mended_by_the_next_walk(
        self, rig: StoreRig
    ) -> None:
        """A documented limit: equal dirty walks that never were a state go out as stale."""
        a, b = await replicas(rig, listing("old", "old"))
        answers = [await dirty_walk(a, b, TORN) for _ in range(DIRTY_LIMIT)]
        expect(answers[-1], "done")
        ensure((await b.look()).needs_walk, "never as fresh")
        answer = await b.publish(await b.begin(), V1)
        expect((answer.view.digest, answer.view.needs_walk), (V1.digest, False))

    async def test_a_replica_that_was_cut_off_sees_that_it_is_behind(self, rig: StoreRig) -> None:
        """A documented limit: B, cut off, serves gen 1 after gen 2; its next LOOK tells."""
        a, b = await replicas(rig)
        await a.walk(V1)
        view = await b.look()
        expect((view.gen > b.gen, view.body is not None), (True, True))


async def dirty_walk(walker: Replica, other: Replica, content: Snapshot) -> str:
    """A whole walk into which a signal falls; the verdict of its PUBLISH."""
    ticket = await walker.begin(force=True)
    await other.invalidate()
    return (await walker.publish(ticket, content)).verdict
