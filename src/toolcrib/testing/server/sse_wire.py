"""The scripted server over HTTP+SSE: a stream on GET, messages by POST (MCP 2024-11-05)."""

import secrets
from collections.abc import Mapping
from typing import Any, assert_never

import anyio
from anyio.abc import TaskGroup

from toolcrib.settings import HttpLaunch, Secret
from toolcrib.testing.server.actions import (
    Cut,
    Drop,
    Ending,
    Exit,
    Forget,
    Garble,
    Hang,
    Mute,
    Refuse,
)
from toolcrib.testing.server.exchange import Broken
from toolcrib.testing.server.http_exchange import encode
from toolcrib.testing.server.http_host import HttpHost
from toolcrib.testing.server.http_server import HttpRequest
from toolcrib.testing.server.http_wire import read_message
from toolcrib.testing.server.outlets import Outlet, cancelled
from toolcrib.testing.server.revision import Rejection
from toolcrib.testing.server.script import Script
from toolcrib.testing.server.serving import attend, serve
from toolcrib.testing.server.tally import Heard

__all__ = ["SseWire"]


class SseWire(HttpHost):
    """Serves `/sse`, and `/messages` for those who have a stream there."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self._clients: dict[str, _Client] = {}

    @property
    def launch(self) -> HttpLaunch:
        """How a client reaches it."""
        return HttpLaunch(Secret(self.url("/sse")), transport="sse")

    async def _serve(self, http: HttpRequest) -> None:
        match (http.method, http.path):
            case ("GET", "/sse"):
                await self._get(http)
            case ("POST", "/messages"):
                await self._post(http)
            case (_, "/sse" | "/messages"):
                await http.respond(405)
            case _:
                await http.respond(404)

    # ------------------------------------------------------------ the stream

    async def _get(self, http: HttpRequest) -> None:
        self._script.tally.keep(Heard("GET", headers=http.headers))
        self._script.tally.count("requests", "GET")
        match await attend(self._script, self._script.rules.take("GET", request=False)):
            case Refuse() as refusal:
                await http.respond(refusal.status, refusal.headers, refusal.body.encode())
            case Hang():
                await anyio.sleep_forever()
            case Exit():
                self.down()
            case ending:
                await self._stream(http, ending)

    async def _stream(self, http: HttpRequest, ending: Ending | None) -> None:
        async with anyio.create_task_group() as tasks:
            client = _Client(http, tasks, self)
            outlet = Outlet(client.say, mute=isinstance(ending, Mute))
            name = secrets.token_hex(8)
            self._clients[name] = client
            try:
                with self._script.outlets.opened(outlet):
                    await http.begin_events()
                    if not isinstance(ending, Mute):
                        address = f"/messages?session={name}".encode()
                        await http.send_event(address, event="endpoint")
                    if not isinstance(ending, Drop):
                        await outlet.wait_ended()
                await http.end_events()
            finally:
                del self._clients[name]
                tasks.cancel_scope.cancel()

    # ------------------------------------------------------------ POST

    async def _post(self, http: HttpRequest) -> None:
        client = self._clients.get(http.query.get("session", ""))
        message = read_message(http.body)
        if client is None:
            await http.respond(404)
        elif message is None:
            self._script.tally.add(unreadable=1)
            await http.respond(400)
        elif "method" in message and "id" in message:
            exchange = _SseExchange(client, message, http)
            client.tasks.start_soon(serve, self._script, message, exchange)
            refusal = await exchange.decision()
            await self._acknowledge(http, refusal)
        else:
            heard = Heard(str(message.get("method", "")), message, http.headers)
            actions = self._script.notice(message, heard, client)
            await self._acknowledge(http, await attend(self._script, actions))

    async def _acknowledge(self, http: HttpRequest, ending: Ending | None) -> None:
        match ending:
            case Refuse():
                await http.respond(ending.status, ending.headers, ending.body.encode())
            case Drop():
                await http.break_off()
            case Exit():
                self.down()
            case _:
                await http.respond(202)


class _Client:
    """One stream, and what is served over it."""

    def __init__(self, http: HttpRequest, tasks: TaskGroup, host: HttpHost) -> None:
        self.http = http
        self.tasks = tasks
        self.host = host

    async def say(self, message: Mapping[str, Any], count: int = 1) -> None:
        """Send a message on the stream."""
        await self.http.send_event(encode(message), count=count)


class _SseExchange:
    """One request, answered on the client's stream."""

    def __init__(self, client: _Client, request: Mapping[str, Any], http: HttpRequest) -> None:
        self.peer: object = client
        self.heard = Heard(str(request["method"]), request, http.headers)
        self._client = client
        self._id = request["id"]
        self._refusal: Refuse | None = None
        self._decided = anyio.Event()

    async def decision(self) -> Refuse | None:
        """Wait until it is known whether the POST is refused, and how."""
        await self._decided.wait()
        return self._refusal

    def reject(self, request: Mapping[str, Any], *, modern: bool) -> Rejection | None:
        """This wire asks for nothing."""
        return None

    async def accept(self) -> None:
        """The POST is accepted; the answer comes on the stream."""
        self._decided.set()

    async def open(self) -> None:
        """Nothing to do: every message belongs to the one stream."""

    async def say(self, message: Mapping[str, Any], count: int = 1) -> None:
        """Send the message."""
        await self._client.say(message, count)

    async def answer(self, message: Mapping[str, Any], status: int) -> None:
        """Send the answer."""
        await self._client.say(message)

    async def make_noise(self, line: str, to: str) -> None:
        """There is no place for noise over HTTP."""
        raise AssertionError("the rulebook lets no such rule be made over HTTP")

    async def hang_up(self) -> None:
        """Cancel the request from the server's side: it has no stream of its own to end."""
        await self._client.say(cancelled(self._id))

    async def end(self, how: Broken, message: Mapping[str, Any]) -> None:
        """End it as told."""
        match how:
            case Refuse():
                self._refusal = how
                self._decided.set()
            case Garble():
                await self._client.http.send_event(how.text.encode())
            case Cut():
                await self._client.http.break_off(encode(message))
            case Drop():
                await self._client.http.break_off()
            case Exit():
                self._client.host.down()
            case Forget():
                raise AssertionError("the rulebook lets no such rule be made on this transport")
            case _:
                assert_never(how)
