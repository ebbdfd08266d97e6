"""What happens to an open store: full disks, locks of others, damaged and replaced files."""

# pyright: reportPrivateUsage=false
# What a disk does to a connection is done to the connection here.

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Callable, Generator, Iterator
from hashlib import blake2b
from pathlib import Path

import anyio
import pytest

from toolcrib.adapters.sqlite import schema as sqlite_schema
from toolcrib.adapters.sqlite.file import RecordFile
from toolcrib.adapters.sqlite.store import SqliteStore
from toolcrib.adapters.store.records import Operation
from toolcrib.core.freshness import operations
from toolcrib.core.freshness.record import Caller, Decision, Record, StoreClock
from toolcrib.core.snapshot import Item, Kind, Snapshot
from toolcrib.errors import StoreUnreachable
from toolcrib.facts import StoreDegraded
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.store_contract import Replica, SteppedClock
from toolcrib.testing.store_rig import PID, TTL, item_of, listing, snapshot_of

V0, V1 = listing("v0"), listing("v1")
both_loops = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


class Bench:
    """One open store on the workbench, and all there is to do to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = SteppedClock()
        self.observer = Recorder()
        self.file = RecordFile(path, busy_timeout=0.0, keep_days=30)
        self.file.open(self.clock.now().wall)
        self.store = SqliteStore(self.file, self.clock, self.observer)

    @property
    def connection(self) -> sqlite3.Connection:
        assert self.file._connection is not None
        return self.file._connection

    @property
    def complaints(self) -> list[str]:
        return [fact.detail for fact in self.observer.of(StoreDegraded)]

    def replica(self, pid: str = PID) -> Replica:
        return Replica(lambda: self.store, self.clock, pid)

    def statements(self) -> list[str]:
        """What is said to the file from now on."""
        statements: list[str] = []

        def trace(statement: str) -> None:
            if not statement.startswith("--"):  # else a part of the statement before
                statements.append(statement)

        self.connection.set_trace_callback(trace)
        return statements

    def delete(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    @contextlib.contextmanager
    def other(self) -> Generator[sqlite3.Connection]:
        """A connection of somebody else."""
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            yield connection


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "store.db")
    yield bench
    bench.store.close()


def bulky() -> Snapshot:
    return snapshot_of(item_of({"name": "t", "x": os.urandom(200_000).hex()}))


async def test_a_full_disk_loses_nothing_and_is_over_when_there_is_space_again(
    bench: Bench,
) -> None:
    replica = bench.replica()
    await replica.walk(V0)
    (pages,) = bench.connection.execute("PRAGMA page_count").fetchone()
    bench.connection.execute(f"PRAGMA max_page_count = {pages}")
    ticket = await replica.begin(force=True)
    with pytest.raises(StoreUnreachable, match="the disk is full") as raised:
        await replica.publish(ticket, bulky())
    assert raised.value.remedy == "free some space"
    view = await replica.look()
    assert (view.gen, view.digest, view.lease_left) == (replica.gen, V0.digest, 20.0)
    answer = await replica.publish(ticket, V1)
    assert (answer.verdict, answer.view.gen) == ("done", replica.gen + 1)


async def test_an_outage_is_told_once_and_a_second_one_again(bench: Bench) -> None:
    replica = bench.replica()
    await replica.walk(V0)
    for outage in (1, 2):
        with bench.other() as other:
            other.execute("BEGIN IMMEDIATE")
            for _ in range(3):
                with pytest.raises(StoreUnreachable, match="locked by another process"):
                    await replica.invalidate()
        assert len(bench.complaints) == outage
        assert "stay as they are" in bench.complaints[-1]
        assert (await replica.invalidate()).needs_walk


async def test_looking_works_while_another_process_holds_the_file(bench: Bench) -> None:
    replica = bench.replica()
    await replica.walk(V0)
    with bench.other() as other:
        other.execute("BEGIN IMMEDIATE")
        assert (await replica.look()).digest == V0.digest
        assert (await bench.store.read_note("k")) is None
        with pytest.raises(StoreUnreachable):
            await bench.store.write_note("k", b"v")
    assert len(bench.complaints) == 1


@both_loops
async def test_the_event_loop_goes_on_while_an_operation_waits_for_a_lock(
    tmp_path: Path,
) -> None:
    """The lock is released by the loop itself, which a blocked loop could not do."""
    bench = Bench(tmp_path / "store.db")
    bench.file._busy_timeout = 60
    bench.file.close()
    replica = bench.replica()
    await replica.look()
    with bench.other() as other, anyio.fail_after(5):
        other.execute("BEGIN IMMEDIATE")
        async with anyio.create_task_group() as group:
            group.start_soon(replica.invalidate)
            await anyio.wait_all_tasks_blocked()
            other.execute("ROLLBACK")
    assert bench.complaints == []
    bench.store.close()


async def test_a_cancelled_operation_leaves_the_store_usable(tmp_path: Path) -> None:
    """Asyncio cancels without asking: the thread goes on, and the next operation waits for it."""
    bench = Bench(tmp_path / "store.db")
    bench.file._busy_timeout = 60
    bench.file.close()
    replica = bench.replica()
    before = await replica.walk(V0)
    with bench.other() as other, anyio.fail_after(5):
        other.execute("BEGIN IMMEDIATE")
        task = asyncio.ensure_future(replica.invalidate())
        await anyio.wait_all_tasks_blocked()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        following = asyncio.ensure_future(replica.invalidate())
        await anyio.wait_all_tasks_blocked()
        other.execute("ROLLBACK")
        view = await following
    assert view.epoch == before.epoch + 1, "both ran, and one bump covers both"
    assert bench.complaints == []
    bench.store.close()


def test_the_file_is_held_as_long_as_an_operation_runs(bench: Bench) -> None:
    """By the thread that runs it, whoever waits for that thread or gave up waiting."""
    taken: list[bool] = []

    def look(record: Record | None, clock: StoreClock) -> Decision:
        taken.append(bench.file._turn.acquire(blocking=False))
        return operations.look(record, Caller(), clock)

    bench.file.decide(PID, Operation(look, Caller()), bench.clock.now().wall)
    assert taken == [False]
    assert bench.file._turn.acquire(blocking=False)
    bench.file._turn.release()


async def test_operations_are_carried_out_in_the_order_in_which_they_were_asked_for(
    bench: Bench,
) -> None:
    order: list[int] = []

    async def note(number: int) -> None:
        await bench.store.write_note("k", bytes([number]))
        order.append(number)

    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(note, number)
    assert order == list(range(50))
    assert await bench.store.read_note("k") == bytes([49])


async def test_a_deleted_file_is_another_memory(bench: Bench) -> None:
    replica = bench.replica()
    await replica.walk(V0)
    bench.delete()
    view = await replica.look()
    assert view.inc != replica.inc
    assert not view.has_snapshot
    replica.hold(view)
    assert (await replica.walk(V1)).gen > view.gen
    assert bench.path.exists()
    assert bench.complaints == []


def damage(bench: Bench) -> None:
    """Overwrite the tables, as a broken disk might; the connection has to read them anew."""
    bench.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(bench.path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    bench.path.write_bytes(content)
    bench.connection.execute("PRAGMA shrink_memory")


def upgrade(bench: Bench) -> None:
    with bench.other() as other:
        other.execute(f"PRAGMA user_version = {sqlite_schema.SCHEMA_VERSION + 1}")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def forget_who(bench: Bench) -> None:
    with bench.other() as other:
        other.execute("DELETE FROM memory")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.mark.parametrize(
    ("happens", "words"),
    [(damage, "is damaged"), (upgrade, "newer toolcrib"), (forget_who, "is damaged")],
)
async def test_a_file_that_will_never_serve_again_is_left_for_memory(
    happens: Callable[[Bench], None], words: str, bench: Bench
) -> None:
    """To its replicas that is a loss of memory; bus and notes go on as well."""
    hints: list[str | None] = []
    replica = bench.replica()
    await replica.walk(V0)
    happens(bench)
    content = content_of(bench.path)
    bench.store.bus.subscribe(hints.append)
    view = await replica.look()
    assert view.inc != replica.inc
    assert not view.has_snapshot
    replica.hold(view)
    assert (await replica.walk(V1)).gen > view.gen
    assert hints == [PID]
    await bench.store.write_note("k", b"v")
    assert await bench.store.read_note("k") == b"v"
    await bench.store.bus.publish(PID)
    await bench.store.bus.poll()
    assert hints == [PID, PID]
    (complaint,) = bench.complaints
    assert words in complaint
    assert "in memory, alone" in complaint
    assert content_of(bench.path) == content
    assert bench.file._connection is None, "the file is let go of"


async def test_a_file_is_given_up_once_however_many_find_out_at_the_same_time(
    bench: Bench,
) -> None:
    views: list[str] = []

    async def look() -> None:
        views.append((await bench.replica().look()).inc)

    await bench.replica().walk(V0)
    upgrade(bench)
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(look)
    assert len(set(views)) == 1
    assert len(bench.complaints) == 1


async def test_nothing_at_all_is_written_into_a_newer_file(bench: Bench) -> None:
    """Neither a note nor a hint, although no record is read for them."""
    upgrade(bench)
    content = content_of(bench.path)
    await bench.store.bus.publish(PID)
    await bench.store.write_note("k", b"w")
    assert await bench.store.read_note("k") == b"w"
    assert len(bench.complaints) == 1
    assert content_of(bench.path) == content


def content_of(path: Path) -> bytes:
    return path.read_bytes()


NO_SNAPSHOT = b"j{}"
"""A body that is whole and says nothing."""


@pytest.mark.parametrize(
    "spoil",
    [
        f"UPDATE records SET body_mark = x'{blake2b(NO_SNAPSHOT, digest_size=16).hexdigest()}'",  # noqa: S608
        "UPDATE bodies SET body = x'6a7b7d'",
        "UPDATE bodies SET body = substr(body, 1, length(body) - 1)",
        "UPDATE bodies SET body = x''",
        "DELETE FROM bodies",
        "UPDATE records SET body_mark = x'00'",
        "UPDATE records SET digest = 'another'",
    ],
)
async def test_a_body_that_cannot_be_read_costs_one_catalog_its_memory(
    spoil: str, bench: Bench
) -> None:
    """One bad apple: a new incarnation of this catalog, found by whoever needs the body."""
    holder, other = bench.replica(), bench.replica("f" * 32)
    await holder.walk(V0)
    with bench.other() as connection:
        if "body_mark" in spoil:
            connection.execute("UPDATE bodies SET body = ?", (NO_SNAPSHOT,))
        connection.execute(spoil)
    await other.walk(V1)
    bench.clock.advance(1)
    view = await bench.replica().look()
    assert (view.has_snapshot, view.needs_walk) == (False, True)
    assert view.inc != holder.inc
    assert (await holder.look()).inc == view.inc, "for everybody"
    assert (await other.look()).inc == other.inc, "and for no other catalog"
    assert (await holder.walk(V1)).gen > view.gen
    newcomer = await bench.replica().look()
    assert newcomer.body is not None
    (complaint,) = bench.complaints
    assert "holds a catalog that cannot be read" in complaint


async def test_an_operation_that_needs_a_spoilt_body_is_carried_out_anew(bench: Bench) -> None:
    """BEGIN by a newcomer: the ticket is one of the new incarnation, and publishes."""
    await bench.replica().walk(V0)
    with bench.other() as connection:
        connection.execute("DELETE FROM bodies")
    newcomer = bench.replica()
    answer = await newcomer.publish(await newcomer.begin(force=True), V1)
    assert (answer.verdict, answer.view.digest) == ("done", V1.digest)


def test_an_operation_that_breaks_gives_the_lock_back(bench: Bench) -> None:
    """Whatever it was; the next one finds the file as it was before."""

    def broken(_record: Record | None, _clock: StoreClock) -> Decision:
        raise ZeroDivisionError

    now = bench.clock.now().wall
    with pytest.raises(ZeroDivisionError):
        bench.file.decide(PID, Operation(broken, Caller()), now)
    with bench.other() as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    bench.file.write_note("k", b"v", now)
    assert bench.file.read_note("k", now) == b"v"


async def test_a_catalog_that_cannot_be_encoded_is_not_published_and_says_so(
    bench: Bench,
) -> None:
    replica = bench.replica()
    await replica.walk(V0)
    odd = Snapshot(Kind.TOOLS, (Item("t", {"name": "t", "x": 10**5000}, "f", "c"),), "d")
    ticket = await replica.begin(force=True)
    with pytest.raises(StoreUnreachable, match="this catalog cannot be stored"):
        await replica.publish(ticket, odd)
    assert (await replica.look()).digest == V0.digest
    assert bench.complaints == [], "the store itself is well"


async def test_looking_is_one_statement_that_reads(bench: Bench) -> None:
    """Held or not, fresh or stale; the body comes with it."""
    replica = bench.replica()
    await replica.walk(V0)
    statements = bench.statements()
    for caller in (replica.caller, Caller()):
        for _ in range(2):
            await bench.store.look(PID, caller)
            bench.clock.advance(TTL)
    assert len(statements) == 4
    assert all(one.strip().startswith("SELECT") for one in statements)


async def test_an_operation_that_changes_nothing_writes_nothing(bench: Bench) -> None:
    replica = bench.replica()
    await replica.walk(V0)
    statements = bench.statements()
    assert (await replica.ask()).verdict == "refused_fresh"
    assert [one.split()[0] for one in statements] == ["BEGIN", "SELECT", "COMMIT"]


async def test_a_page_of_a_walk_rewrites_one_small_row(bench: Bench) -> None:
    replica = bench.replica()
    await replica.walk(V0)
    ticket = await replica.begin(force=True)
    statements = bench.statements()
    await replica.renew(ticket)
    assert [one.split()[0] for one in statements] == ["BEGIN", "SELECT", "INSERT", "COMMIT"]
    assert "INTO records" in statements[2]


async def test_a_walk_that_found_nothing_new_does_not_rewrite_the_body(bench: Bench) -> None:
    replica = bench.replica()
    await replica.walk(V0)
    ticket = await replica.begin(force=True)
    statements = bench.statements()
    await replica.publish(ticket, V0)
    assert not [one for one in statements if "bodies VALUES" in one]
    ticket = await replica.begin(force=True)
    await replica.publish(ticket, V1)
    assert len([one for one in statements if "bodies VALUES" in one]) == 1


async def test_a_closed_store_opens_again_when_it_is_asked(bench: Bench) -> None:
    replica = bench.replica()
    await replica.walk(V0)
    bench.store.close()
    bench.store.close()
    assert (await replica.look()).digest == V0.digest


def test_a_listing_looks_into_the_file_inside_the_request(bench: Bench) -> None:
    assert bench.store.remote
