"""The consistency probe: asks a server for the same listing repeatedly, and says what differed.

It walks beside the keepers and publishes nothing. Each connection is a new one, so that a load
balancer may send it to another replica of the server.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from toolcrib.catalog.tempo import tempo_of
from toolcrib.catalog.walk import failure_of, fetch_page
from toolcrib.core.freshness.events import Failure
from toolcrib.core.freshness.record import Published, Ticket
from toolcrib.core.freshness.walk import Again, Broken, Walk, Whole, fold
from toolcrib.core.snapshot import Kind, Page, Snapshot
from toolcrib.errors import ToolcribError
from toolcrib.ports import ClientProfile, Clock, Connector, Upstream
from toolcrib.settings import Limits, ServerSettings
from toolcrib.upstreams.supervisor import refuse_requests


@dataclass(frozen=True, slots=True)
class ProbedWalk:
    """One listing of the probe."""

    connection: int
    """From 1; walks of one connection most likely reached the same replica."""
    requests: int
    seconds: float
    snapshot: Snapshot | None
    order: tuple[str, ...] = ()
    """The names in the order received."""
    failure: str = ""
    """Why there is no snapshot."""


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something about a server's listings that a person should know."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What the probe saw of one server."""

    server: str
    kind: Kind
    era: str
    walks: tuple[ProbedWalk, ...]
    oddities: tuple[Oddity, ...]

    @property
    def consistent(self) -> bool:
        """Whether every listing came and all were equal."""
        return not any(o.code in {"replica_disagreement", "walk_failed"} for o in self.oddities)


class _Deaf:
    """Signals are of no interest to a probe."""

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Ignores it."""

    def stream_opened(self) -> None:
        """Ignores it."""

    def stream_lost(self) -> None:
        """Ignores it."""

    def stream_refused(self) -> None:
        """Ignores it."""

    async def requested(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Refuses it."""
        return await refuse_requests(method, params)


class Probe:
    """Walks one server's listing `walks` times over each of `connections` new connections.

    Args:
        connector: Opens the connections.
        clock: Times the walks.
        limits: Bounds of a walk.
        profile: What is declared to the server.
    """

    def __init__(
        self, connector: Connector, clock: Clock, limits: Limits, profile: ClientProfile
    ) -> None:
        self._connector = connector
        self._clock = clock
        self._limits = limits
        self._profile = profile

    async def run(
        self,
        server: ServerSettings,
        kind: Kind = Kind.TOOLS,
        *,
        walks: int = 3,
        connections: int = 2,
        gap: float = 0.2,
    ) -> ProbeReport:
        """Probes the server; a connection that fails is a finding, not an error."""
        seen: list[ProbedWalk] = []
        era = ""
        for number in range(1, connections + 1):
            try:
                async with self._connector.connect(
                    server, self._profile, _Deaf(), None
                ) as upstream:
                    era = upstream.facts.era
                    for turn in range(walks):
                        if turn:
                            await anyio.sleep(gap)
                        seen.append(await self._walk(server, upstream, kind, number))
            except ToolcribError as error:
                seen.append(ProbedWalk(number, 0, 0.0, None, failure=error.message))
        return ProbeReport(server.id, kind, era, tuple(seen), oddities_of(seen))

    async def _walk(
        self, server: ServerSettings, upstream: Upstream, kind: Kind, connection: int
    ) -> ProbedWalk:
        began = self._clock.now().mono
        walk = Walk(Ticket("probe", 0, 0), began)
        tempo = tempo_of(server, self._limits)
        requests, cursor, order = 0, None, list[str]()
        outcome: Published | str | None = None
        while outcome is None:
            requests += 1
            page = await self._page(server, upstream, kind, cursor)
            if isinstance(page, Failure):
                outcome = page.detail
                break
            order += [item.key for item in page.items]
            match fold(walk, page, kind, tempo, self._clock.now()):
                case Whole(_, candidate):
                    outcome = candidate
                case Broken(failure):
                    outcome = failure.detail
                case Again(walk):
                    cursor, order = None, []
                case more:
                    walk, cursor = more.walk, more.cursor
        seconds = self._clock.now().mono - began
        if isinstance(outcome, str):
            return ProbedWalk(connection, requests, seconds, None, failure=outcome)
        return ProbedWalk(connection, requests, seconds, outcome.snapshot, tuple(order))

    async def _page(
        self, server: ServerSettings, upstream: Upstream, kind: Kind, cursor: str | None
    ) -> Page | Failure:
        try:
            return await fetch_page(
                upstream,
                kind,
                cursor,
                clock=self._clock,
                limits=self._limits,
                timeout=server.request_seconds or self._limits.request_seconds,
                known={},
            )
        except ToolcribError as error:
            return failure_of(error)


def oddities_of(walks: list[ProbedWalk]) -> tuple[Oddity, ...]:
    """What differed between the walks, and what is odd about each of them."""
    found: list[Oddity] = []
    failed = [walk for walk in walks if walk.snapshot is None]
    if failed:
        reasons = "; ".join(sorted({walk.failure for walk in failed}))
        found.append(
            Oddity("walk_failed", f"{len(failed)} of {len(walks)} listings failed: {reasons}")
        )
    whole = [(walk, walk.snapshot) for walk in walks if walk.snapshot is not None]
    counts = Counter(snapshot.digest for _, snapshot in whole)
    if len(counts) > 1:
        sizes = {snapshot.digest: len(snapshot) for _, snapshot in whole}
        told = ", ".join(
            f"{times} times {digest[:10]} with {sizes[digest]} items"
            for digest, times in counts.most_common()
        )
        found.append(
            Oddity(
                "replica_disagreement", f"{len(counts)} different listings without a change: {told}"
            )
        )
    elif len({walk.order for walk, _ in whole}) > 1:
        found.append(Oddity("order_varies", "the same items come in another order each time"))
    for _, snapshot in whole[:1]:
        found += _about(snapshot)
    return tuple(found)


def _about(snapshot: Snapshot) -> list[Oddity]:
    found = [Oddity("walk_warning", warning) for warning in snapshot.warnings]
    found += [Oddity("odd_hint", oddity) for oddity in snapshot.hints.oddities]
    found += [Oddity("quarantined", f"{q.key}: {q.detail}") for q in snapshot.quarantined]
    return found
