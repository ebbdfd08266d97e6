"""What the gateway takes from discovery for one principal, and what it does without."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from toolcrib.calls.call import Requester, Retry
from toolcrib.catalog.access import CatalogAccess
from toolcrib.core.exposure import Wanted
from toolcrib.discovery.discovering import Discovery
from toolcrib.discovery.exposing.exposing import EVERYTHING, Choice, Choosing
from toolcrib.discovery.exposing.offer import Offer
from toolcrib.discovery.hits import ToolSearch
from toolcrib.discovery.seams import Enabling, Inner, MetaToolSet, Shown
from toolcrib.errors import ToolcribBug
from toolcrib.ports import Progress


@dataclass(frozen=True, slots=True, eq=False)
class GatewayDiscovery:
    """The parts of discovery that answer one principal's hosts."""

    meta: MetaToolSet
    enabling: Enabling
    exposing: Choosing
    programs: bool = True
    """Whether hosts may ever be shown what runs programs."""
    search: ToolSearch | None = None
    """Finds tools for whoever asks from a command line; None: nothing does."""

    def names(self) -> frozenset[str]:
        """The names that stand for meta-tools, shown at the moment or not: no other tool has them.

        Configured as `full` only the ones that are shown stand for one: they are there for good.
        Nor does what runs programs where none are wanted.
        """
        if self.exposing.wanted == "full":
            return self._shown("full")
        if self.programs:
            return frozenset(self.meta.names())
        return frozenset(self.meta.names()) - (self._shown("code") - self._shown("search"))

    def _shown(self, exposure: Shown) -> frozenset[str]:
        return frozenset(tool["name"] for tool in self.meta.definitions(exposure))


def discovered(discovery: Discovery) -> GatewayDiscovery:
    """What a crib has for a principal."""
    return GatewayDiscovery(
        discovery.meta,
        discovery.enabling,
        discovery.exposing,
        discovery.coding,
        discovery.search,
    )


def undiscovered(access: CatalogAccess) -> GatewayDiscovery:
    """Everything is shown, there are no meta-tools, and no server is on demand."""
    return GatewayDiscovery(_NoMetaTools(), _AllServers(access), _Everything())


class _Everything:
    """Shows everything."""

    wanted: Wanted = "full"

    async def choose(self, offer: Offer, *, look: bool = False) -> Choice:
        """Everything."""
        del offer, look
        return EVERYTHING


class _AllServers:
    """Has all servers there for everybody."""

    def __init__(self, access: CatalogAccess) -> None:
        self._access = access

    @property
    def dynamic(self) -> bool:
        """Nothing is on demand."""
        return False

    @property
    def unsure(self) -> str:
        """Nothing is missing."""
        return ""

    @property
    def on_demand(self) -> Collection[str]:
        """No server."""
        return ()

    async def searchable(self, requester: Requester) -> Collection[str]:
        """All servers."""
        del requester
        return self._access.server_ids()

    def listed(self) -> Collection[str]:
        """All servers."""
        return self._access.server_ids()

    async def to_enable(self, requester: Requester, name: str) -> Collection[str]:
        """No server."""
        del requester, name
        return ()

    async def need(self, requester: Requester, server: str) -> None:
        """Whatever it is, it is there."""

    def forget(self, requester: Requester) -> None:
        """Nothing is remembered of anybody."""


class _NoMetaTools:
    """Has no meta-tools, so nobody can call one."""

    def names(self) -> Collection[str]:
        """No names."""
        return ()

    def definitions(self, exposure: Shown) -> tuple[Mapping[str, Any], ...]:
        """No definitions."""
        del exposure
        return ()

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        requester: Requester,
        retry: Retry | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Is not called, as nothing is named."""
        raise ToolcribBug(f"there is no meta-tool {name!r}")

    def inner(self, arguments: Mapping[str, Any]) -> Inner:
        """Is not called, as nothing is named."""
        raise ToolcribBug("there is no meta-tool that calls others")
