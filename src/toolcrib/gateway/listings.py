"""The listings of one principal: compiled when what is shown changed, stamped per answer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

import anyio
from anyio import to_thread

from toolcrib.catalog.access import CatalogAccess
from toolcrib.catalog.reading import Reading
from toolcrib.core.exposure import Shown
from toolcrib.core.naming import NameTable, Original
from toolcrib.core.snapshot import Item, Kind, Scope
from toolcrib.discovery.exposing.exposing import EVERYTHING, Choice
from toolcrib.discovery.exposing.offer import Offer, complete_in
from toolcrib.facts import Listed, ServedStale
from toolcrib.gateway.discovering import GatewayDiscovery, undiscovered
from toolcrib.gateway.listing import Key, Listing, Naming, compile_listing, key_of, offered
from toolcrib.gateway.target import Target
from toolcrib.ports import Clock, Observer
from toolcrib.protocol.trust import IconPolicy
from toolcrib.wire.jsonwire import Prepared

OFF_LOOP: Final = 500
"""Items from which a listing is compiled in a thread, so that nobody else waits for it."""

KEPT: Final = 2
"""Compiled listings per kind: the current one, and the one somebody may still be reading."""

REMEMBERED: Final = 5_000
"""Exposed names that were there once, per kind."""

_T = TypeVar("_T")

_Content = tuple[Key, tuple[str, ...], bool]
"""What an offer was made of: catalogs, the servers that may be listed, and whether all are here."""


class Listings:
    """Compiles listings once per content, and remembers which names there used to be."""

    def __init__(
        self,
        access: CatalogAccess,
        naming: Naming,
        clock: Clock,
        observer: Observer,
        *,
        icons: IconPolicy = "drop",
        discovery: GatewayDiscovery | None = None,
    ) -> None:
        self._access = access
        self._naming = naming
        self._icons: IconPolicy = icons
        self._clock = clock
        self._observer = observer
        self._discovery = discovery or undiscovered(access)
        self._offers: dict[Kind, dict[_Content, Offer]] = {kind: {} for kind in Kind}
        self._compiled: dict[Kind, dict[tuple[Offer, Choice], Listing]] = {
            kind: {} for kind in Kind
        }
        self._exposure: Shown = EVERYTHING.exposure
        self._changes = dict.fromkeys(Kind, 0)
        self._held: dict[Kind, tuple[int, Listing]] = {}
        self._gone: dict[Kind, dict[str, Target]] = {kind: {} for kind in Kind}
        self._locks = {kind: anyio.Lock(fast_acquire=True) for kind in Kind}

    def changed(self, kind: Kind) -> None:
        """Take note that content was published: what is held has to be compiled anew."""
        self._changes[kind] += 1

    def named(self, catalogs: Mapping[str, Iterable[Item]], name: str) -> Original | None:
        """What an exposed name would stand for, were these catalogs listed."""
        style, limit = self._naming.style, self._naming.limit
        return NameTable.build(catalogs, style=style, limit=limit).resolve(name)

    async def answer(self, kind: Kind, *, modern: bool) -> tuple[Listing, Prepared]:
        """The result of a list request: what every server could show within its wait."""
        began = self._clock.now().mono
        readings = await self._access.read(kind)
        listing = await self._compile(kind, readings, look=True)
        listed = frozenset(self._discovery.enabling.listed())
        readings = [reading for reading in readings if reading.server in listed]
        result = listing.answer(
            modern=modern, ttl_ms=_ttl_ms(readings), scope=_scope(readings).value
        )
        self._note(kind, readings, result, self._clock.now().mono - began)
        return listing, result

    async def held(self, kind: Kind) -> Listing:
        """What is published right now, without waiting for any server."""
        changes = self._changes[kind]
        held = self._held.get(kind)
        if held is not None and held[0] == changes:
            return held[1]
        readings = [self._access.peek(server, kind) for server in self._access.server_ids()]
        listing = await self._compile(kind, readings)
        self._held[kind] = (changes, listing)
        return listing

    async def refreshed(self, kind: Kind) -> Listing:
        """What is published once every server had its wait to bring its catalog up to date."""
        return await self._compile(kind, await self._access.read(kind))

    def gone(self, kind: Kind, name: str) -> Target | None:
        """What an exposed name stood for, if it was there once and is remembered."""
        return self._gone[kind].get(name)

    def _latest(self, kind: Kind) -> Listing | None:
        compiled = self._compiled[kind]
        return compiled[next(reversed(compiled))] if compiled else None

    async def _compile(
        self, kind: Kind, readings: Sequence[Reading], *, look: bool = False
    ) -> Listing:
        offer = await self._offer(kind, readings)
        choice = await self._choose(kind, offer, look=look)
        compiled = self._compiled[kind]
        if (known := compiled.get((offer, choice))) is not None:
            return known
        async with self._locks[kind]:
            if (known := compiled.get((offer, choice))) is not None:
                return known
            meta = self._discovery.meta.definitions(choice.exposure) if kind is Kind.TOOLS else ()
            shown = offer.listed if choice.exposure == "full" else choice.pinned

            def compile_it() -> Listing:
                return compile_listing(kind, offer, choice, meta, self._icons)

            listing = await _worked_out(compile_it, len(shown))
            self._keep(kind, (offer, choice), listing)
            return listing

    async def _offer(self, kind: Kind, readings: Sequence[Reading]) -> Offer:
        listed = tuple(sorted(self._discovery.enabling.listed()))
        # Only tools are shown less of, so only theirs depend on what is missing.
        complete = kind is not Kind.TOOLS or complete_in(readings, frozenset(listed))
        content = key_of(readings), listed, complete
        offers = self._offers[kind]
        if (known := offers.get(content)) is not None:
            return known
        async with self._locks[kind]:
            if (known := offers.get(content)) is not None:
                return known
            reserved = self._discovery.names() if kind is Kind.TOOLS else frozenset[str]()

            def offer_it() -> Offer:
                return offered(kind, readings, self._naming, frozenset(listed), reserved)

            size = sum(len(reading.snapshot or ()) for reading in readings)
            offer = offers[content] = await _worked_out(offer_it, size)
            while len(offers) > KEPT:
                del offers[next(iter(offers))]
            return offer

    async def _choose(self, kind: Kind, offer: Offer, *, look: bool) -> Choice:
        """What is shown of an offer; where that is something else than before, held is over."""
        if kind is not Kind.TOOLS:
            return EVERYTHING
        choice = await self._discovery.exposing.choose(offer, look=look)
        if choice.exposure != self._exposure:
            self._exposure = choice.exposure
            self._changes[kind] += 1
        return choice

    def _keep(self, kind: Kind, key: tuple[Offer, Choice], listing: Listing) -> None:
        previous = self._latest(kind)
        if previous is not None:
            self._remember(kind, previous, listing)
        for finding in listing.findings:
            if previous is None or finding not in previous.findings:
                self._observer.note(finding)
        compiled = self._compiled[kind]
        compiled[key] = listing
        while len(compiled) > KEPT:
            del compiled[next(iter(compiled))]

    def _remember(self, kind: Kind, previous: Listing, listing: Listing) -> None:
        gone = self._gone[kind]
        for name, original in previous.entries.items():
            if name not in listing.entries:
                gone.pop(name, None)
                gone[name] = Target(original.server, original.item.key)
        while len(gone) > REMEMBERED:
            del gone[next(iter(gone))]

    def _note(
        self, kind: Kind, readings: Sequence[Reading], result: Prepared, seconds: float
    ) -> None:
        for reading in readings:
            if not reading.fresh and reading.snapshot is not None:
                self._observer.note(ServedStale(reading.server, kind.label, reading.age or 0.0))
        fresh = all(reading.fresh for reading in readings)
        size = len(result.encoded)
        self._observer.note(Listed(kind.label, len(result.items), size, fresh, seconds))


async def _worked_out(work: Callable[[], _T], size: int) -> _T:
    """The result of work that grows with `size`, out of a thread where it may take long."""
    return await to_thread.run_sync(work) if size > OFF_LOOP else work()


def _ttl_ms(readings: Sequence[Reading]) -> int:
    """The smallest time that any catalog may still be relied on: 0 when one is stale or missing."""
    return max(0, int(1000 * min((reading.ttl_left for reading in readings), default=0.0)))


def _scope(readings: Sequence[Reading]) -> Scope:
    """Public only if every catalog may be shared, and there is one."""
    public = readings and all(reading.scope is Scope.PUBLIC for reading in readings)
    return Scope.PUBLIC if public else Scope.PRIVATE
