"""Several processes on one store file: nothing is lost or torn, and who dies takes no one along."""

import contextlib
import itertools
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import toolcrib
from toolcrib.adapters.sqlite.store import SqliteStore, open_store
from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.adapters.system_clock import SystemClock
from toolcrib.core.freshness.record import LEASE, Caller, Published, View
from toolcrib.facts import StoreDegraded
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.store_rig import PID, SteppedClock, listing

WORKER = Path(__file__).with_name("store_worker.py")
SOURCE = Path(toolcrib.__file__).resolve().parents[1]


class Worker:
    """A process at work on a file."""

    def __init__(self, role: str, path: Path, *arguments: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER), role, str(path), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": str(SOURCE)},
        )

    def hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the worker ended with {self._process.wait()}"
        return json.loads(line)

    def start(self) -> None:
        """Let one begin that waits for it."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def kill(self) -> list[dict[str, Any]]:
        """Kill it without a chance to clean up; what it said and nobody heard yet."""
        self._process.kill()
        rest, _ = self._process.communicate()
        return [json.loads(line) for line in rest.splitlines() if line.endswith("}")]

    def finish(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def worker() -> Iterator[type[Worker]]:
    workers: list[Worker] = []

    class Started(Worker):
        def __init__(self, role: str, path: Path, *arguments: object) -> None:
            super().__init__(role, path, *arguments)
            workers.append(self)

    yield Started
    for started in workers:
        started.kill()


async def look_at(path: Path) -> View:
    """What a process that starts now sees."""
    recorder = Recorder()
    store = open_store(path, SystemClock(), recorder)
    assert isinstance(store, SqliteStore), recorder.facts
    view = (await store.look(PID, Caller())).view
    store.close()
    return view


@pytest.mark.timeout(100)
def test_processes_that_hammer_one_file_lose_no_update(path: Path, worker: type[Worker]) -> None:
    """They also start together on a file that is not there yet."""
    workers = [worker("hammer", path, 200, seed) for seed in range(4)]
    accounts = [one.hear() for one in workers]
    for one in workers:
        one.finish()

    fences = [account["fences"] for account in accounts]
    granted = [fence for mine in fences for fence in mine]
    assert all(mine == sorted(set(mine)) for mine in fences), "fences only grow"
    assert len(granted) == len(set(granted)), "no fence is granted twice"
    assert len(granted) > 50
    with contextlib.closing(sqlite3.connect(path)) as connection:
        fence, rev = connection.execute("SELECT fence, rev FROM records").fetchone()
    revoked = sum(account["revoked"] for account in accounts)
    assert rev == revoked
    assert fence == 1 + len(granted) + revoked, "every grant and every revocation was counted"

    contents: dict[tuple[str, int], set[str]] = {}
    for inc, gen, digest in itertools.chain(*(account["seen"] for account in accounts)):
        contents.setdefault((inc, gen), set()).add(digest)
    assert all(len(digests) == 1 for digests in contents.values()), "one number, one content"
    assert len({inc for inc, _ in contents}) == 1, "all of them are on one memory"
    for account in accounts:
        gens = [gen for _, gen, _ in account["seen"]]
        assert gens == sorted(gens), "nobody sees a generation go back"
        assert account["torn"] == 0, "a body is the one its record speaks of"


@pytest.mark.timeout(100)
async def test_of_processes_that_add_or_take_at_once_one_succeeds(
    path: Path, worker: type[Worker]
) -> None:
    """Each key, whoever is first; and all of them are had."""
    count = 300
    store = open_store(path, SystemClock(), Recorder())
    there = {str(number): b"v" for number in range(count)}
    await store.entries.put("race", "taken", there, lifetime=600, most=10_000)
    racers = [worker("race", path, count) for _ in range(2)]
    for racer in racers:
        assert racer.hear() == {"ready": True}
    for racer in racers:
        racer.start()
    accounts = [racer.hear() for racer in racers]
    for what in ("added", "taken"):
        had = [number for account in accounts for number in account[what]]
        assert sorted(had) == list(range(count)), what
    assert await store.entries.entries("race", "taken") == {}
    assert len(await store.entries.entries("race", "added")) == count
    store.close()


@pytest.mark.timeout(100)
def test_a_writer_that_is_killed_leaves_a_whole_store(path: Path, worker: type[Worker]) -> None:
    """At whatever point it was; what it had told is there."""
    last: dict[str, Any] = {"gen": 0}
    for told in (1, 2, 3, 5, 8):
        writer = worker("write", path)
        for _ in range(told):
            last = writer.hear()
        last = [last, *writer.kill()][-1]
        view = anyio.run(look_at, path)
        assert view.inc == last["inc"]
        assert view.gen in {last["gen"], last["gen"] + 1}, "it may have died before it could tell"
        assert view.body is not None
        assert len(view.body.snapshot) == 100
        if view.gen == last["gen"]:
            assert view.digest == last["digest"]
        with contextlib.closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            connection.execute("UPDATE records SET lease_until = 0")
            connection.commit()


async def test_a_transaction_that_dies_with_its_process_never_happened(
    path: Path, worker: type[Worker]
) -> None:
    """Looking does not wait for the one who writes, and sees what was before."""
    store = open_store(path, SystemClock(), Recorder())
    writer = worker("stop", path)
    published = writer.hear()
    assert writer.hear() == {"stopped": True}
    during = (await store.look(PID, Caller())).view
    writer.kill()
    after = (await store.look(PID, Caller())).view
    answer = await store.invalidate(PID, Caller())
    store.close()
    for view in (during, after, answer.view):
        assert (view.gen, view.digest) == (published["gen"], published["digest"])
        assert view.body is not None


async def test_a_process_that_read_the_clock_first_and_came_second_waits_like_the_others(
    path: Path,
) -> None:
    """The time of an operation is read before its turn comes: here, a second before."""
    late, early = SteppedClock(1_800_000_001.0), SteppedClock(1_800_000_000.0)
    first, second = (open_store(path, clock, Recorder()) for clock in (late, early))
    granted = await first.begin(PID, Caller())
    answer = await second.begin(PID, Caller())
    assert (answer.verdict, answer.view.lease_left) == ("refused_lease", LEASE)
    assert granted.ticket is not None
    await first.publish(PID, Caller(), granted.ticket, published_at(late))
    view = (await second.look(PID, Caller())).view
    assert (view.age, view.needs_walk) == (0.0, False)
    assert (await second.begin(PID, Caller())).verdict == "refused_fresh"
    early.jump(-60)
    view = (await second.look(PID, Caller())).view
    assert (view.age, view.needs_walk) == (-61.0, True), "set back further than anybody waits"
    first.close()
    second.close()


def published_at(clock: SteppedClock) -> Published:
    now = clock.now().wall
    return Published(listing("v0"), now, now + 60)


async def test_a_new_process_has_the_catalog_at_once(path: Path, worker: type[Worker]) -> None:
    writer = worker("write", path)
    writer.hear()
    writer.kill()
    view = await look_at(path)
    assert view.body is not None
    assert view.body.snapshot.get("tool_0") is not None
    assert view.age is not None


async def test_a_file_that_another_process_holds_means_memory(
    path: Path, worker: type[Worker]
) -> None:
    await look_at(path)
    holder = worker("lock", path)
    assert holder.hear() == {"locked": True}
    recorder = Recorder()
    store = open_store(path, SystemClock(), recorder, busy_timeout=0.05)
    assert isinstance(store, MemoryStore)
    (fact,) = recorder.of(StoreDegraded)
    assert "locked by another process" in fact.detail
    holder.kill()
    assert await look_at(path), "a lock dies with its process"
