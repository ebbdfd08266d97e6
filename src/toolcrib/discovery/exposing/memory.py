"""What was shown last to one principal: in memory, and in the store, where replicas meet it.

A store may serve several configurations of one principal, which are not to follow each other. So
there is a row for each, named after its servers; and as servers come and go, a configuration that
has none yet begins with what was shown of the one that it shares most servers with.
"""

import json
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any, Final, cast, get_args

import anyio

from toolcrib.calls.call import Requester
from toolcrib.calls.ledger.account import Patience
from toolcrib.calls.ledger.owners import Owners
from toolcrib.core.exposure import Shown
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.core.partition import Principal
from toolcrib.ports import Clock, EntryStore, Keys

SPACE: Final = "exposure"

KEPT: Final = 90 * 86_400.0
"""Seconds for which is remembered what a principal was shown who shows up no more."""

RENEWED: Final = 30 * 86_400.0
"""Seconds after which what is still true is written again."""

MOST: Final = 100
"""Configurations of one principal that are remembered."""


@dataclass(frozen=True, slots=True)
class _Row:
    """What is kept of one configuration."""

    shown: Shown
    at: float
    """When it was written, in seconds of the wall clock."""
    scope: str
    servers: frozenset[str]


class ExposureMemory:
    """Remembers the last exposure of one principal.

    It is written when it changes, and otherwise at most once a month. What another replica wrote
    last counts for all of them. A store that cannot be used leaves what is in memory, which is
    written as soon as it can be.

    Args:
        store: Shared with other replicas.
        keys: From which the names of owners and servers are made.
        principal: Whose it is.
        scope: Tells configurations apart that are never to follow each other.
        servers: What tells the servers of this configuration from all others, such as their launch
            digests; with at least half of them in common a new configuration follows another one.
        clock: Says when a row is old.
    """

    def __init__(
        self,
        store: EntryStore,
        *,
        keys: Keys,
        principal: Principal,
        scope: str,
        clock: Clock,
        servers: Collection[str] = (),
    ) -> None:
        owners = Owners(keys, SPACE)
        self._store = store
        self._owner = owners.principal(Requester(principal))
        self._scope = owners.digest("scope", scope)
        self._servers = frozenset(owners.digest("server", it) for it in servers)
        self._key = owners.digest("row", scope, sorted(self._servers))
        self._clock = clock
        self._patience = Patience(clock)
        self._turn = anyio.Lock()
        self._unsaved = False
        self.looked = False
        """Whether the store was asked once, or could not be."""
        self.shown: Shown | None = None
        """What was shown last; None: nothing is known."""

    async def look(self) -> None:
        """Take over what the store holds; what could not be written before is written first."""
        async with self._turn:
            await self._ask(self._write if self._unsaved else self._read)
            self.looked = True

    async def keep(self, shown: Shown) -> None:
        """Remember another exposure."""
        async with self._turn:
            self.shown = shown
            self._unsaved = True
            await self._ask(self._write)

    async def _ask(self, question: Callable[[], Awaitable[None]]) -> None:
        await self._patience.ask(question)

    async def _read(self) -> None:
        stored = await self._store.get(SPACE, self._owner, self._key)
        row = None if stored is None else _from(stored)
        if row is not None:
            self.shown = row.shown
            if not 0 <= self._clock.now().wall - row.at < RENEWED:
                await self._write()
            return
        if self.shown is None:
            self.shown = await self._kin()
        if self.shown is not None:
            # There was no row yet, or the store has lost its memory: this replica has not.
            await self._write()

    async def _kin(self) -> Shown | None:
        """What was shown of the configuration that has most servers in common with this one."""
        if not self._servers:
            return None
        kept = await self._store.entries(SPACE, self._owner)
        rows = [row for row in map(_from, kept.values()) if row is not None]
        kin = [row for row in rows if row.scope == self._scope and self._is_akin(row)]
        nearest = max(kin, key=lambda it: (len(it.servers & self._servers), it.at), default=None)
        return None if nearest is None else nearest.shown

    def _is_akin(self, row: _Row) -> bool:
        most = max(len(row.servers), len(self._servers))
        return 2 * len(row.servers & self._servers) >= most

    async def _write(self) -> None:
        row = {
            "shown": self.shown,
            "at": self._clock.now().wall,
            "scope": self._scope,
            "servers": sorted(self._servers),
        }
        kept = {self._key: json.dumps(row).encode()}
        await self._store.put(SPACE, self._owner, kept, lifetime=KEPT, most=MOST)
        self._unsaved = False


def _from(stored: bytes) -> _Row | None:
    """What a row says; None for what is damaged or of a newer release."""
    try:
        parsed: Any = json.loads(stored)
    except (ValueError, RecursionError):
        return None
    if not is_object(parsed) or parsed.get("shown") not in get_args(Shown):
        return None
    at, servers = parsed.get("at"), parsed.get("servers")
    return _Row(
        shown=cast("Shown", parsed["shown"]),
        at=at if isinstance(at, int | float) else 0.0,
        scope=str(parsed.get("scope")),
        servers=frozenset(map(str, servers)) if is_array(servers) else frozenset(),
    )
