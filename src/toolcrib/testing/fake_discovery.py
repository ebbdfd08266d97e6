"""Meta-tools and servers on demand that a test sets by hand, and a decision over a real store."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.calls.call import Requester, Retry
from toolcrib.catalog.access import CatalogAccess
from toolcrib.config.keys import InstallationKey
from toolcrib.context.tokens import Costs
from toolcrib.core.exposure import Shown, Wanted
from toolcrib.core.naming import JOINT
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.crib import Crib
from toolcrib.discovery.exposing.exposing import Exposing
from toolcrib.discovery.exposing.memory import ExposureMemory
from toolcrib.discovery.seams import Inner
from toolcrib.errors import BadArguments, NotAllowed, ToolcribError
from toolcrib.gateway.discovering import GatewayDiscovery
from toolcrib.ports import Clock, EntryStore, Observer, Progress
from toolcrib.settings import ExposureSettings
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import tool
from toolcrib.testing.scripted_crib import ScriptedWorld
from toolcrib.testing.virtual_clock import LoopClock

META: Mapping[str, Mapping[str, Any]] = {
    name: tool(name) for name in ("search_tools", "get_tool_details", "call_tool")
}
"""Meta-tools by name, in the order in which they are listed."""

ENABLING: Mapping[str, Mapping[str, Any]] = {
    name: tool(name) for name in ("enable_server", "disable_server")
}
"""Those that are there where servers are on demand."""


class CharacterCounter:
    """Counts a token for each four characters, and how often it was asked."""

    name = "characters"
    exact = False

    def __init__(self) -> None:
        self.asked = 0

    def count(self, text: str) -> int:
        """The tokens of a text."""
        self.asked += 1
        return -(-len(text) // 4)


class FakeMetaTools:
    """A `MetaToolSet` that answers what a test says, and remembers what it was asked."""

    def __init__(self, *, dynamic: bool = False) -> None:
        self._dynamic = dynamic
        self.asked: list[tuple[str, Mapping[str, Any], Requester]] = []
        self.answer: dict[str, Any] | ToolcribError = {"content": []}
        """Answers every call; an error is raised."""

    def names(self) -> Collection[str]:
        """The names of all that may come to be shown."""
        return [*META, *(ENABLING if self._dynamic else ())]

    def definitions(self, exposure: Shown) -> tuple[Mapping[str, Any], ...]:
        """The definitions, those that enable servers last."""
        extra = ENABLING.values() if self._dynamic else ()
        return (*(() if exposure == "full" else META.values()), *extra)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        requester: Requester,
        retry: Retry | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Whatever `answer` is."""
        del retry, progress
        self.asked.append((name, arguments, requester))
        if isinstance(self.answer, ToolcribError):
            raise self.answer
        return self.answer

    def inner(self, arguments: Mapping[str, Any]) -> Inner:
        """The members `name` and `args`."""
        if not isinstance(arguments.get("name"), str):
            raise BadArguments("name must be a string")
        if arguments["name"] in self.names():
            raise BadArguments("a meta-tool is called directly")
        return Inner(arguments["name"], arguments.get("args"))


class FakeEnabling:
    """An `Enabling` over catalogs; a test says which servers are on demand, and enabled."""

    def __init__(self, access: CatalogAccess, on_demand: Collection[str] = ()) -> None:
        self._access = access
        self.on_demand = set(on_demand)
        self.enabled: set[str] = set()
        self.needed: list[str] = []
        self.opens: Callable[[], None] = lambda: None
        """Runs when it is asked what is searchable."""

    @property
    def dynamic(self) -> bool:
        """Whether any server is on demand."""
        return bool(self.on_demand)

    @property
    def unsure(self) -> str:
        """Nothing is missing."""
        return ""

    async def searchable(self, requester: Requester) -> Collection[str]:
        """Those that are listed or enabled."""
        del requester
        self.opens()
        return [it for it in self._access.server_ids() if it not in self.on_demand - self.enabled]

    def listed(self) -> Collection[str]:
        """Those that are not on demand."""
        return [it for it in self._access.server_ids() if it not in self.on_demand]

    async def to_enable(self, requester: Requester, name: str) -> Collection[str]:
        """Those whose id a name begins with."""
        del requester
        there = self.on_demand - self.enabled
        return [it for it in there if name.startswith(f"{it}{JOINT}")]

    async def need(self, requester: Requester, server: str) -> None:
        """Count it, or refuse one that is not enabled."""
        del requester
        if server in self.on_demand - self.enabled:
            raise NotAllowed(f"{server} is not enabled: enable_server first", server=server)
        self.needed.append(server)

    def forget(self, requester: Requester) -> None:
        """Nothing is remembered of connections here."""


@dataclass
class FakeDiscovery:
    """Makes what a gateway takes from discovery, over fakes, with the real decision."""

    wanted: Wanted = "search"
    settings: ExposureSettings = field(default_factory=ExposureSettings)
    on_demand: Collection[str] = ()
    meta: FakeMetaTools = field(init=False)
    enabling: list[FakeEnabling] = field(default_factory=list[FakeEnabling])
    """Made so far, the newest last."""

    def __post_init__(self) -> None:
        self.meta = FakeMetaTools(dynamic=bool(self.on_demand))

    def over(
        self,
        access: CatalogAccess,
        *,
        entries: EntryStore | None = None,
        clock: Clock | None = None,
        observer: Observer | None = None,
        principal: Principal = LOCAL,
    ) -> GatewayDiscovery:
        """One for the catalogs of a principal; with a memory of its own where none is given."""
        now = clock or LoopClock()
        exposing = Exposing(
            self.wanted,
            self.settings,
            costs=Costs(CharacterCounter()),
            memory=ExposureMemory(
                entries or MemoryStore(now).entries,
                keys=InstallationKey(b"k" * 32),
                principal=principal,
                scope="",
                clock=now,
            ),
            observer=observer or Recorder(),
        )
        self.enabling.append(FakeEnabling(access, self.on_demand))
        return GatewayDiscovery(self.meta, self.enabling[-1], exposing)

    @property
    def scripted(self) -> Callable[[Crib, ScriptedWorld, Principal], GatewayDiscovery]:
        """One for `scripted_gateway`, over the store and the clock of its world."""

        def make(crib: Crib, world: ScriptedWorld, principal: Principal) -> GatewayDiscovery:
            return self.over(
                crib.catalogs(principal),
                entries=world.store.entries,
                clock=world.clock,
                observer=world.recorder,
                principal=principal,
            )

        return make
