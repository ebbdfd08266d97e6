"""Drives an HTTP transport with the SDK's dispatcher and nothing else, and notes what comes out."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

import anyio
from anyio.abc import TaskStatus
from mcp.shared._context_streams import ContextReceiveStream
from mcp.shared.dispatcher import CallOptions, DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext

from toolcrib.adapters.background import background
from toolcrib.adapters.http.sse_transport import open_sse
from toolcrib.adapters.http.transport import open_streamable_http
from toolcrib.adapters.http.wire import HttpFacts, Outbox
from toolcrib.settings import HttpLaunch, Limits, Secret
from toolcrib.testing.raw_http import RawExchange

__all__ = [
    "HANDSHAKE",
    "MODERN",
    "HttpRig",
    "WatchLog",
    "answer_plainly",
    "drive_http",
    "drive_sse",
    "launch_of",
]

MODERN: Final = {"mcp-protocol-version": "2026-07-28"}
_LIMITS: Final = Limits()
HANDSHAKE: Final = {"mcp-protocol-version": "2025-11-25"}

Streams = tuple[ContextReceiveStream[SessionMessage | Exception], Outbox, HttpFacts]


class WatchLog:
    """Notes how the signal stream stood, as a list of words."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.reasons: list[str] = []
        self._changed = anyio.Event()

    def _note(self, event: str, reason: str) -> None:
        self.events.append(event)
        self.reasons.append(reason)
        self._changed.set()
        self._changed = anyio.Event()

    def stream_opened(self) -> None:
        """Notes `opened`."""
        self._note("opened", "")

    def stream_lost(self, reason: str) -> None:
        """Notes `lost`."""
        self._note("lost", reason)

    def stream_refused(self, reason: str) -> None:
        """Notes `refused`."""
        self._note("refused", reason)

    async def wait_for(self, event: str, times: int = 1) -> None:
        """Wait until an event was noted so many times."""
        while self.events.count(event) < times:
            await self._changed.wait()


async def answer_plainly(request: RawExchange) -> None:
    """A handshake-era server with a session and no signal stream."""
    if request.method != "POST":
        await request.reply(405)
    elif request.message["method"] == "initialize":
        await request.reply(
            200,
            json.dumps(
                {"jsonrpc": "2.0", "id": request.message["id"], "result": {"ok": 1}}
            ).encode(),
            content_type="application/json",
            mcp_session_id="s-1",
        )
    elif "id" in request.message:
        await request.answer(result={"echo": request.message["method"]})
    else:
        await request.reply(202)


class HttpRig:
    """A dispatcher over a transport, and all it heard unasked."""

    def __init__(self, streams: Streams, watch: WatchLog) -> None:
        read, write, self.facts = streams
        self.watch = watch
        self.write = write
        self.heard: list[str] = []
        """Methods of notifications and requests of the server, in order."""
        self.faults: list[Exception] = []
        """What the transport passed on as an exception."""
        self.ended = anyio.Event()
        """Set once the dispatcher has ended because the read stream did."""
        self._arrived = anyio.Event()
        self.dispatcher = JSONRPCDispatcher(read, write, on_stream_exception=self._trouble)

    async def _trouble(self, error: Exception) -> None:
        self.faults.append(error)

    async def _asked(
        self,
        context: DispatchContext[TransportContext],
        method: str,
        params: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        self._note(method)
        return {"action": "decline"}

    async def _told(
        self,
        context: DispatchContext[TransportContext],
        method: str,
        params: Mapping[str, Any] | None,
    ) -> None:
        self._note(method)

    def _note(self, method: str) -> None:
        self.heard.append(method)
        self._arrived.set()
        self._arrived = anyio.Event()

    async def wait_heard(self, times: int) -> None:
        """Wait until so many messages came unasked."""
        while len(self.heard) < times:
            await self._arrived.wait()

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Dispatch until the read stream ends."""
        await self.dispatcher.run(self._asked, self._told, task_status=task_status)
        self.ended.set()

    async def ask(
        self, method: str = "tools/call", headers: Mapping[str, str] = MODERN, **options: Any
    ) -> dict[str, Any]:
        """Send a request with the headers of an era."""
        opts = CallOptions(headers=dict(headers), **options)
        return await self.dispatcher.send_raw_request(method, {"name": "t"}, opts)

    async def fail(
        self, method: str = "tools/call", headers: Mapping[str, str] = MODERN
    ) -> MCPError:
        """Send a request that must end in an error; the error."""
        try:
            await self.ask(method, headers)
        except MCPError as error:
            return error
        raise AssertionError(f"{method} was answered")

    async def shake_hands(self) -> dict[str, Any]:
        """Go through the handshake of 2025-11-25."""
        result = await self.dispatcher.send_raw_request("initialize", {})
        await self.dispatcher.notify(
            "notifications/initialized", None, CallOptions(headers=dict(HANDSHAKE))
        )
        return result


def launch_of(url: str, **headers: str) -> HttpLaunch:
    """A launch; `_` in a header's name stands for `-`."""
    named = {name.replace("_", "-"): Secret(value) for name, value in headers.items()}
    return HttpLaunch(Secret(url), headers=named)


@asynccontextmanager
async def _driven(
    transport: AbstractAsyncContextManager[Streams], watch: WatchLog
) -> AsyncGenerator[HttpRig]:
    async with transport as streams, background() as tasks:
        rig = HttpRig(streams, watch)
        await tasks.start(rig.run)
        yield rig


def drive_http(
    launch: HttpLaunch, *, limits: Limits = _LIMITS, **options: Any
) -> AbstractAsyncContextManager[HttpRig]:
    """A rig over Streamable HTTP."""
    watch = WatchLog()
    return _driven(open_streamable_http(launch, limits=limits, watch=watch, **options), watch)


def drive_sse(
    launch: HttpLaunch, *, limits: Limits = _LIMITS, **options: Any
) -> AbstractAsyncContextManager[HttpRig]:
    """A rig over HTTP+SSE."""
    watch = WatchLog()
    return _driven(open_sse(launch, limits=limits, watch=watch, **options), watch)
