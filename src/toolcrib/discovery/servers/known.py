"""What is remembered of servers that are on demand, for those who look for one.

Such a server is not connected when it is looked for, so what it said of itself and which tools it
had are kept when it last was: per principal, like its catalog.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from toolcrib.calls.call import Requester
from toolcrib.calls.ledger.account import Patience
from toolcrib.calls.ledger.owners import Owners
from toolcrib.core.jsontypes import is_array, is_integer
from toolcrib.core.partition import Principal
from toolcrib.ports import Clock, EntryStore, Keys

KEPT: Final = 180 * 86_400.0
"""Seconds for which is remembered what a server was like that nobody connects to any more."""
LOOK_AGAIN: Final = 60.0
"""Seconds after which the store is asked again what other processes learned."""
INSTRUCTIONS: Final = 1_000
"""Characters of what a server says of itself that are remembered."""
NAMES: Final = 8_000
"""Characters of names of tools that are remembered, all together."""
_MOST: Final = 1_000
_SPACE: Final = "servers.known"


@dataclass(frozen=True, slots=True)
class Known:
    """A server as it was when it was last connected."""

    instructions: str = ""
    tools: int = 0
    names: tuple[str, ...] = ()
    """Of its tools, as many as are remembered."""

    @classmethod
    def of(cls, instructions: str, names: Iterable[str]) -> "Known":
        """As much of it as is remembered."""
        every = tuple(names)
        kept: list[str] = []
        room = NAMES
        for name in every:
            room -= len(name)
            if room < 0:
                break
            kept.append(name)
        return cls(instructions[:INSTRUCTIONS], len(every), tuple(kept))


NOTHING: Final = Known()


class KnownServers:
    """Remembers servers for one principal; a store that cannot be used costs only memory.

    Args:
        entries: Shared with other processes.
        keys: From which the names of owners are made.
        clock: Says when the store is asked again.
        principal: Whose catalogs they are.
        launch: The keyed digest of how a server is launched now, by its id: what is launched
            otherwise is another server.
    """

    def __init__(
        self,
        entries: EntryStore,
        *,
        keys: Keys,
        clock: Clock,
        principal: Principal,
        launch: Callable[[str], str],
    ) -> None:
        self._entries = entries
        self._owner = Owners(keys, "known servers").principal(Requester(principal))
        self._clock = clock
        self._launch = launch
        self._patience = Patience(clock)
        self._held: dict[str, Known] = {}
        """By the key in the store."""
        self._looked = float("-inf")

    def get(self, server: str) -> Known | None:
        """What is remembered of a server; None: it was never connected, or that is long ago."""
        return self._held.get(self._key(server))

    async def look(self) -> None:
        """Take in what other processes learned."""
        if self._clock.now().mono < self._looked + LOOK_AGAIN:
            return
        if await self._patience.ask(self._load):
            self._looked = self._clock.now().mono

    async def learn(self, server: str, known: Known | None) -> None:
        """A server is like this now; None: what it shows is not to be seen any more."""
        key = self._key(server)
        if known is None:
            self._held.pop(key, None)
            await self._patience.ask(partial(self._drop, key))
        elif self._held.get(key) != known:
            self._held[key] = known
            await self._patience.ask(partial(self._keep, key, known))

    def _key(self, server: str) -> str:
        return json.dumps([server, self._launch(server)])

    async def _load(self) -> None:
        rows = await self._entries.entries(_SPACE, self._owner)
        found = {key: known for key, row in rows.items() if (known := _read(row)) is not None}
        self._held = {**self._held, **found}

    async def _keep(self, key: str, known: Known) -> None:
        row = json.dumps([known.instructions, known.tools, known.names]).encode()
        await self._entries.put(_SPACE, self._owner, {key: row}, lifetime=KEPT, most=_MOST)

    async def _drop(self, key: str) -> None:
        await self._entries.drop(_SPACE, self._owner, key)


def _read(row: bytes) -> Known | None:
    """A server as it was kept; None for what another version wrote."""
    try:
        parts: Any = json.loads(row)
    except (ValueError, RecursionError):
        return None
    match parts:
        case [str(instructions), tools, names] if is_integer(tools) and is_array(names):
            return Known(instructions, int(tools), tuple(map(str, names)))
        case _:
            return None
