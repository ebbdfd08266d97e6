"""The rules of REPLICAS section 5, one by one, as far as a store keeps them."""

import anyio

from toolcrib.core.freshness.record import DIRTY_LIMIT, LEASE, Caller, Published
from toolcrib.testing.store_rig import (
    PID,
    TTL,
    Replica,
    StoreRig,
    ensure,
    expect,
    expire,
    listing,
    replicas,
)

V0, V1, V2 = listing("v0", "v0"), listing("v1", "v1"), listing("v2", "v2")


class StoreRules:
    """What each operation does and refuses, and what its view says."""

    async def test_an_unknown_catalog_needs_a_walk_and_says_nothing_else(
        self, rig: StoreRig
    ) -> None:
        """The first operation of all makes a record without a snapshot."""
        view = await rig.replica(0).look()
        expect((view.needs_walk, view.has_snapshot, view.withdrawn), (True, False, False))
        expect((view.body, view.age, view.lease_left, view.ttl_left), (None, None, 0.0, 0.0))
        ensure(view.inc.startswith(rig.server), "an incarnation names its memory")
        expect((await rig.replica(1).look()).inc, view.inc, "and is the same for everybody")

    async def test_a_view_carries_the_body_only_to_whom_does_not_hold_it(
        self, rig: StoreRig
    ) -> None:
        """Incarnation and generation both have to match."""
        a, b = await replicas(rig)
        expect((await a.look()).body, None)
        view = await rig.replica(1).look()
        expect(None if view.body is None else view.body.snapshot, V0)
        other = Caller("another", 0, b.gen)
        answer = await b.store.look(PID, other)
        ensure(answer.view.body is not None, "the same number of another incarnation")
        await a.walk(V1)
        view = await b.look()
        expect(None if view.body is None else view.body.snapshot, V1)

    async def test_an_equal_digest_keeps_its_generation_and_renews_freshness(
        self, rig: StoreRig
    ) -> None:
        """Nobody has to be told of a walk that found nothing new."""
        a, b = await replicas(rig)
        expire(rig)
        ensure((await a.look()).needs_walk, "the ttl is over")
        answer = await a.publish(await a.begin(), V0)
        expect((answer.view.gen, answer.view.needs_walk), (a.gen, False))
        view = await b.look()
        expect((view.body, view.age, view.ttl_left), (None, 0.0, TTL))

    async def test_generations_grow_by_content_and_never_fall(self, rig: StoreRig) -> None:
        """A content that comes back is a new generation; a withdrawal does not reset the count."""
        a, _ = await replicas(rig)
        seen = [a.gen, *[(await a.walk(content)).gen for content in (V1, V0, V2)]]
        await a.revoke()
        answer = await a.publish(await a.begin(regranted=True), V0)
        seen.append(answer.view.gen)
        expect(seen, [seen[0] + step for step in range(5)])

    async def test_a_caller_who_served_more_raises_the_floor(self, rig: StoreRig) -> None:
        """The next content gets a number above anything anybody ever served."""
        a, _ = await replicas(rig)
        served = a.gen + 1000
        view = (await a.store.look(PID, Caller(a.inc, served, a.gen))).view
        expect(view.gen, a.gen, "the same line, so the same number")
        expect((await a.walk(V1)).gen, served + 1)

    async def test_freshness_ends_with_the_ttl_exactly(self, rig: StoreRig) -> None:
        """One moment before, a walk is refused; at the moment, it is needed."""
        a, b = await replicas(rig)
        rig.clock.advance(TTL - 1)
        view = await b.look()
        expect((view.needs_walk, view.age, view.ttl_left), (False, TTL - 1, 1.0))
        expect((await b.ask()).verdict, "refused_fresh")
        rig.clock.advance(1)
        view = await b.look()
        expect((view.needs_walk, view.ttl_left), (True, 0.0))
        expect((await a.ask()).verdict, "done")

    async def test_a_snapshot_received_in_the_future_counts_as_stale(self, rig: StoreRig) -> None:
        """The clock went back: nobody can tell how old it is."""
        _, b = await replicas(rig)
        rig.clock.jump(-3600)
        view = await b.look()
        expect((view.needs_walk, view.ttl_left, view.age), (True, 0.0, -3600.0))
        expect((await b.ask()).verdict, "done")

    async def test_the_remaining_ttl_never_exceeds_the_whole(self, rig: StoreRig) -> None:
        """An expiry further away than the ttl allows is not believed; a ttl of 0 is never fresh."""
        a, now = rig.replica(0), rig.clock.now().wall
        candidate = Published(V0, now, now + 1000)
        answer = await a.store.publish(PID, a.caller, await a.begin(), candidate)
        expect(answer.view.ttl_left, TTL)
        ticket = await a.begin(force=True)
        answer = await a.publish(ticket, listing("v0", "v0", ttl=0.0))
        expect((answer.view.needs_walk, answer.view.ttl_left), (True, 0.0))

    async def test_a_storm_between_two_walks_is_one_invalidation(self, rig: StoreRig) -> None:
        """The next walk answers all of them; a signal after its grant counts anew."""
        a, b = await replicas(rig)
        epochs = [(await replica.invalidate()).epoch for replica in (a, b, a, b)]
        expect(len(set(epochs)), 1)
        ticket = await a.begin()
        expect(ticket.epoch, epochs[0])
        expect((await b.invalidate()).epoch, epochs[0] + 1)

    async def test_begin_is_refused_while_another_walks_and_says_for_how_long(
        self, rig: StoreRig
    ) -> None:
        """Forced or not: a force overrules freshness, never the lease."""
        a, b = await replicas(rig)
        expire(rig)
        await a.begin()
        rig.clock.advance(5)
        for force in (False, True):
            answer = await b.ask(force=force)
            expect((answer.verdict, answer.ticket), ("refused_lease", None))
            expect(answer.view.lease_left, LEASE - 5)

    async def test_a_forced_begin_walks_although_the_catalog_is_fresh(self, rig: StoreRig) -> None:
        """The re-check after an equal digest, strategy `always`, the probe."""
        a, _ = await replicas(rig)
        expect((await a.ask()).verdict, "refused_fresh")
        expect((await a.ask(force=True)).verdict, "done")

    async def test_an_expired_lease_can_be_taken_over_and_every_grant_is_a_new_fence(
        self, rig: StoreRig
    ) -> None:
        """Expiry is about who may begin; the late one finds that it lost."""
        a, b = await replicas(rig)
        expire(rig)
        late = await a.begin()
        rig.clock.advance(LEASE)
        ticket = await b.begin()
        expect(ticket.fence, late.fence + 1)
        expect((await a.renew(late)).verdict, "lost")
        expect((await b.renew(ticket)).verdict, "done")

    async def test_a_lease_from_before_the_clock_was_set_back_holds_nobody_up(
        self, rig: StoreRig
    ) -> None:
        """It ends later than any grant could make it."""
        a, b = await replicas(rig)
        expire(rig)
        await a.begin()
        rig.clock.jump(-3600)
        expect((await b.look()).lease_left, 0.0)
        expect((await b.ask()).verdict, "done")

    async def test_an_expired_lease_that_nobody_took_over_may_still_publish(
        self, rig: StoreRig
    ) -> None:
        """A lease never says who may publish."""
        a, _ = await replicas(rig)
        expire(rig)
        ticket = await a.begin()
        rig.clock.advance(10 * LEASE)
        expect((await a.publish(ticket, V1)).verdict, "done")
        expect((await a.publish(ticket, V2)).verdict, "done", "it is still the newest walk")

    async def test_renewing_keeps_others_from_beginning(self, rig: StoreRig) -> None:
        """Once per page, however many pages there are."""
        a, b = await replicas(rig)
        expire(rig)
        ticket = await a.begin()
        for _ in range(5):
            rig.clock.advance(LEASE - 1)
            answer = await a.renew(ticket)
            expect((answer.verdict, answer.view.lease_left), ("done", LEASE))
        expect((await b.ask()).verdict, "refused_lease")

    async def test_releasing_lets_others_begin_at_once(self, rig: StoreRig) -> None:
        """The walk failed; whoever comes next need not wait for the lease."""
        a, b = await replicas(rig)
        expire(rig)
        ticket = await a.begin()
        answer = await a.release(ticket)
        expect((answer.verdict, answer.view.lease_left), ("done", 0.0))
        expect((await b.ask()).verdict, "done")

    async def test_releasing_a_lost_walk_frees_nobody_elses_lease(self, rig: StoreRig) -> None:
        """The same test as RENEW: never a bare deletion."""
        a, b = await replicas(rig)
        expire(rig)
        late = await a.begin()
        rig.clock.advance(LEASE)
        await b.begin()
        expect((await a.release(late)).verdict, "lost")
        expect((await a.ask()).verdict, "refused_lease")

    async def test_publishing_frees_the_lease_whether_or_not_it_is_published(
        self, rig: StoreRig
    ) -> None:
        """A dirty walk is over as well."""
        a, b = await replicas(rig)
        expire(rig)
        ticket = await a.begin()
        await b.invalidate()
        answer = await a.publish(ticket, V1)
        expect((answer.verdict, answer.view.lease_left), ("refused_dirty", 0.0))
        expect((await b.ask()).verdict, "done")

    async def test_the_first_whole_walk_is_published_although_it_is_dirty(
        self, rig: StoreRig
    ) -> None:
        """Provisional: something stale beats nothing, where nothing is held."""
        a, b = rig.replica(0), rig.replica(1)
        ticket = await a.begin()
        await b.invalidate()
        answer = await a.publish(ticket, V0)
        expect((answer.verdict, answer.view.needs_walk), ("done", True))
        expect((await b.look()).digest, V0.digest)

    async def test_nothing_provisional_follows_a_withdrawal(self, rig: StoreRig) -> None:
        """Nothing is held, but something was withdrawn: only a clean walk shows it again."""
        a, b = await replicas(rig)
        await a.revoke()
        ticket = await a.begin(regranted=True)
        await b.invalidate()
        answer = await a.publish(ticket, V0)
        expect((answer.verdict, answer.view.withdrawn), ("refused_dirty", True))
        answer = await a.publish(await a.begin(regranted=True), V0)
        expect((answer.verdict, answer.view.withdrawn), ("done", False))

    async def test_dirty_walks_of_one_page_need_not_be_equal(self, rig: StoreRig) -> None:
        """One page cannot be torn: from the limit on it is published as stale."""
        a, b = await replicas(rig, listing("v0"))
        verdicts: list[str] = []
        for number in range(DIRTY_LIMIT):
            ticket = await a.begin(force=True)
            await b.invalidate()
            verdicts.append((await a.publish(ticket, listing(f"w{number}"))).verdict)
        expect(verdicts, ["refused_dirty"] * (DIRTY_LIMIT - 1) + ["done"])
        ensure((await b.look()).needs_walk, "published as stale")

    async def test_the_count_of_dirty_walks_is_shared_and_starts_anew_after_a_publish(
        self, rig: StoreRig
    ) -> None:
        """Walkers alternate, so the count lies in the store."""
        a, b = await replicas(rig, listing("v0"))
        verdicts: list[str] = []
        for number in range(2 * DIRTY_LIMIT):
            walker, other = (a, b) if number % 2 else (b, a)
            ticket = await walker.begin(force=True)
            await other.invalidate()
            verdicts.append((await walker.publish(ticket, listing(f"w{number}"))).verdict)
        once = ["refused_dirty"] * (DIRTY_LIMIT - 1) + ["done"]
        expect(verdicts, once + once)

    async def test_a_withdrawn_catalog_is_walked_only_with_a_newer_grant(
        self, rig: StoreRig
    ) -> None:
        """Not with force, not by anybody else, until the right is back."""
        a, b = await replicas(rig)
        view = await a.revoke()
        for replica in (a, b):
            expect((await replica.ask(force=True)).verdict, "refused_withdrawn")
        expect((await a.revoke()).rev, view.rev + 1, "each withdrawal counts")
        await b.publish(await b.begin(regranted=True), V0)
        ensure(not (await a.look()).withdrawn, "a publish ends the withdrawal")

    async def test_catalogs_do_not_touch_each_other(self, rig: StoreRig) -> None:
        """One PID's walk, lease and withdrawal are nobody else's."""
        a, _ = await replicas(rig)
        other = rig.replica(0, "f" * 32)
        await other.walk(V1)
        await other.begin(force=True)
        await other.revoke()
        view = await a.look()
        expect((view.digest, view.lease_left, view.withdrawn), (V0.digest, 0.0, False))

    async def test_of_many_who_ask_at_once_one_may_walk(self, rig: StoreRig) -> None:
        """Single flight, across handles."""
        a, b = await replicas(rig)
        expire(rig)
        verdicts: list[str] = []

        async def ask(replica: Replica) -> None:
            verdicts.append((await replica.ask()).verdict)

        async with anyio.create_task_group() as group:
            for replica in (a, b) * 10:
                group.start_soon(ask, replica)
        expect(sorted(verdicts), ["done", *["refused_lease"] * 19])
