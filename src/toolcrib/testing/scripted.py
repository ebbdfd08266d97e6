"""A server in this process whose answers and faults are switched while it runs.

It is a Connector without a wire.
"""

import math
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import anyio
import anyio.lowlevel

from toolcrib.core.snapshot import Kind
from toolcrib.errors import RequestTimedOut, ToolcribError, UpstreamRefused, UpstreamUnreachable
from toolcrib.ports import (
    ClientProfile,
    Era,
    EraMemory,
    Progress,
    RequestContext,
    ServerFacts,
    Signals,
)
from toolcrib.settings import ServerSettings

CHANGED = {
    Kind.TOOLS: "notifications/tools/list_changed",
    Kind.PROMPTS: "notifications/prompts/list_changed",
    Kind.RESOURCES: "notifications/resources/list_changed",
    Kind.TEMPLATES: "notifications/resources/list_changed",
}
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

Call = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
StreamBehaviour = Literal["open", "refused", "silent"]


def tool(name: str, **properties: Any) -> dict[str, Any]:
    """A small valid tool definition; keyword arguments are its input properties."""
    schema: dict[str, Any] = {"type": "object"}
    if properties:
        schema["properties"] = properties
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema}


@dataclass(slots=True)
class Faults:
    """What goes wrong, switched at any time."""

    connect: ToolcribError | None = None
    """Raised by every attempt to connect."""
    silent: bool = False
    """No attempt to connect comes to an end."""
    lists: ToolcribError | None = None
    """Raised by every list request."""
    page: int | None = None
    """Only the page with this number (from 1) of a walk fails with `lists`; None: every page."""
    hang: bool = False
    """List requests are never answered (until their time-out)."""
    signal_on_list: bool = False
    """Every list request is followed by a `list_changed`, needed or not."""
    refuse_cursors: int = 0
    """This many requests with a cursor are refused with -32602."""
    farewell: float = 0.0
    """Seconds that a connection takes to end."""


class ScriptedUpstream:
    """One scripted server: hand it in as the Connector of a crib, and change it meanwhile.

    Counts what it is asked: `walks` are list requests without a cursor, `requests` all list
    requests.
    """

    def __init__(
        self,
        tools: Sequence[Mapping[str, Any]] = (),
        *,
        era: Era = "modern",
        page_size: int | None = None,
        ttl_ms: object = 0,
        scope: object = "private",
        latency: float = 0.0,
        stream: StreamBehaviour = "open",
        capabilities: Mapping[str, Any] | None = None,
    ) -> None:
        self.pages: Mapping[str | None, Mapping[str, Any]] | None = None
        """Raw list results by cursor, in place of `items`; any other cursor is refused."""
        self.items: dict[Kind, list[Mapping[str, Any]]] = {kind: [] for kind in Kind}
        self.items[Kind.TOOLS] = list(tools)
        self.era: Era = era
        self.page_size = page_size
        self.ttl_ms = ttl_ms
        """One value for all pages, or a list with one for each page."""
        self.scope = scope
        self.latency = latency
        """Seconds between a request's arrival and its answer; the content is read on arrival."""
        self.stream: StreamBehaviour = stream
        self.faults = Faults()
        self.connects = 0
        self.remembered: EraMemory | None = None
        """What the last attempt to connect was told of the server's era."""
        self.walks: Counter[Kind] = Counter()
        self.requests: Counter[Kind] = Counter()
        self.asked: list[dict[str, Any]] = []
        """The parameters of every list request."""
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.contexts: list[RequestContext | None] = []
        """What came with each of the calls."""
        self.on_call: Call | None = None
        """Answers every request that is no listing; None: echoes the parameters as text."""
        self._capabilities = capabilities
        self._opened = 0
        self._live: dict[_Connection, None] = {}

    @property
    def live(self) -> int:
        """Connections that are up."""
        return len(self._live)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Sends any notification on every live connection."""
        for connection in tuple(self._live):
            connection.signals.notified(method, params or {})

    def change(self, tools: Sequence[Mapping[str, Any]], *, signal: bool = True) -> None:
        """Replaces the tools and, unless told otherwise, says so."""
        self.items[Kind.TOOLS] = list(tools)
        if signal:
            self.signal()

    def signal(self, kind: Kind = Kind.TOOLS) -> None:
        """Sends `list_changed` on every live connection."""
        self.notify(CHANGED[kind])

    def lose_stream(self) -> None:
        """Breaks the stream of signals on every live connection, the connection itself stays."""
        for connection in tuple(self._live):
            connection.signals.stream_lost()

    def reopen_stream(self) -> None:
        """The streams of signals are back."""
        for connection in tuple(self._live):
            connection.signals.stream_opened()

    def drop(self, reason: str = "the server hung up") -> None:
        """Ends every live connection."""
        for connection in tuple(self._live):
            connection.end(reason)

    @asynccontextmanager
    async def connect(
        self,
        server: ServerSettings,
        profile: ClientProfile,
        signals: Signals,
        remembered: EraMemory | None,
    ) -> AsyncGenerator["_Connection"]:
        """One attempt, as the Connector port wants it."""
        del profile
        self.connects += 1
        self.remembered = remembered
        await anyio.sleep(self.latency)
        if self.faults.silent:
            await anyio.sleep_forever()
        if self.faults.connect is not None:
            raise self.faults.connect
        connection = _Connection(self, server, signals, self._opened)
        self._opened += 1
        self._live[connection] = None
        if self.stream == "open":
            signals.stream_opened()
        elif self.stream == "refused":
            signals.stream_refused()
        try:
            yield connection
        finally:
            connection.end("closed by us")
            with anyio.CancelScope(shield=True):
                await anyio.sleep(self.faults.farewell)

    def facts(self) -> ServerFacts:
        """What the server says of itself."""
        changing = {"listChanged": self.stream == "open"}
        capabilities = self._capabilities
        if capabilities is None:
            capabilities = {kind.capability: changing for kind in Kind}
        version = "2026-07-28" if self.era == "modern" else "2025-11-25"
        return ServerFacts(self.era, version, capabilities, name="scripted", version="1")

    def forget(self, connection: "_Connection") -> None:
        """Takes a connection that ended out of the live ones."""
        self._live.pop(connection, None)

    def list_for(self, connection: int, kind: Kind, cursor: str | None) -> dict[str, Any]:
        """The list result for one connection, counted from 0; override it to tell them apart."""
        del connection
        return self.list_page(kind, cursor)

    async def call_for(
        self, connection: int, method: str, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The answer to what is no listing; override it to tell connections apart."""
        del connection
        if self.on_call is not None:
            return await self.on_call(method, params)
        return {"content": [{"type": "text", "text": str(params)}], "resultType": "complete"}

    def list_page(self, kind: Kind, cursor: str | None) -> dict[str, Any]:
        """The raw list result for a cursor, from the content as it is now."""
        if self.pages is not None:
            return self._written_page(cursor)
        items = self.items[kind]
        size = self.page_size or max(1, len(items))
        start = 0 if cursor is None else int(cursor)
        page: dict[str, Any] = {kind.field: list(items[start : start + size])}
        if start + size < len(items):
            page["nextCursor"] = str(start + size)
        if self.era == "modern":
            ttl = self.ttl_ms
            number = start // size
            page["resultType"] = "complete"
            page["ttlMs"] = ttl[number] if isinstance(ttl, list) else ttl
            page["cacheScope"] = self.scope
        return page

    def page_number(self, cursor: str | None) -> int:
        """Which page of its walk a cursor asks for, from 1."""
        if self.pages is not None:
            return 1 if cursor is None else list(self.pages).index(cursor) + 1
        return 1 if cursor is None else int(cursor) // (self.page_size or 1) + 1

    def _written_page(self, cursor: str | None) -> dict[str, Any]:
        if self.pages is None or cursor not in self.pages:
            raise UpstreamRefused("unknown cursor", rpc_code=INVALID_PARAMS)
        page = dict(self.pages[cursor])
        if self.era == "modern":
            hints = {"resultType": "complete", "ttlMs": self.ttl_ms, "cacheScope": self.scope}
            page = {**hints, **page}
        return page


