"""The scripted server over Streamable HTTP: POST in both eras, and what the handshake adds."""

import json
from collections.abc import Mapping
from typing import Any, cast

import anyio

from toolcrib.settings import HttpLaunch, Secret
from toolcrib.testing.server.actions import Drop, Exit, Forget, Hang, Mute, Refuse
from toolcrib.testing.server.http_exchange import SESSION_HEADER, HttpExchange, encode
from toolcrib.testing.server.http_host import HttpHost
from toolcrib.testing.server.http_server import HttpRequest
from toolcrib.testing.server.http_sessions import Sessions
from toolcrib.testing.server.outlets import Outlet
from toolcrib.testing.server.revision import PARSE_ERROR
from toolcrib.testing.server.script import Script
from toolcrib.testing.server.serving import attend, serve
from toolcrib.testing.server.tally import Heard

__all__ = ["HttpWire", "read_message"]


def read_message(body: bytes) -> dict[str, Any] | None:
    """The one message in a body; None for anything else."""
    try:
        message: object = json.loads(body)
    except ValueError:
        return None
    return cast("dict[str, Any]", message) if isinstance(message, dict) else None


class HttpWire(HttpHost):
    """Serves `/mcp` on a loopback port."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self._sessions = Sessions()

    @property
    def launch(self) -> HttpLaunch:
        """How a client reaches it."""
        return HttpLaunch(Secret(self.url("/mcp")), transport="streamable")

    async def forget_sessions(self) -> None:
        """Know no session any longer: 404 for each of them."""
        self._sessions.forget_all()
        await anyio.lowlevel.checkpoint()

    async def _serve(self, http: HttpRequest) -> None:
        match http.method:
            case _ if http.path != "/mcp":
                await http.respond(404)
            case "POST":
                await self._post(http)
            case "GET" if self._script.profile.handshake:
                await self._get(http)
            case "DELETE" if self._script.profile.handshake and self._script.profile.sessions:
                await self._delete(http)
            case _:
                await http.respond(405, {"allow": "POST"})

    # ------------------------------------------------------------ POST

    async def _post(self, http: HttpRequest) -> None:
        message = read_message(http.body)
        if message is None:
            self._script.tally.add(unreadable=1)
            error = {"code": PARSE_ERROR, "message": "no JSON-RPC message"}
            body = encode({"jsonrpc": "2.0", "id": None, "error": error})
            await http.respond(400, {"content-type": "application/json"}, body)
        elif "method" in message and "id" in message:
            await self._request(http, message)
        else:
            await self._notice(http, message)

    async def _request(self, http: HttpRequest, request: Mapping[str, Any]) -> None:
        exchange = HttpExchange(http, request, self._script.profile, self._sessions, self.down)
        try:
            await serve(self._script, request, exchange)
        finally:
            if http.left:
                self._script.tally.add(gave_up=1)
        if not http.answered:  # cancelled by a notification: there is nothing to say any more
            await http.break_off()

    async def _notice(self, http: HttpRequest, message: Mapping[str, Any]) -> None:
        heard = Heard(str(message.get("method", "")), message, http.headers)
        session = http.headers.get(SESSION_HEADER)
        actions = self._script.notice(message, heard, session)
        match await attend(self._script, actions):
            case Refuse() as refusal:
                await http.respond(refusal.status, refusal.headers, refusal.body.encode())
            case Drop():
                await http.break_off()
            case Exit():
                self.down()
            case _ if session is not None and not self._sessions.knows(session):
                await http.respond(404)
            case _:
                await http.respond(202)

    # ------------------------------------------------------------ the stream and the end of a
    # session

    async def _get(self, http: HttpRequest) -> None:
        match await attend(self._script, self._arrive(http)):
            case Refuse() as refusal:
                await http.respond(refusal.status, refusal.headers, refusal.body.encode())
            case Hang():
                await anyio.sleep_forever()
            case Exit():
                self.down()
            case Forget():
                self._sessions.forget(http.headers.get(SESSION_HEADER))
                await http.respond(404)
            case Drop():
                await self._stream(http, dropped=True)
            case Mute():
                await self._stream(http, mute=True)
            case _:
                await self._stream(http)

    def _arrive(self, http: HttpRequest) -> tuple[Any, ...]:
        self._script.tally.keep(Heard(http.method, headers=http.headers))
        self._script.tally.count("requests", http.method)
        return self._script.rules.take(http.method, request=False)

    async def _stream(
        self, http: HttpRequest, *, mute: bool = False, dropped: bool = False
    ) -> None:
        session = http.headers.get(SESSION_HEADER)
        status = self._refusal(session)
        if status is not None:
            await http.respond(status)
            return

        async def send(message: Mapping[str, Any], count: int) -> None:
            await http.send_event(encode(message), count=count)

        outlet = Outlet(send, mute=mute)
        with self._script.outlets.opened(outlet), self._sessions.streaming(session, outlet):
            await http.begin_events()
            if not dropped:
                await outlet.wait_ended()
        await http.end_events()

    def _refusal(self, session: str | None) -> int | None:
        """The status for a GET that gets no stream; None for one that does."""
        if self._script.profile.sessions:
            if session is None:
                return 400
            if not self._sessions.knows(session):
                return 404
        return 409 if self._sessions.has_stream(session) else None

    async def _delete(self, http: HttpRequest) -> None:
        session = http.headers.get(SESSION_HEADER)
        match await attend(self._script, self._arrive(http)):
            case Refuse() as refusal:
                await http.respond(refusal.status, refusal.headers, refusal.body.encode())
            case Hang():
                await anyio.sleep_forever()
            case Drop():
                await http.break_off()
            case Exit():
                self.down()
            case _:
                status = 200 if self._sessions.knows(session) else 404
                self._sessions.forget(session)
                await http.respond(status)
