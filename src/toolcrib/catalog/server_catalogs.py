"""The four catalogs of one server for one principal: one connection, and its signals."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from toolcrib.catalog.access import PublishedChange, ServerStatus
from toolcrib.catalog.keeper import Keeper
from toolcrib.catalog.peer_watch import PeerWatch
from toolcrib.catalog.published import PublishedHook
from toolcrib.catalog.reading import Reading
from toolcrib.catalog.resource_news import ResourceNews, news_of
from toolcrib.catalog.version_watch import VersionWatch
from toolcrib.catalog.vetting import Vetting
from toolcrib.catalog.view import ToolView
from toolcrib.catalog.walk import failure_of, fetch_page
from toolcrib.core.freshness.events import Failure, Reason
from toolcrib.core.jsontypes import is_object
from toolcrib.core.partition import may_share
from toolcrib.core.quoting import quoted
from toolcrib.core.snapshot import Hints, Item, Kind, Page, Scope, Snapshot
from toolcrib.core.vetting import Unapproved
from toolcrib.errors import ConfigError, ToolcribError
from toolcrib.ports import Clock, Era, Observer, ServerFacts
from toolcrib.protocol.version_source import parse_version_source
from toolcrib.settings import Limits, ServerSettings
from toolcrib.upstreams.listeners import StreamState
from toolcrib.upstreams.supervisor import Supervisor

SIGNALS: Final[Mapping[str, tuple[Kind, ...]]] = {
    "notifications/tools/list_changed": (Kind.TOOLS,),
    "notifications/prompts/list_changed": (Kind.PROMPTS,),
    "notifications/resources/list_changed": (Kind.RESOURCES, Kind.TEMPLATES),
}
"""Which catalogs a notification invalidates; accepted whether or not the server declared it."""

_SILENT: Final = 1.0
"""Seconds without an answer from which on they are told: every server takes some to start."""


class ServerCatalogs:
    """Keeps the catalogs of one server true over one supervised connection.

    A keeper is made when its kind is first read; the tools of an eager server are read as soon as
    it connects, so that the first listing of a host finds them.
    """

    def __init__(
        self,
        server: ServerSettings,
        supervisor: Supervisor,
        make_keeper: Callable[[Kind, "ServerCatalogs"], Keeper],
        *,
        hook: PublishedHook,
        clock: Clock,
        limits: Limits,
        observer: Observer,
        vetting: Vetting | None = None,
    ) -> None:
        self.server = server
        self._vetting = vetting
        self._view = self._view_of(server)
        self._hook = hook
        self.supervisor = supervisor
        self._make_keeper = make_keeper
        self._clock = clock
        self._limits = limits
        self._observer = observer
        self._peer = PeerWatch(server.id, observer)
        self._versions = _versions_of(server)
        self._keepers: dict[Kind, Keeper] = {}
        self._facts: ServerFacts | None = None
        self._last_facts: ServerFacts | None = None
        self._stream: StreamState = "unknown"
        self._judged_in: dict[Kind, Era] = {}
        self._contradicted: dict[Kind, float] = {}
        self._owed: set[Kind] = set()
        supervisor.fanout.add(self)

    def close(self) -> None:
        """Stops listening to the connection, ends all work and tells listeners that all is gone."""
        self.supervisor.fanout.remove(self)
        for kind, keeper in tuple(self._keepers.items()):
            keeper.close()
            before = self._view.of(keeper.peek().snapshot)
            if before is not None:
                self._hook.publish(PublishedChange(self.server.id, kind, before, None, 0))

    def retune(self, server: ServerSettings) -> None:
        """Takes over settings that need no new connection.

        Listeners hear what becomes visible or vanishes by it.
        """
        if server.version_from != self.server.version_from:
            self._versions = _versions_of(server)
        self.server = server
        self.supervisor.retune(server)
        for keeper in tuple(self._keepers.values()):
            keeper.retune(server)
        self._look_through(self._view_of(server))

    def _view_of(self, server: ServerSettings) -> ToolView:
        vetting = self._vetting if server.on_change == "ask" else None
        return ToolView(server.tools, None if vetting is None else vetting.approved)

    def _look_through(self, view: ToolView) -> None:
        """Shows everything through another view, and tells what changes by it."""
        old, self._view = self._view, view
        for kind, keeper in tuple(self._keepers.items()):
            held = keeper.peek()
            self._publish(kind, old.of(held.snapshot), view.of(held.snapshot), held.generation)

    @property
    def vets(self) -> bool:
        """Whether a person has to see definitions first."""
        return self._vetting is not None and self.server.on_change == "ask"

    async def vet(self, *, now: bool = False) -> None:
        """Takes in what a person approved meanwhile, where definitions need to be seen first."""
        if self._vetting is None or not self.vets:
            return
        if await self._vetting.look(awaited=bool(self.waiting()), now=now):
            self._look_through(self._view_of(self.server))
        self._vetting.tell(self.waiting())

    def hinted(self, hint: str | None) -> bool:
        """Whether a hint of the bus may say that a person approved something here."""
        return self.vets and self._vetting is not None and self._vetting.concerns(hint)

    def waiting(self) -> tuple[Unapproved, ...]:
        """The tools that a person has to see before they are shown."""
        found = self._keepers.get(Kind.TOOLS)
        return () if found is None else self._view.waiting(found.peek().snapshot)

    def published(
        self, kind: Kind, before: Snapshot | None, after: Snapshot | None, generation: int
    ) -> None:
        """A keeper's content changed: what shows through the filter is passed on."""
        if self._vetting is not None and kind is Kind.TOOLS:
            self._vetting.tell(self._view.waiting(after))
        self._publish(kind, self._view.of(before), self._view.of(after), generation)

    def _publish(
        self, kind: Kind, before: Snapshot | None, after: Snapshot | None, generation: int
    ) -> None:
        if before is not None and after is not None and before.digest == after.digest:
            return
        self._hook.publish(PublishedChange(self.server.id, kind, before, after, generation))

    def _shown(self, reading: Reading) -> Reading:
        shown = self._view.of(reading.snapshot)
        scope = reading.scope if self._may_share(reading.scope) else Scope.PRIVATE
        if shown is reading.snapshot and scope is reading.scope:
            return reading
        return replace(reading, snapshot=shown, scope=scope)

    def _may_share(self, claimed: Scope) -> bool:
        server = self.server
        return may_share(
            claimed, credentialed=server.launch.credentialed, trust_public=server.trust_public
        )

    def keeper(self, kind: Kind) -> Keeper:
        """The keeper of that kind, made at the first use."""
        found = self._keepers.get(kind)
        if found is None:
            found = self._keepers[kind] = self._make_keeper(kind, self)
            if self._facts is not None:
                found.connected()
                if self._stream != "unknown":
                    found.stream_changed(self._stream_of(kind))
            elif self.supervisor.trouble is not None:
                # It was tried before this kind was asked for: nobody waits for that to come.
                found.disconnected()
        return found

    def is_fresh(self, kind: Kind, now: float) -> bool:
        """Whether a listing at this time is answered at once, from a catalog that is fresh."""
        keeper = self._keepers.get(kind)
        return keeper is not None and keeper.is_fresh(now) and not self.vets

    async def read(self, kind: Kind) -> Reading:
        """The catalog of that kind, within the reader's wait."""
        await self.vet()
        return self._shown(await self.keeper(kind).read())

    async def admit(self, kind: Kind) -> Reading:
        """The catalog of that kind as one call needs it, within the call's wait."""
        await self.vet()
        if kind in self._owed:
            self.contradicted(kind)
        return self._shown(await self.keeper(kind).read("admit"))

    def peek(self, kind: Kind) -> Reading:
        """What is held right now."""
        return self._shown(self.keeper(kind).peek())

    def watch(self, kind: Kind) -> Callable[[], None]:
        """Counts a subscriber of a catalog, for whom polls go on; the answer ends it."""
        return self.keeper(kind).watch()

    def held_back(self, kind: Kind) -> Snapshot | None:
        """What shows of the listing that is held back while replicas of the server disagree."""
        found = self._keepers.get(kind)
        return None if found is None else self._view.of(found.held_back())

    def invalidate(self, kind: Kind, reason: Reason) -> None:
        """Marks a catalog stale."""
        self.keeper(kind).invalidate(reason)

    def contradicted(self, kind: Kind) -> None:
        """Marks a catalog stale because a call's answer speaks against it.

        At most once per `min_interval`, so that a model which goes on with a failing call costs no
        walk each time; what is left out is made up for at the first call after it.
        """
        now = self._clock.now().mono
        last = self._contradicted.get(kind, float("-inf"))
        if now < last + self.server.waits.min_interval:
            self._owed.add(kind)
            return
        self._owed.discard(kind)
        self._contradicted[kind] = now
        self.invalidate(kind, Reason.CALL_CONTRADICTED)

    def status(self) -> ServerStatus:
        """What is known of the server right now."""
        trouble = self.supervisor.trouble
        detail = self._silence() if trouble is None else trouble.for_operator()
        return ServerStatus(
            id=self.server.id,
            state=self.supervisor.state,
            facts=self._facts or self._last_facts,
            detail=detail,
            stderr=self.supervisor.stderr,
            told="" if trouble is None else trouble.for_model(),
        )

    def _silence(self) -> str:
        """That a first attempt to connect waits for an answer; empty while it is young."""
        waited = self._clock.now().mono - self.supervisor.begun
        return f"has not answered for {waited:.0f} s" if waited >= _SILENT else ""

    async def fetch(self, kind: Kind, cursor: str | None) -> Page | Failure:
        """One list request over the live connection.

        A server that does not declare the kind has nothing of it, and is not asked.
        """
        try:
            upstream = await self.supervisor.ready()
        except ToolcribError as error:
            return failure_of(error)
        if kind.capability not in upstream.facts.capabilities:
            nothing = Hints(ttl=self._limits.ttl_clamp, scope=Scope.PUBLIC)
            return Page((), (), None, nothing, self._clock.now(), 0)
        era = upstream.facts.era
        if era != self._judged_in.get(kind):
            # What was judged in another era may have to be judged otherwise.
            self._judged_in[kind] = era
            known: Mapping[str, Item] = {}
        else:
            known = self._known(kind)
        return await fetch_page(
            upstream,
            kind,
            cursor,
            clock=self._clock,
            limits=self._limits,
            timeout=self.server.request_seconds or self._limits.request_seconds,
            known=known,
            heard=self._look_for_version,
        )

    def _known(self, kind: Kind) -> Mapping[str, Item]:
        held = self.keeper(kind).peek().snapshot
        return {} if held is None else {item.fingerprint: item for item in held.items}

    def answered(self, method: str, params: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        """An answer of the server: what it says, beside its content, of catalogs that moved on."""
        self._look_for_version(method, params, result)
        if method != "tools/call" or self.server.strategy != "notify+verify":
            return
        keeper = self.keeper(Kind.TOOLS)
        held = keeper.peek().snapshot
        if self._peer.unmasks(held, params, result):
            keeper.retune(replace(self.server, strategy="auto"))
        elif self._peer.moved(held, params, result):
            keeper.moved_on()

    def _look_for_version(
        self, method: str, params: Mapping[str, Any], result: Mapping[str, Any]
    ) -> None:
        if self._versions is not None:
            for kind in self._versions.heard(method, params, result, tuple(self._keepers)):
                self._keepers[kind].moved_on()

    # ---- what the connection says ----

    def connected(self, facts: ServerFacts) -> None:
        """A connection is up: whatever is held answers an old question."""
        self._facts = self._last_facts = facts
        if self._peer.foreign and Kind.TOOLS in self._keepers:
            self._keepers[Kind.TOOLS].retune(self.server)
        self._peer = PeerWatch(self.server.id, self._observer)
        for keeper in tuple(self._keepers.values()):
            keeper.connected()
        if self.server.connect == "eager":
            self.keeper(Kind.TOOLS).need()
        self._hook.resources.tell(ResourceNews(self.server.id, "connected"))

    def disconnected(self, detail: str) -> None:
        """The connection is down; last good goes on being served."""
        del detail
        self._facts = None
        self._stream = "unknown"
        for keeper in tuple(self._keepers.values()):
            keeper.disconnected()

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """A notification: those that speak of a list invalidate it."""
        if (news := news_of(self.server.id, method, params)) is not None:
            self._hook.resources.tell(news)
        for kind in SIGNALS.get(method, ()):
            if kind in self._keepers:
                self._keepers[kind].invalidate(Reason.SIGNAL)

    def stream_changed(self, state: StreamState) -> None:
        """Signals flow, broke off, or are not offered."""
        self._stream = state
        for kind, keeper in tuple(self._keepers.items()):
            keeper.stream_changed(self._stream_of(kind))

    def _stream_of(self, kind: Kind) -> StreamState:
        """The stream as this kind may rely on it: what a server does not declare is polled for.

        Its signals are taken all the same, when they come.
        """
        if self._stream != "open" or self._facts is None:
            return self._stream
        declared = self._facts.capabilities.get(kind.capability)
        promises = is_object(declared) and declared.get("listChanged") is True
        return "open" if promises else "refused"


def _versions_of(server: ServerSettings) -> VersionWatch | None:
    """Raises `ConfigError` for a `version_from` of no known form."""
    if not server.version_from:
        return None
    source = parse_version_source(server.version_from)
    if source is None:
        raise ConfigError(
            f"version_from is {quoted(server.version_from)}, which does not say where a version is",
            server=server.id,
            remedy="use meta:KEY, header:NAME or tool:NAME#/json/pointer",
        )
    return VersionWatch(source)
