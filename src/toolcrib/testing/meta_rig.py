"""The meta-tools of one principal over catalogs that a test sets by hand."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import anyio.lowlevel

from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.calls.call import Requester
from toolcrib.calls.ledger.ledger import Ledger
from toolcrib.calls.names import Names
from toolcrib.config.keys import InstallationKey
from toolcrib.core.naming import JOINT, Style, expose
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.hits import Found, Hit, Query
from toolcrib.discovery.meta.meta_tools import MetaTools
from toolcrib.discovery.meta.seams import ExtraTool, ProgramTool, Surroundings
from toolcrib.errors import BadArguments, NotAllowed
from toolcrib.settings import Limits
from toolcrib.testing.fake_access import FakeAccess
from toolcrib.testing.store_rig import SteppedClock

DEFAULTS: Final = Limits()


class FakeSearch:
    """Finds tools whose name or description holds words of the query, the most words first."""

    def __init__(self, access: FakeAccess, *, style: Style, limit: int) -> None:
        self.queries: list[Query] = []
        self.near: tuple[str, ...] = ()
        """What is said to look like a query that finds nothing."""
        self.notes: tuple[str, ...] = ()
        self.refuses: BadArguments | None = None
        """Raised by every search."""
        self._access = access
        self._style: Style = style
        self._limit = limit

    async def find(self, query: Query) -> Found:
        """The hits among what the test put."""
        self.queries.append(query)
        await anyio.lowlevel.checkpoint()
        if self.refuses is not None:
            raise self.refuses
        method = "lexical" if query.method == "auto" else query.method
        hits = sorted(self._hits(query), key=lambda hit: (-hit.score, hit.server, hit.item.key))
        near = () if hits else self.near
        return Found(tuple(hits[: query.limit]), method, near, self.notes, self._absent(query))

    def _absent(self, query: Query) -> tuple[str, ...]:
        asked = self._access.server_ids() if query.servers is None else query.servers
        there = [self._access.peek(it, Kind.TOOLS) for it in self._access.server_ids()]
        return tuple(it.server for it in there if it.snapshot is None and it.server in asked)

    def _hits(self, query: Query) -> list[Hit]:
        words = query.text.lower().replace("_", " ").split()
        hits: list[Hit] = []
        for server in self._access.server_ids():
            snapshot = self._access.peek(server, Kind.TOOLS).snapshot
            if snapshot is None or (query.servers is not None and server not in query.servers):
                continue
            for item in snapshot.items:
                text = f"{item.key} {item.definition.get('description', '')}".lower()
                score = float(sum(word in text for word in words))
                if score:
                    name = expose(server, item.key, style=self._style, limit=self._limit)
                    hits.append(Hit(server, item, name, score))
        return hits


class FakeEnabling:
    """Servers on demand, as a test lists them."""

    def __init__(self, access: FakeAccess) -> None:
        self.on_demand: set[str] = set()
        self.enabled: set[str] = set()
        self.others: set[str] = set()
        """Servers that only other callers can find, and that are not said to be on demand."""
        self.configured = False
        """Whether there is anything on demand although nothing is listed."""
        self._access = access

    @property
    def dynamic(self) -> bool:
        """Whether anything is on demand."""
        return self.configured or bool(self.on_demand)

    @property
    def unsure(self) -> str:
        """Nothing is missing."""
        return ""

    async def searchable(self, requester: Requester) -> Collection[str]:
        """Everything but what is on demand and not enabled."""
        del requester
        await anyio.lowlevel.checkpoint()
        out = (self.on_demand - self.enabled) | self.others
        return [server for server in self._access.server_ids() if server not in out]

    def listed(self) -> Collection[str]:
        """Everything that is not on demand."""
        return [server for server in self._access.server_ids() if server not in self.on_demand]

    async def to_enable(self, requester: Requester, name: str) -> Collection[str]:
        """Those whose id a name begins with."""
        del requester
        there = self.on_demand - self.enabled
        return [it for it in there if name.startswith(f"{it}{JOINT}")]

    async def need(self, requester: Requester, server: str) -> None:
        """Refuses what is not enabled."""
        del requester
        await anyio.lowlevel.checkpoint()
        if server in (self.on_demand - self.enabled) | self.others:
            raise NotAllowed(f"{server} is not enabled", server=server)

    def forget(self, requester: Requester) -> None:
        """Nothing is remembered of connections here."""


class FakeIntroduced:
    """What servers say of themselves, by id."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}

    def about(self, server: str) -> str:
        """The words that a test gave it."""
        return self.words.get(server, "")


class MetaRig:
    """Meta-tools with a real ledger and real names; everything else is set by hand.

    Args:
        catalogs: Definitions by server id.
        style: How names are exposed.
        limits: As configured.
    """

    def __init__(
        self,
        catalogs: Mapping[str, Sequence[Mapping[str, Any]]],
        *,
        style: Style = "qualified",
        limits: Limits = DEFAULTS,
    ) -> None:
        self.access = FakeAccess()
        for server, definitions in catalogs.items():
            self.access.put(server, Kind.TOOLS, definitions)
        self.style: Style = style
        self.limits = limits
        self.search = FakeSearch(self.access, style=style, limit=limits.name_length)
        self.enabling = FakeEnabling(self.access)
        self.introduced = FakeIntroduced()
        clock = SteppedClock()
        keys = InstallationKey(b"k" * 32)
        self.ledger = Ledger(MemoryEntries(clock), keys=keys, clock=clock, limits=limits)
        self.who = Requester()

    def tools(
        self, *, servers: Sequence[ExtraTool] = (), programs: Sequence[ProgramTool] = ()
    ) -> MetaTools:
        """The meta-tools over what is set now."""
        names = Names(self.access, self.ledger, style=self.style, limit=self.limits.name_length)
        around = Surroundings(
            search=self.search,
            introduced=self.introduced,
            enabling=self.enabling,
            access=self.access,
            naming=names,
            exposed=self._exposed,
            on_demand=lambda: self.enabling.on_demand,
            sights=self.ledger,
            limits=self.limits,
        )
        return MetaTools(around, servers=servers, programs=programs)

    async def ask(self, name: str, **arguments: Any) -> str:
        """The text that a meta-tool answers."""
        result = await self.tools().call(name, arguments, self.who)
        (block,) = result["content"]
        return block["text"]

    async def saw(self, server: str, key: str) -> str | None:
        """The contract that the ledger holds of a tool."""
        return await self.ledger.contract(self.who, server, key)

    def _exposed(self, server: str, key: str) -> str:
        return expose(server, key, style=self.style, limit=self.limits.name_length)
