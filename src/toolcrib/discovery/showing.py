"""What one caller may be shown at a moment, and what it costs: the same content for all who ask."""

from collections.abc import Callable, Collection, Mapping
from typing import Final

from toolcrib.calls.call import Requester
from toolcrib.catalog.access import CatalogAccess
from toolcrib.catalog.reading import Reading
from toolcrib.context.exhibit import Exhibit, Exposed
from toolcrib.core.exposure import Wanted
from toolcrib.core.naming import Original, Style
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.exposing.exposing import Exposing
from toolcrib.discovery.exposing.offer import Offer, complete_in, offer_of
from toolcrib.discovery.exposing.report import ExposureReport
from toolcrib.discovery.meta.definitions import CALL, DETAILS, SEARCH
from toolcrib.discovery.meta.meta_tools import MetaTools
from toolcrib.discovery.servers.servers import Servers

_FINDING: Final = frozenset({SEARCH, DETAILS, CALL})
"""Meta-tools that a provider's own search takes the place of."""
_KEPT: Final = 4
"""Offers that are kept for who asks next: callers that enabled the same share them."""


class Showing:
    """Offers the tools of one principal.

    Args:
        access: The principal's catalogs.
        servers: Which of them are there for whom.
        meta: The meta-tools.
        exposing: Decides, by what is wanted.
        wanted: What is configured.
        style: How names are exposed.
        limit: Most characters of a qualified name.
    """

    def __init__(
        self,
        access: CatalogAccess,
        servers: Servers,
        meta: MetaTools,
        exposing: Callable[[Wanted], Exposing],
        *,
        wanted: Wanted,
        style: Style,
        limit: int,
    ) -> None:
        self._access = access
        self._servers = servers
        self._meta = meta
        self._exposing = exposing
        self._wanted: Wanted = wanted
        self._style: Style = style
        self._limit = limit
        self._offers: dict[object, Offer] = {}
        """By what they were made of, the newest last."""

    async def report(self) -> ExposureReport:
        """What hosts are shown, and what it costs."""
        offer = self._offer(await self._access.read(Kind.TOOLS), self._wanted)
        return await self._exposing(self._wanted).report(offer, self._meta)

    async def exhibit(self, wanted: Wanted, requester: Requester) -> Exhibit:
        """What a conversation of this caller may be shown now.

        Beside what hosts are listed it has the tools of servers that the caller enabled. What
        others enabled has no say in it.
        """
        there = frozenset(await self._servers.searchable(requester))
        readings = await self._access.read(Kind.TOOLS)
        offer = self._offer(readings, wanted)
        choice = await self._exposing(wanted).choose(offer, look=True)
        if self._style == "plain":
            # Another caller's server may have the name of a tool of this one's.
            offer = self._offer([it for it in readings if it.server in there], wanted)
        callable_now = {name: it for name, it in offer.entries.items() if it.server in there}
        visible = callable_now if choice.exposure == "full" else choice.pinned
        meta = self._meta.definitions(choice.exposure)
        return Exhibit(
            exposure=choice.exposure,
            visible=tuple(_exposed(name, callable_now) for name in visible),
            deferred=tuple(_exposed(it, callable_now) for it in callable_now if it not in visible),
            meta=meta,
            meta_beside_native=tuple(it for it in meta if it["name"] not in _FINDING),
            about={server: self._servers.about(server) for server in sorted(there)},
        )

    def _offer(self, readings: Collection[Reading], wanted: Wanted) -> Offer:
        listed = frozenset(self._servers.listed())
        shown = (it["name"] for it in self._meta.definitions("full"))
        reserved = frozenset(shown if wanted == "full" else self._meta.names())
        content = (tuple(map(_content, readings)), listed, reserved, complete_in(readings, listed))
        offer = self._offers.pop(content, None)
        if offer is None:
            offer = offer_of(
                readings, style=self._style, limit=self._limit, listed=listed, reserved=reserved
            )
        self._offers[content] = offer
        while len(self._offers) > _KEPT:
            del self._offers[next(iter(self._offers))]
        return offer


def _content(reading: Reading) -> tuple[str, str]:
    return reading.server, "" if reading.snapshot is None else reading.snapshot.digest


def _exposed(name: str, entries: Mapping[str, Original]) -> Exposed:
    return Exposed(name, entries[name].server, entries[name].item)
