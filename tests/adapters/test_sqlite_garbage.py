"""A store file into which somebody else wrote, or which somebody cut: nothing of it ends us."""

# pyright: reportPrivateUsage=false
# What a disk does to a connection is done to the connection here.

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib.adapters.sqlite.file import RecordFile
from toolcrib.adapters.sqlite.rows import COLUMNS
from toolcrib.adapters.sqlite.store import SqliteStore, open_store
from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.adapters.store.records import Operation
from toolcrib.core.freshness.record import Caller, Decision, Published, Record, StoreClock
from toolcrib.errors import StoreUnreachable
from toolcrib.facts import StoreDegraded
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.store_contract import Replica, SteppedClock
from toolcrib.testing.store_rig import PID, listing

V0, V1 = listing("v0"), listing("v1")
OTHER = "f" * 32
NOT_UTF8 = "CAST(x'ff00fe' AS TEXT)"


class Shared:
    """One store, and the hand of somebody else in its file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = SteppedClock()
        self.observer = Recorder()
        self.file = RecordFile(path, busy_timeout=0.0, keep_days=30)
        self.file.open(self.clock.now().wall)
        self.store = SqliteStore(self.file, self.clock, self.observer)

    @property
    def complaints(self) -> list[str]:
        return [fact.detail for fact in self.observer.of(StoreDegraded)]

    def replica(self, pid: str = PID) -> Replica:
        return Replica(lambda: self.store, self.clock, pid)

    def write(self, statement: str, *values: object) -> None:
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute(statement, values)


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Shared]:
    shared = Shared(tmp_path / "store.db")
    yield shared
    shared.store.close()


NEEDED = [
    *(("server", value) for value in ("x'00'", NOT_UTF8)),
    ("inc", "x'00'"),
    *(
        (column, value)
        for column in ("gen", "floor", "epoch", "fence", "rev", "withdrawn", "dirty")
        for value in ("'x'", "x'78'", "-1", "1.5", "9e999", "9223372036854775807")
    ),
    *((column, value) for column in ("snap_epoch", "walk_epoch") for value in ("'x'", "-1", "0.5")),
    *(
        (column, value)
        for column in ("lease_until", "touched_at", "read_at", "expires_at", "ttl")
        for value in ("'x'", "x'78'", "9e999", "-9e999")
    ),
    *((column, "NULL") for column in ("kind", "ttl", "pages", "read_at", "expires_at")),
    *(("kind", value) for value in ("'zzz'", "x'78'", "5", NOT_UTF8)),
    *(("pages", value) for value in ("'x'", "-1", "0.5")),
    ("ttl", "-1.0"),
    *(("digest", value) for value in ("x'78'", NOT_UTF8)),
    ("dirty_digest", "x'78'"),
    *(("body_mark", value) for value in ("'x'", "5")),
]


@pytest.mark.parametrize(("column", "value"), NEEDED)
async def test_a_row_that_cannot_be_used_costs_one_catalog_its_memory(
    column: str, value: str, shared: Shared
) -> None:
    """A new incarnation, for whoever asks first and whatever; told once; healed by one walk."""
    holder, other = shared.replica(), shared.replica(OTHER)
    await holder.walk(V0)
    await other.walk(V1)
    shared.write(f"UPDATE records SET {column} = {value} WHERE pid = '{PID}'")  # noqa: S608
    shared.clock.advance(1)
    view = await shared.replica().look()
    assert (view.has_snapshot, view.needs_walk) == (False, True)
    assert view.inc != holder.inc
    assert (await holder.look()).inc == view.inc, "for everybody"
    assert (await other.look()).inc == other.inc, "and for no other catalog"
    assert (await holder.walk(V1)).gen > view.gen
    newcomer = await shared.replica().look()
    assert newcomer.body is not None
    if (column, value) != ("server", NOT_UTF8):  # any other text is the name of another memory
        (complaint,) = shared.complaints
        assert "holds a catalog that cannot be read" in complaint


@pytest.mark.parametrize("value", ["'x'", "5", "NULL", "x'78'"])
async def test_columns_of_a_snapshot_mean_nothing_without_one(value: str, shared: Shared) -> None:
    replica = shared.replica()
    await replica.begin(force=True)
    before = await replica.look()
    for column in ("kind", "ttl", "pages", "read_at", "expires_at"):
        shared.write(f"UPDATE records SET {column} = {value}")  # noqa: S608
    assert await replica.look() == before
    assert shared.complaints == []


async def test_a_withdrawal_outlives_the_damage_beside_it(shared: Shared) -> None:
    replica = shared.replica()
    await replica.walk(V0)
    await shared.store.revoke(PID, replica.caller)
    shared.write("UPDATE records SET fence = 'x'")
    view = await shared.replica().look()
    assert view.withdrawn
    assert view.rev == 1


async def test_a_body_of_another_type_counts_as_unreadable(shared: Shared) -> None:
    await shared.replica().walk(V0)
    shared.write("UPDATE bodies SET body = 'text'")
    assert not (await shared.replica().look()).has_snapshot
    assert len(shared.complaints) == 1


@pytest.mark.parametrize("value", ["'text'", "5", "1.5", NOT_UTF8])
async def test_a_note_of_another_type_is_none(value: str, shared: Shared) -> None:
    await shared.store.write_note("k", b"v")
    shared.write(f"UPDATE notes SET value = {value}")  # noqa: S608
    assert await shared.store.read_note("k") is None


async def test_a_hint_that_names_no_catalog_may_mean_any(shared: Shared) -> None:
    heard: list[str | None] = []
    shared.store.bus.subscribe(heard.append)
    shared.write("INSERT INTO hints VALUES (x'00', 99, 0)")
    await shared.store.bus.poll()
    assert heard == [None]


async def test_a_file_that_does_not_say_who_it_is_is_left_for_memory(shared: Shared) -> None:
    await shared.replica().walk(V0)
    shared.write("UPDATE memory SET server = x'00'")
    assert not (await shared.replica().look()).has_snapshot
    (complaint,) = shared.complaints
    assert "in memory, alone" in complaint


SQL_VALUES = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    | st.binary(max_size=5)
    | st.sampled_from(["tools", "prompts"])
)


@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.dictionaries(st.sampled_from(COLUMNS), SQL_VALUES, min_size=1))
async def test_no_row_whatever_it_holds_breaks_an_operation(
    tmp_path: Path, columns: dict[str, object]
) -> None:
    shared = Shared(tmp_path / os.urandom(8).hex())
    try:
        replica = shared.replica()
        await replica.walk(V0)
        assigned = ", ".join(f"{name} = ?" for name in columns)
        with contextlib.suppress(sqlite3.IntegrityError):  # NOT NULL
            shared.write(f"UPDATE records SET {assigned}", *columns.values())  # noqa: S608
        newcomer = shared.replica()
        await newcomer.invalidate()
        view = await newcomer.look()
        if view.withdrawn:
            return
        shared.clock.advance(60)
        ticket = await newcomer.begin(force=True)
        await newcomer.publish(ticket, V1)
        assert (await shared.replica().look()).digest == V1.digest
    finally:
        shared.store.close()


async def test_what_nobody_foresaw_is_an_outage_and_told_once(shared: Shared) -> None:
    def broken(_record: Record | None, _clock: StoreClock) -> Decision:
        raise ZeroDivisionError("x" * 10_000)

    for _ in range(2):
        with pytest.raises(StoreUnreachable, match="ZeroDivisionError") as raised:
            await shared.store.decide(PID, Operation(broken, Caller()))
        assert len(raised.value.message) < 500
    assert len(shared.complaints) == 1
    assert (await shared.replica().walk(V0)).gen


def test_a_path_that_is_none_is_no_reason_not_to_start(tmp_path: Path) -> None:
    observer = Recorder()
    store = open_store(tmp_path / "a\0b", SteppedClock(), observer)
    assert isinstance(store, MemoryStore)
    assert len(observer.of(StoreDegraded)) == 1


# --------------------------------------------------------------------------- the file itself


def emptied(shared: Shared) -> None:
    os.truncate(shared.path, 0)


def halved(shared: Shared) -> None:
    os.truncate(shared.path, shared.path.stat().st_size // 2)


def cut_in_a_page(shared: Shared) -> None:
    os.truncate(shared.path, 5_000)


def cut_in_the_head(shared: Shared) -> None:
    os.truncate(shared.path, 10)


def without_log(shared: Shared) -> None:
    Path(f"{shared.path}-wal").unlink()


def log_cut(shared: Shared) -> None:
    os.truncate(f"{shared.path}-wal", 100)


def removed(shared: Shared) -> None:
    shared.path.unlink()


def removed_with_its_directory(shared: Shared) -> None:
    shutil.rmtree(shared.path.parent)


def replaced_by_a_directory(shared: Shared) -> None:
    shared.path.unlink()
    shared.path.mkdir()


def replaced_by_text(shared: Shared) -> None:
    shared.path.unlink()
    shared.path.write_text("not a database, but long enough to be looked at as one\n" * 200)


def overwritten(shared: Shared) -> None:
    shared.path.write_bytes(os.urandom(50_000))


async def walk_through_a_loss(store: SqliteStore, pid: str) -> None:
    """Damage may show in mid-walk only; to the ticket that is the loss of the memory."""
    begun = await store.begin(pid, Caller(), force=True)
    if begun.ticket is not None:
        answer = await store.publish(pid, Caller(), begun.ticket, Published(V1, 0.0, 60.0))
        assert answer.verdict in {"done", "refused_fence"}


@pytest.mark.parametrize("checkpointed", [True, False], ids=["in the file", "in the log"])
@pytest.mark.parametrize(
    "happens",
    [
        *(emptied, halved, cut_in_a_page, cut_in_the_head, without_log, log_cut),
        *(removed, removed_with_its_directory, replaced_by_a_directory, replaced_by_text),
        overwritten,
    ],
)
async def test_whatever_happens_to_an_open_file_is_an_outage_or_a_lost_memory(
    happens: Callable[[Shared], None], *, checkpointed: bool, tmp_path: Path
) -> None:
    """Each operation answers or says that the store is unreachable, and nothing else."""
    (tmp_path / "d").mkdir()
    shared = Shared(tmp_path / "d" / "store.db")
    await shared.replica().walk(V0)
    connection = shared.file._connection
    assert connection is not None
    if checkpointed:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    happens(shared)
    connection.execute("PRAGMA shrink_memory")
    for _ in range(3):
        for pid in (PID, OTHER):
            with contextlib.suppress(StoreUnreachable):
                await shared.replica(pid).look()
            with contextlib.suppress(StoreUnreachable):
                await walk_through_a_loss(shared.store, pid)
        with contextlib.suppress(StoreUnreachable):
            await shared.store.write_note("k", b"v")
        with contextlib.suppress(StoreUnreachable):
            assert await shared.store.entries.add("s", "o", "k", b"v", lifetime=9, most=9)
        with contextlib.suppress(StoreUnreachable):
            assert await shared.store.entries.take("s", "o", "k") in {b"v", None}
        await shared.store.bus.poll()
        await shared.store.bus.publish(PID)
    assert len(shared.complaints) <= 2
    shared.store.close()
