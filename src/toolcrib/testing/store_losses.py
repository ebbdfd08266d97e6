"""Counter-examples with loss: the store fails over to an older copy, restarts empty, or splits.

Each test is one row of REPLICAS section 6, played as far as the store sees it. A failover puts a
copy from before in the place of the memory, under another identity.
"""

from dataclasses import replace

from toolcrib.core.freshness.record import DIRTY_LIMIT, LEASE, View
from toolcrib.testing.store_rig import StoreRig, ensure, expect, expire, listing, replicas

V0, V1 = listing("v0", "v0"), listing("v1", "v1")
TORN = listing("v0", "v1")
EPOCH_1970 = -1_700_000_000.0
"""A jump that makes the clock of a new memory useless for numbering."""


class StoreLosses:
    """Two replicas whose memory may become another one."""

    async def test_a_failover_gives_no_older_snapshot_and_no_older_number(
        self, rig: StoreRig
    ) -> None:
        """Standby at gen 1; A PUBLISH gen 2; failover; A LOOK: nothing; next publish is above 2."""
        a, _ = await replicas(rig)
        standby = await rig.standby()
        await a.walk(V1)
        await rig.fail_over(standby)
        view = await a.look()
        ensure(view.inc != a.inc, "another memory is another incarnation")
        expect_nothing(view)
        a.hold(view)
        await a.invalidate()
        answer = await a.publish(await a.begin(), V1)
        expect((answer.verdict, answer.view.gen > a.hi), ("done", True))

    async def test_an_empty_restart_starts_above_everything_that_was_served(
        self, rig: StoreRig
    ) -> None:
        """A served gen 1; silent change; restart empty; A walks v1: not gen 1 again."""
        a, b = await replicas(rig)
        await rig.fail_over(None)
        view = await a.look()
        ensure(view.inc != a.inc, "another memory is another incarnation")
        expect_nothing(view)
        answer = await a.publish(await a.begin(), V1)
        ensure(answer.view.gen > a.hi, "a number above all that was served")
        expect((await b.look()).gen, answer.view.gen)

    async def test_a_new_memory_numbers_above_what_it_was_not_told(self, rig: StoreRig) -> None:
        """A served gen 1; restart empty; a newcomer, who served nothing, walks first: above 1."""
        a, _ = await replicas(rig)
        rig.clock.advance(1)
        await rig.fail_over(None)
        newcomer = rig.replica(1)
        answer = await newcomer.publish(await newcomer.begin(), V1)
        ensure(answer.view.gen > a.hi, "its clock is ahead of the old memory's start")

    async def test_a_new_incarnation_moves_epoch_and_fence(self, rig: StoreRig) -> None:
        """Whatever compares one of them alone is on the safe side."""
        a, _ = await replicas(rig)
        expire(rig)
        standby = await rig.standby()
        late = await a.begin()
        await rig.fail_over(standby)
        ticket = await a.begin()
        expect((ticket.epoch, ticket.fence), (late.epoch + 1, late.fence + 1))

    async def test_dirty_walks_of_a_lost_memory_do_not_count(self, rig: StoreRig) -> None:
        """One walk short of the limit, then a failover: the count starts anew."""
        a, b = await replicas(rig, listing("v0"))
        await a.revoke()
        for _ in range(DIRTY_LIMIT - 1):
            ticket = await a.begin(regranted=True)
            await b.invalidate()
            expect((await a.publish(ticket, listing("v1"))).verdict, "refused_dirty")
        await rig.fail_over(await rig.standby())
        ticket = await a.begin(regranted=True)
        await b.invalidate()
        expect((await a.publish(ticket, listing("v1"))).verdict, "refused_dirty")

    async def test_a_ticket_of_another_incarnation_is_void_although_its_fence_is_current(
        self, rig: StoreRig
    ) -> None:
        """A BEGIN f2; failover loses the grant; B BEGIN with the same fence; A PUBLISH: refused."""
        a, b = await replicas(rig)
        expire(rig)
        standby = await rig.standby()
        late = await a.begin()
        await rig.fail_over(standby)
        ticket = await b.begin()
        await b.publish(ticket, V1)
        for void in (late, replace(late, fence=ticket.fence, epoch=ticket.epoch)):
            expect((await a.publish(void, TORN)).verdict, "refused_fence")
            expect((await a.renew(void)).verdict, "lost")
            expect((await a.release(void)).verdict, "lost")
        expect((await b.look()).digest, V1.digest)

    async def test_a_useless_clock_gives_no_number_twice(self, rig: StoreRig) -> None:
        """A PUBLISH torn, gen 2; failover to gen 1, clock in 1970; A says 2 and walks v1: gen 3."""
        a, _ = await replicas(rig)
        standby = await rig.standby()
        await a.walk(TORN)
        rig.clock.jump(EPOCH_1970)
        await rig.fail_over(standby)
        await a.invalidate()
        answer = await a.publish(await a.begin(), V1)
        expect((answer.verdict, answer.view.gen), ("done", a.hi + 1))

    async def test_a_number_lower_than_one_already_served_is_raised(self, rig: StoreRig) -> None:
        """As before, but B, which served less, walks first; A LOOK: same content, new number."""
        a, b = await replicas(rig)
        standby = await rig.standby()
        for state in ("v1", "v2", "v3"):
            await a.walk(listing(state, state))
        rig.clock.jump(EPOCH_1970)
        await rig.fail_over(standby)
        low = await b.publish(await b.begin(), V1)
        ensure(low.view.gen <= a.hi, "B's number is one that A has served")
        await rig.deliver()
        hints: list[str | None] = []
        rig.bus(1).subscribe(hints.append)
        view = await a.look()
        expect((view.gen > a.hi, view.digest), (True, V1.digest))
        expect((await b.look()).gen, view.gen, "for everybody")
        await rig.deliver()
        ensure(hints, "the others are told of the new number")

    async def test_a_split_brain_adopts_only_a_walk_begun_after_its_own_invalidate(
        self, rig: StoreRig
    ) -> None:
        """A on the new memory publishes torn; B, told of the change on the old, moves: not torn."""
        a, b = await replicas(rig)
        expire(rig)
        standby = await rig.standby()
        new = await rig.promote(standby)
        a.move(new)
        a.hold(await a.look())
        await a.invalidate()
        torn = await a.publish(await a.begin(), TORN)
        expect(torn.verdict, "done", "its signal was recorded on the old memory only")
        await b.invalidate()
        await b.walk(V1)
        b.move(new)
        moved = await b.look()
        expect((moved.inc != b.inc, moved.digest), (True, TORN.digest))
        b.hold(moved)
        mine = await b.invalidate()
        ensure(mine.snap_epoch is not None and mine.snap_epoch < mine.epoch, "torn is older")
        answer = await b.publish(await b.begin(), V1)
        expect((answer.view.snap_epoch, answer.view.gen > b.hi), (mine.epoch, True))
        expect((await a.look()).digest, V1.digest)

    async def test_a_lost_revocation_gives_nobody_the_withdrawn_snapshot(
        self, rig: StoreRig
    ) -> None:
        """Standby; A REVOKE; failover loses the record; B LOOK: nothing, so B holds what it has."""
        a, b = await replicas(rig)
        standby = await rig.standby()
        await a.revoke()
        await rig.fail_over(standby)
        view = await b.look()
        ensure(view.inc != b.inc, "another memory is another incarnation")
        expect_nothing(view)

    async def test_no_replica_goes_back_after_a_loss_until_there_is_something_newer(
        self, rig: StoreRig
    ) -> None:
        """A PUBLISH gen 2; failover; host asks A, then B: both have nothing until the next walk."""
        a, b = await replicas(rig)
        standby = await rig.standby()
        await a.walk(V1)
        await rig.fail_over(standby)
        for replica in (a, b):
            expect_nothing(await replica.look())
        answer = await b.publish(await b.begin(), V1)
        ensure(answer.view.gen > a.hi, "a number above all that was served")
        for replica in (a, b):
            expect((await replica.look()).gen, answer.view.gen)

    async def test_a_lost_memory_drops_the_lease_but_keeps_a_known_withdrawal(
        self, rig: StoreRig
    ) -> None:
        """REVOKE and a BEGIN reach the standby; failover: still withdrawn, the lease is free."""
        a, b = await replicas(rig)
        view = await a.revoke()
        await a.begin(regranted=True)
        standby = await rig.standby()
        await rig.fail_over(standby)
        after = await b.look()
        expect((after.withdrawn, after.rev, after.lease_left), (True, view.rev, 0.0))
        expect((await b.ask()).verdict, "refused_withdrawn")
        await b.begin(regranted=True)
        expect((await a.look()).lease_left, LEASE)


def expect_nothing(view: View) -> None:
    """The view of a memory that lost its snapshot."""
    expect(
        (view.has_snapshot, view.body, view.withdrawn, view.needs_walk),
        (False, None, False, True),
        "a memory that lost something has no snapshot",
    )