class _Connection:
    """One live connection to a scripted server."""

    def __init__(
        self, script: ScriptedUpstream, server: ServerSettings, signals: Signals, number: int
    ) -> None:
        self._script = script
        self._server = server
        self._number = number
        self.signals = signals
        self._reason = ""
        self._over = anyio.Event()
        self._flying: dict[anyio.CancelScope, None] = {}
        self.facts = script.facts()
        self.stderr = ""

    @property
    def closed(self) -> bool:
        return self._over.is_set()

    def end(self, reason: str) -> None:
        """Ends the connection; requests under way fail."""
        if not self.closed:
            self._reason = reason
            self._over.set()
            self._script.forget(self)
            for scope in self._flying:
                scope.cancel()

    async def wait_closed(self) -> str:
        await self._over.wait()
        return self._reason

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        await anyio.lowlevel.checkpoint()

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        headers: Mapping[str, str] | None = None,
        context: RequestContext | None = None,
    ) -> dict[str, Any]:
        del progress, headers
        if not self.closed:
            scope = anyio.CancelScope()
            self._flying[scope] = None
            try:
                with scope, anyio.fail_after(timeout) as deadline:
                    heeded = _unhurried(context, deadline)
                    return await self._answer(method, dict(params or {}), heeded)
            except TimeoutError:
                raise RequestTimedOut(f"{method} timed out", server=self._server.id) from None
            finally:
                del self._flying[scope]
        raise UpstreamUnreachable(self._reason, server=self._server.id)

    async def _answer(
        self, method: str, params: dict[str, Any], context: RequestContext | None
    ) -> dict[str, Any]:
        kind = next((kind for kind in Kind if kind.method == method), None)
        if kind is None:
            self._script.calls.append((method, params))
            self._script.contexts.append(context)
            return await self._script.call_for(self._number, method, params)
        return await self._list(kind, params)

    async def _list(self, kind: Kind, params: dict[str, Any]) -> dict[str, Any]:
        script, faults = self._script, self._script.faults
        cursor = params.get("cursor")
        script.requests[kind] += 1
        script.asked.append(params)
        if cursor is None:
            script.walks[kind] += 1
        if faults.hang:
            await anyio.sleep_forever()
        if cursor is not None and faults.refuse_cursors > 0:
            faults.refuse_cursors -= 1
            raise UpstreamRefused("unknown cursor", rpc_code=INVALID_PARAMS)
        page = script.list_for(self._number, kind, cursor)
        number = script.page_number(cursor)
        if script.latency:
            await anyio.sleep(script.latency)
        if faults.lists is not None and faults.page in {None, number}:
            raise faults.lists
        if faults.signal_on_list:
            self.signals.notified(CHANGED[kind], {})
        return page


def _unhurried(
    context: RequestContext | None, deadline: anyio.CancelScope
) -> RequestContext | None:
    """The context, with the time in which its `ask` is answered taken out of the time-out."""
    if context is None or context.ask is None:
        return context
    ask = context.ask

    async def timed(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        left = deadline.deadline - anyio.current_time()
        deadline.deadline = math.inf
        try:
            return await ask(method, params)
        finally:
            deadline.deadline = anyio.current_time() + left

    return replace(context, ask=timed)
