"""Decides what one principal's model is shown at the start.

    choice = await exposing.choose(offer)             # when the content is another one
    choice = await exposing.choose(offer, look=True)  # when a host lists
    report = await exposing.report(offer, meta)       # for people

Replicas decide by the same rule over the same content. Where the rule leaves it to what was shown
before, the store says what that was: it is asked when the content is new and when a host lists, so
that the last decision of any replica becomes that of all.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

import anyio
from anyio import to_thread

from toolcrib.context.tokens import Costs
from toolcrib.core.exposure import Pinned, Shown, Threshold, Wanted, decide, pin
from toolcrib.core.naming import Original
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.discovery.exposing.memory import ExposureMemory
from toolcrib.discovery.exposing.offer import Offer
from toolcrib.discovery.exposing.report import ExposureReport, why
from toolcrib.discovery.seams import MetaToolSet
from toolcrib.facts import ExposureChanged, Finding
from toolcrib.ports import Observer
from toolcrib.settings import ExposureSettings

OFF_LOOP: Final = 500
"""Tools from which on they are counted in a thread, so that nobody else waits for it."""

KNOWN: Final = 4
"""Offers whose decision is remembered: the current one, and those somebody may still be reading."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Choice:
    """What is shown of an offer."""

    exposure: Shown
    pinned: tuple[str, ...] = ()
    """Exposed names of the tools that are shown although not all are."""
    findings: tuple[Finding, ...] = ()


EVERYTHING: Final = Choice("full")


class Choosing(Protocol):
    """Says what is shown of an offer; `Exposing` does."""

    @property
    def wanted(self) -> Wanted:
        """What is configured."""
        ...

    async def choose(self, offer: Offer, *, look: bool = False) -> Choice:
        """What is shown; `look`: whether the store may know better than memory."""
        ...


@dataclass(slots=True, eq=False)
class _Known:
    """What was found out about one offer."""

    tokens: int
    pinned: Pinned | None = None
    choice: Choice | None = None


