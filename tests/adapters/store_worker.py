"""One process on a store file, for tests: started with a role and a path, it tells JSON lines.

hammer N SEED   N random operations as a replica would do them, then what it was granted and saw.
write           Publishes one catalog after the other and tells of each, until killed.
stop            Publishes, and stops for ever inside the transaction of its second publish.
race N          Adds and takes entries 0 to N-1 as fast as it can; then which of them it got.
lock            Holds the write lock until killed.
"""

import json
import random
import sqlite3
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from toolcrib.adapters.sqlite import decision as sqlite_decision
from toolcrib.adapters.sqlite.store import SqliteStore, open_store
from toolcrib.adapters.system_clock import SystemClock
from toolcrib.core.freshness.record import Answer, Caller, Published, Ticket
from toolcrib.core.snapshot import Snapshot
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.store_rig import PID, item_of, listing, snapshot_of


def tell(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)  # noqa: T201 - how a worker speaks


def opened(path: Path) -> SqliteStore:
    recorder = Recorder()
    store = open_store(path, SystemClock(), recorder, busy_timeout=30)
    if not isinstance(store, SqliteStore):
        sys.exit(repr(recorder.facts))
    return store


def bulky(number: int) -> Snapshot:
    """A catalog of some hundred kilobytes that do not compress away."""
    noise = random.Random(number)  # noqa: S311 - content, no secret
    return snapshot_of(
        *(item_of({"name": f"tool_{n}", "x": noise.randbytes(1000).hex()}) for n in range(100))
    )


class Hammer:
    """A replica that does what comes to its mind, and keeps account."""

    def __init__(self, store: SqliteStore, seed: int) -> None:
        self.store = store
        self.random = random.Random(seed)  # noqa: S311 - chooses test steps
        self.caller = Caller()
        self.tickets: list[Ticket] = []
        self.revoked = 0
        self.seen: list[tuple[str, int, str]] = []
        self.torn = 0

    async def step(self) -> None:
        match self.random.choice(("look", "invalidate", "walk", "walk", "walk", "fail", "revoke")):
            case "look":
                self.learn(await self.store.look(PID, self.caller))
            case "invalidate":
                self.learn(await self.store.invalidate(PID, self.caller))
            case "revoke":
                if self.random.random() < 0.2:
                    self.learn(await self.store.revoke(PID, self.caller))
                    self.revoked += 1
            case walk:
                await self.walk(fails=walk == "fail")

    async def walk(self, *, fails: bool) -> None:
        answer = await self.store.begin(PID, self.caller, force=True, regranted=True)
        self.learn(answer)
        if answer.ticket is None:
            return
        self.tickets.append(answer.ticket)
        self.learn(await self.store.renew(PID, self.caller, answer.ticket))
        if fails:
            self.learn(await self.store.release(PID, self.caller, answer.ticket))
            return
        state = f"v{self.random.randrange(5)}"
        now = SystemClock().now().wall
        candidate = Published(listing(state, state), now, now + 60)
        self.learn(await self.store.publish(PID, self.caller, answer.ticket, candidate))

    def learn(self, answer: Answer) -> None:
        view = answer.view
        if view.digest is None:
            self.caller = Caller(view.inc, self.caller.hi, 0)
            return
        self.seen.append((view.inc, view.gen, view.digest))
        if view.body is not None and view.body.snapshot.digest != view.digest:
            self.torn += 1
        self.caller = Caller(view.inc, view.gen, view.gen)


async def hammer(path: Path, operations: str, seed: str) -> None:
    store = opened(path)
    replica = Hammer(store, int(seed))
    for _ in range(int(operations)):
        await replica.step()
    store.close()
    tell(
        fences=[ticket.fence for ticket in replica.tickets],
        revoked=replica.revoked,
        seen=replica.seen,
        torn=replica.torn,
    )


async def publish(store: SqliteStore, snapshot: Snapshot) -> None:
    begun = await store.begin(PID, Caller(), force=True)
    if begun.ticket is None:
        sys.exit(begun.verdict)
    now = SystemClock().now().wall
    candidate = Published(snapshot, now, now + 60)
    answer = await store.publish(PID, Caller(), begun.ticket, candidate)
    tell(gen=answer.view.gen, digest=answer.view.digest, inc=answer.view.inc)


async def write(path: Path) -> None:
    store = opened(path)
    for number in range(10_000):
        await publish(store, bulky(number))


async def stop(path: Path) -> None:
    store = opened(path)
    await publish(store, bulky(1))
    leave_hint: Callable[..., None] = sqlite_decision.leave_hint

    def leave_hint_and_stop(connection: sqlite3.Connection, pid: str, now: float) -> None:
        leave_hint(connection, pid, now)
        if connection.execute("SELECT count(*) FROM bodies").fetchone() == (1,):
            tell(stopped=connection.in_transaction)
            sys.stdin.read()

    sqlite_decision.leave_hint = leave_hint_and_stop
    await publish(store, bulky(2))


async def race(path: Path, count: str) -> None:
    store = opened(path)
    tell(ready=True)
    sys.stdin.readline()
    added: list[int] = []
    taken: list[int] = []
    for number in range(int(count)):
        key, mine = str(number), b"%d" % id(store)
        if await store.entries.add("race", "added", key, mine, lifetime=600, most=10_000):
            added.append(number)
        if await store.entries.take("race", "taken", key) is not None:
            taken.append(number)
    store.close()
    tell(added=added, taken=taken)


async def lock(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    tell(locked=True)
    await anyio.sleep_forever()


ROLES: dict[str, Callable[..., Any]] = {
    "hammer": hammer,
    "write": write,
    "stop": stop,
    "race": race,
    "lock": lock,
}

if __name__ == "__main__":
    role, file, *rest = sys.argv[1:]
    anyio.run(partial(ROLES[role], Path(file), *rest))
