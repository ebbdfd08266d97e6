"""Which servers the callers of one principal enabled: in memory, and in the store.

An enabling belongs to the handle that a caller sends, or else to its principal as a whole. Callers
without an identity share a principal, so of those only handles can enable: what one of them enables
is nothing to the next. A handle that ends with its connection is remembered in this process alone.

The store has two spaces. `enabled` holds, per caller, a row for each server with the time of its
last use; rows expire. `enabled.callers` holds, per principal, which callers have such rows, and
bounds how many may.
"""

from collections import OrderedDict
from collections.abc import Iterable
from functools import partial
from typing import Final

import anyio

from toolcrib.calls.call import Requester
from toolcrib.calls.ledger.account import Patience
from toolcrib.calls.ledger.owners import Owners
from toolcrib.calls.ledger.store import Owner
from toolcrib.core.partition import ANONYMOUS
from toolcrib.errors import NotAllowed
from toolcrib.ports import Clock, EntryStore, Keys

LOOK_AGAIN: Final = 2.0
"""Seconds after which the store is asked again what other processes enabled for a caller."""
MOST_SERVERS: Final = 1_000
"""Servers that one caller may have enabled."""
_DAY: Final = 86_400.0
_SPACE, _CALLERS = "enabled", "enabled.callers"


class _Caller:
    """What one caller enabled."""

    def __init__(self, owner: Owner | None) -> None:
        self.owner = owner
        """Whose rows they are in the store; None: they are in memory alone."""
        self.used: dict[str, float] = {}
        """Seconds since the epoch of the last use, by server."""
        self.owed: dict[str, bool] = {}
        """What the store does not know yet: servers that were enabled (or not any more)."""
        self.looked = float("-inf")
        self.turn = anyio.Lock()


