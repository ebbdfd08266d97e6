"""Opens connections to servers: the `Connector` port over stdio, Streamable HTTP and HTTP+SSE."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from toolcrib.adapters.background import background
from toolcrib.adapters.http.authorisation import AuthoriserSource
from toolcrib.adapters.session.attempt import Attempt
from toolcrib.adapters.session.era import EraSearch, NotStreamable
from toolcrib.adapters.session.guarded_signals import GuardedSignals
from toolcrib.adapters.session.handshake_streams import HandshakeStreams
from toolcrib.adapters.session.listen import ListenLoop
from toolcrib.adapters.session.opening import open_session
from toolcrib.adapters.session.session import Session
from toolcrib.errors import RequestTimedOut, ToolcribError, UpstreamUnreachable
from toolcrib.ports import ClientProfile, Clock, EraMemory, Observer, Signals
from toolcrib.protocol.eras import TransportKind
from toolcrib.settings import HttpLaunch, Limits, ServerSettings


class McpConnector:
    """Implements `ports.Connector` for processes and URLs."""

    def __init__(
        self,
        *,
        limits: Limits,
        observer: Observer,
        clock: Clock,
        authorisers: AuthoriserSource | None = None,
    ) -> None:
        """Without `authorisers`, servers that want OAuth answer that they do."""
        self._authorisers = authorisers
        self._limits = limits
        self._observer = observer
        self._clock = clock
        self._doubted: set[str] = set()
        """Servers whose remembered era led to a process that hung or exited: probed next time."""

    @asynccontextmanager
    async def connect(
        self,
        server: ServerSettings,
        profile: ClientProfile,
        signals: Signals,
        remembered: EraMemory | None,
    ) -> AsyncGenerator[Session]:
        """One attempt, as the port describes it; leaving ends the process group or the session."""
        guarded = GuardedSignals(signals, server.id, self._observer)
        async with AsyncExitStack() as stack:
            try:
                authoriser = self._authorisers.for_server(server) if self._authorisers else None
                attempt = Attempt(
                    server, profile, guarded, self._limits, self._observer, self._clock, authoriser
                )
                session = await self._open(attempt, stack, remembered)
            except ToolcribError as error:
                error.server = error.server or server.id
                raise
            yield session

    async def _open(
        self, attempt: Attempt, stack: AsyncExitStack, remembered: EraMemory | None
    ) -> Session:
        launch = attempt.server.launch
        if not isinstance(launch, HttpLaunch):
            return await self._search(attempt, stack, remembered, "stdio")
        if launch.transport == "sse":
            return await self._search(attempt, stack, remembered, "sse")
        try:
            return await self._search(attempt, stack, remembered, "http")
        except NotStreamable as first:
            if launch.transport == "streamable":
                raise
            return await self._search_older(attempt, stack, first)

    async def _search_older(
        self, attempt: Attempt, stack: AsyncExitStack, first: NotStreamable
    ) -> Session:
        """The transport of 2024-11-05, where a URL refuses POSTs (MCP 2026-07-28, HTTP+SSE)."""
        await stack.aclose()
        try:
            return await self._search(attempt, stack, None, "sse")
        except UpstreamUnreachable as second:
            both = f"{first.message}; and as HTTP+SSE: {second.message}"
            if second.message == first.message:
                both = f"{first.message} (the same as HTTP+SSE)"
            raise UpstreamUnreachable(both, details=second.details) from None

    async def _search(
        self,
        attempt: Attempt,
        stack: AsyncExitStack,
        remembered: EraMemory | None,
        transport: TransportKind,
    ) -> Session:
        """Open the transport into the stack, find the era, begin to listen for changes."""
        streams = HandshakeStreams(attempt.signals)

        async def renew() -> Session:
            await stack.aclose()
            return await stack.enter_async_context(open_session(attempt, transport, streams))

        server = attempt.server.id
        search = EraSearch(attempt, await renew(), renew, transport)
        try:
            session = await search.run(None if server in self._doubted else remembered)
        except (UpstreamUnreachable, RequestTimedOut):
            if search.resuming and transport == "stdio":
                self._doubted.add(server)
            raise
        self._doubted.discard(server)
        if session.facts.era == "modern":
            tasks = await stack.enter_async_context(background())
            tasks.start_soon(ListenLoop(attempt, session).run)
        else:
            streams.begin(session.facts.capabilities, pipe=transport == "stdio")
        return session