class Exposing:
    """Implements `Choosing` for one principal.

    Args:
        wanted: As configured.
        settings: Where `auto` changes over, and what stays visible.
        costs: Counts definitions; may be shared, and what it says is taken as it is.
        memory: What was shown before.
        observer: Is told of changes.
        hidden: Is called whenever not everything is shown: then tools will have to be found.
    """

    def __init__(
        self,
        wanted: Wanted,
        settings: ExposureSettings,
        *,
        costs: Costs,
        memory: ExposureMemory,
        observer: Observer,
        hidden: Callable[[], None] = lambda: None,
    ) -> None:
        self._wanted: Wanted = wanted
        self._settings = settings
        self._threshold = Threshold(settings.window, settings.share, settings.above)
        self._costs = costs
        self._memory = memory
        self._observer = observer
        self._hidden = hidden
        self._known: OrderedDict[Offer, _Known] = OrderedDict()
        self._turn = anyio.Lock(fast_acquire=True)

    @property
    def wanted(self) -> Wanted:
        """What is configured."""
        return self._wanted

    async def choose(self, offer: Offer, *, look: bool = False) -> Choice:
        """What is shown of an offer; a decision unlike the one before is kept and told."""
        known = self._known.get(offer)
        if known is not None and known.choice is not None and self._stands(offer, known, look):
            return known.choice
        async with self._turn:
            return await self._choose(offer, look=look)

    async def report(self, offer: Offer, meta: MetaToolSet) -> ExposureReport:
        """What is shown of an offer and what it costs; nothing is kept, nobody is told."""
        async with self._turn:
            return await self._report(offer, meta)

    async def _report(self, offer: Offer, meta: MetaToolSet) -> ExposureReport:
        full = await self._counted(offer, lambda: self._by_server(offer.listed))
        tokens = sum(full.values())
        if self._wanted == "auto":
            await self._memory.look()
        shown = self._decided(offer, tokens)
        pinned = Pinned() if shown == "full" else await self._counted(offer, self._pinned(offer))
        visible = offer.listed if shown == "full" else {it: offer.listed[it] for it in pinned.names}
        exposed = await self._counted(offer, lambda: self._by_server(visible))
        return ExposureReport(
            wanted=self._wanted,
            exposure=shown,
            why=why(self._wanted, shown, self._threshold, tokens),
            threshold=self._threshold,
            full=full,
            exposed={server: exposed.get(server, 0) for server in full},
            meta=sum(map(self._costs.of_definition, meta.definitions(shown))),
            pinned=pinned,
            counter=self._costs.counter.name,
            exact=self._costs.counter.exact,
        )

    # ---- deciding ----

    def _stands(self, offer: Offer, known: _Known, look: bool) -> bool:  # noqa: FBT001 - as given
        """Whether what was chosen before is still to be shown, without another look."""
        if self._wanted != "auto":
            return True
        if not self._threshold.open_between(known.tokens, complete=offer.complete):
            return True
        return not look and self._before() == (known.choice or EVERYTHING).exposure

    async def _choose(self, offer: Offer, *, look: bool) -> Choice:
        known = self._known.get(offer)
        new = known is None
        if known is None:
            known = self._known[offer] = await self._counted(offer, lambda: self._first(offer))
            while len(self._known) > KNOWN:
                self._known.popitem(last=False)
        shown = self._wanted
        if shown == "auto":
            shown = await self._settled(offer, known.tokens, look=look or new)
        if shown == "full":
            known.choice = EVERYTHING
            return EVERYTHING
        self._hidden()
        if known.pinned is None:
            known.pinned = await self._counted(offer, self._pinned(offer))
        findings = _beyond(offer, known.pinned, self._settings.pinned_tokens)
        known.choice = Choice(shown, known.pinned.names, findings)
        return known.choice

    def _first(self, offer: Offer) -> _Known:
        if self._wanted != "auto":
            return _Known(0)
        tokens = 0
        for name, original in offer.listed.items():
            tokens += self._costs.of(name, original.item)
            if tokens >= self._threshold.up:
                # How much more it is does not matter: the work stays small, however many there are.
                break
        return _Known(tokens)

    async def _settled(self, offer: Offer, tokens: int, *, look: bool) -> Shown:
        matters = self._threshold.open_between(tokens, complete=offer.complete)
        first, before = not self._memory.looked, self._before()
        if first or (look and matters):
            await self._memory.look()
        kept, shown = self._before(), self._decided(offer, tokens)
        if first:
            before = kept
        if shown != before:
            reason = why(self._wanted, shown, self._threshold, tokens)
            self._observer.note(ExposureChanged(before, shown, tokens, reason))
        if shown != kept:
            await self._memory.keep(shown)
        return shown

    def _before(self) -> Shown:
        return self._memory.shown or "full"

    def _decided(self, offer: Offer, tokens: int) -> Shown:
        return decide(
            self._wanted,
            self._threshold,
            tokens,
            previous=self._memory.shown,
            complete=offer.complete,
        )

    def _pinned(self, offer: Offer) -> Callable[[], Pinned]:
        settings, listed = self._settings, offer.listed

        def cost(name: str) -> int:
            return self._costs.of(name, listed[name].item)

        return lambda: pin(settings.pinned, listed, cost, settings.pinned_tokens)

    def _by_server(self, entries: Mapping[str, Original]) -> dict[str, int]:
        tokens: dict[str, int] = {}
        for name, original in entries.items():
            cost = self._costs.of(name, original.item)
            tokens[original.server] = tokens.get(original.server, 0) + cost
        return tokens

    async def _counted(self, offer: Offer, count: Callable[[], _T]) -> _T:
        """The count, in a thread where it may take long: an exact counter loads its words first."""
        if len(offer.listed) > OFF_LOOP or self._costs.counter.exact:
            return await to_thread.run_sync(count)
        return count()


def _beyond(offer: Offer, pinned: Pinned, budget: int) -> tuple[Finding, ...]:
    """What was to stay visible and does not, by server."""
    servers: dict[str, list[str]] = {}
    for name in pinned.beyond:
        servers.setdefault(offer.listed[name].server, []).append(name)
    what = f"pinned, and not visible: together they exceed pinned_tokens ({budget:,})"
    return tuple(
        Finding(server, "pinned_beyond_budget", f"{what}: {enumerated(map(quoted, names))}")
        for server, names in servers.items()
    )