class EnabledSets:
    """The enabled servers of each caller of one principal.

    No method raises for a store that cannot be used: what was enabled then lives in this process,
    and is kept later.

    Args:
        entries: Shared with other processes.
        keys: From which the names of owners are made.
        clock: Its wall time says how long an enabling is good.
        lifetime: Seconds that one is good after its last use.
        callers: Handles of the principal that are remembered.
    """

    def __init__(
        self, entries: EntryStore, *, keys: Keys, clock: Clock, lifetime: float, callers: int
    ) -> None:
        self._entries = entries
        self._owners = Owners(keys, "enabled servers")
        self._clock = clock
        self._lifetime = lifetime
        self._renewed = min(_DAY, lifetime / 10)
        self._most = max(1, callers)
        self._patience = Patience(clock)
        self._callers: OrderedDict[tuple[str, bool], _Caller] = OrderedDict()
        """By handle, and whether it is one that other processes may meet."""

    async def of(self, requester: Requester, *, newest: bool = False) -> frozenset[str]:
        """What a caller enabled; what another process did is known within `LOOK_AGAIN` seconds.

        With `newest` the store is asked now.
        """
        caller = self._caller(requester)
        if caller is None:
            return frozenset()
        due = self._clock.now().mono >= caller.looked + LOOK_AGAIN
        if caller.owner is not None and (due or newest):
            async with caller.turn:
                await self._exchange(caller)
        return self._valid(caller)

    async def add(self, requester: Requester, servers: Iterable[str]) -> None:
        """A caller enabled servers.

        Raises:
            NotAllowed: Nothing tells this caller from others.
        """
        caller = self._caller(requester)
        if caller is None:
            raise NotAllowed(
                "servers cannot be enabled for callers without an identity, who share everything",
                remedy="send a handle (`_meta`: dev.toolcrib/handle), which tells callers apart",
            )
        async with caller.turn:
            now = self._clock.now().wall
            for server in servers:
                caller.used[server] = now
                caller.owed[server] = True
            await self._exchange(caller)

    async def drop(self, requester: Requester, server: str) -> bool:
        """A caller wants a server no more; whether it had it enabled."""
        if server not in await self.of(requester, newest=True):
            return False
        caller = self._caller(requester)
        if caller is not None:
            async with caller.turn:
                caller.used.pop(server, None)
                caller.owed[server] = False
                await self._exchange(caller)
        return True

    async def use(self, requester: Requester, server: str) -> bool:
        """A caller uses a server; whether it has it enabled. Its time begins anew."""
        enabled = server in await self.of(requester) or server in await self.of(
            requester, newest=True
        )
        caller = self._caller(requester)
        if not enabled or caller is None:
            return False
        if self._clock.now().wall - caller.used.get(server, 0.0) >= self._renewed:
            # Another process may have taken it back within the last seconds.
            if server not in await self.of(requester, newest=True):
                return False
            await self.add(requester, (server,))
        return True

    def forget(self, requester: Requester) -> None:
        """The connection ended behind a handle that is not durable."""
        if not requester.durable:
            self._callers.pop((requester.handle, False), None)

    @property
    def unsure(self) -> bool:
        """Whether others may have enabled something that is not known, as the store is away."""
        return self._patience.failing

    def everybody(self) -> frozenset[str]:
        """What any caller enabled that this process remembers."""
        return frozenset(
            server for caller in self._callers.values() for server in self._valid(caller)
        )

    def _valid(self, caller: _Caller) -> frozenset[str]:
        since = self._clock.now().wall - self._lifetime
        return frozenset(server for server, used in caller.used.items() if used > since)

    def _caller(self, requester: Requester) -> _Caller | None:
        anonymous = requester.principal == ANONYMOUS
        handle = requester.handle if requester.durable or anonymous else ""
        if anonymous and not handle:
            return None
        kept = requester.durable or not anonymous
        found = self._callers.get((handle, kept))
        if found is None:
            owner = self._owner(requester, handle) if kept else None
            found = self._callers[handle, kept] = _Caller(owner)
        self._callers.move_to_end((handle, kept))
        while len(self._callers) > self._most:
            self._callers.popitem(last=False)
        return found

    def _owner(self, requester: Requester, handle: str) -> Owner:
        one = Requester(requester.principal, handle)
        return Owner(self._owners.principal(one), self._owners.caller(one))

    # ---- the store ----

    async def _exchange(self, caller: _Caller) -> None:
        """Tell the store what it does not know, and take in what others told it."""
        if caller.owner is None:
            return
        if await self._patience.ask(partial(self._exchanged, caller, caller.owner)):
            caller.looked = self._clock.now().mono

    async def _exchanged(self, caller: _Caller, owner: Owner) -> None:
        rows = {
            server: repr(caller.used[server]).encode()
            for server, enabled in caller.owed.items()
            if enabled
        }
        if rows:
            await self._enrol(owner)
            most, lifetime = MOST_SERVERS, self._lifetime
            await self._entries.put(_SPACE, owner.caller, rows, lifetime=lifetime, most=most)
        for server in [server for server, enabled in caller.owed.items() if not enabled]:
            await self._entries.drop(_SPACE, owner.caller, server)
        caller.owed.clear()
        now = self._clock.now().wall
        kept = await self._entries.entries(_SPACE, owner.caller)
        caller.used = {server: min(now, _time_of(row)) for server, row in kept.items()}

    async def _enrol(self, owner: Owner) -> None:
        """Make room among the callers of the principal, and take this one in."""
        others = await self._entries.entries(_CALLERS, owner.principal)
        if owner.caller not in others:
            for gone in list(others)[: max(0, len(others) + 1 - self._most)]:
                await self._entries.drop(_SPACE, gone)
        row = {owner.caller: b""}
        await self._entries.put(
            _CALLERS, owner.principal, row, lifetime=self._lifetime, most=self._most
        )


def _time_of(row: bytes) -> float:
    """The time in a row; of what another version wrote, long ago."""
    try:
        return float(row)
    except ValueError:
        return 0.0
