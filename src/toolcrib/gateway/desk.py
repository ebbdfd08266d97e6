"""What one principal is served from: its catalogs, their listings, routes into them, its hosts."""

from collections.abc import Mapping
from typing import Any, Final

import anyio

from toolcrib.calls.call import Requester
from toolcrib.calls.calling import Calls
from toolcrib.catalog.access import CatalogAccess, PublishedChange
from toolcrib.core.snapshot import Kind
from toolcrib.gateway.discovering import GatewayDiscovery
from toolcrib.gateway.forward import Forwarder
from toolcrib.gateway.hosts import Announcer
from toolcrib.gateway.inquiries import Inquiries
from toolcrib.gateway.interest import Interest
from toolcrib.gateway.links import Links
from toolcrib.gateway.listing import Naming
from toolcrib.gateway.listings import Listings
from toolcrib.gateway.meta_calls import MetaCalls
from toolcrib.gateway.requester import requester_of
from toolcrib.gateway.resource_updates import ResourceUpdates
from toolcrib.gateway.routes import Routes
from toolcrib.ports import Clock, Observer
from toolcrib.settings import GatewaySettings, Limits
from toolcrib.wire.audience import Audience
from toolcrib.wire.faults import invalid_params, method_not_found
from toolcrib.wire.jsonwire import Prepared, Result
from toolcrib.wire.service import HostRequest

LISTS: Final = {kind.method: kind for kind in Kind}


class Desk:
    """Answers the hosts of one principal. Nothing of it is shared with another one."""

    def __init__(
        self,
        access: CatalogAccess,
        naming: Naming,
        limits: Limits,
        *,
        calls: Calls,
        discovery: GatewayDiscovery,
        settings: GatewaySettings,
        clock: Clock,
        observer: Observer,
    ) -> None:
        self.audience = Audience()
        self._listings = Listings(
            access, naming, clock, observer, icons=settings.icons, discovery=discovery
        )
        links = Links(self._listings, settings.icons)
        routes = Routes(
            access, self._listings, links, calls.ledger, discovery.enabling, calls.names
        )
        self._announcer = Announcer(self._listings, self.audience, clock, observer)
        self._forwarder = Forwarder(
            access,
            calls,
            routes,
            links,
            listings=self._listings,
            announcer=self._announcer,
            settings=settings,
            limits=limits,
        )
        self._meta_calls = MetaCalls(discovery, self._forwarder, settings)
        self._inquiries = Inquiries(access, discovery, limits)
        self._ledger = calls.ledger
        self._enabling = discovery.enabling
        self._relay = settings.relay
        self._interest = Interest(access, self.audience)
        self._updates = ResourceUpdates(access, routes.resource, self.audience)
        self._stop_listening = access.on_published(self._published)

    def leave(self) -> None:
        """Stop listening to the catalogs; idempotent."""
        self._interest.leave()
        self._updates.leave()
        self._stop_listening()

    async def announce(self) -> None:
        """Tell hosts of changes, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._announcer.run)
            tasks.start_soon(self._updates.run)

    async def subscribe(self, uri: str) -> None:
        """Have a resource watched that somebody in the audience follows."""
        await self._updates.subscribe(uri)

    def left(self, requester: Requester) -> None:
        """Forget what a host was shown, and enabled, that does not come back."""
        self._ledger.forget(requester)
        self._enabling.forget(requester)

    async def answer(self, request: HostRequest) -> Result:
        """Answer one request; raises `RpcFault` or a `ToolcribError`."""
        kind = LISTS.get(request.method)
        if kind is not None:
            return await self._list(kind, request)
        match request.method:
            case "tools/call" if self._meta_calls.takes(request.params["name"]):
                return await self._meta_calls.call(request)
            case "tools/call" if self._inquiries.takes(name := request.params["name"]):
                given: Mapping[str, Any] = request.params.get("arguments") or {}
                return await self._inquiries.call(name, given, requester_of(request, self._relay))
            case "tools/call":
                return await self._forwarder.call(request)
            case "prompts/get":
                return await self._forwarder.get(request)
            case "resources/read":
                return await self._forwarder.read(request)
            case "completion/complete":
                return await self._forwarder.complete(request)
            case method:
                raise method_not_found(method)

    async def _list(self, kind: Kind, request: HostRequest) -> Prepared:
        # One page holds everything, so no cursor is ours: it was meant for another server.
        if request.params.get("cursor") is not None:
            raise invalid_params("this cursor is not known here: list again without one")
        listing, answer = await self._listings.answer(kind, modern=request.modern)
        self._announcer.shown(kind, listing.digest)
        if kind is Kind.TOOLS:
            await self._ledger.listed(requester_of(request, self._relay), listing.sights)
        self._interest.listed(kind)
        return answer

    def _published(self, change: PublishedChange) -> None:
        self._listings.changed(change.kind)
        self._announcer.changed(change.kind)
