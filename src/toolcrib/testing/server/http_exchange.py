"""One request over Streamable HTTP: answered as JSON, as an event stream, or in no proper way."""

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, assert_never

from toolcrib.testing.server.actions import Cut, Drop, Exit, Forget, Garble, Refuse
from toolcrib.testing.server.behaviour import Profile
from toolcrib.testing.server.exchange import Broken
from toolcrib.testing.server.http_server import HttpRequest
from toolcrib.testing.server.http_sessions import Sessions
from toolcrib.testing.server.revision import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    Rejection,
    check_headers,
    is_modern,
)
from toolcrib.testing.server.tally import Heard

__all__ = ["SESSION_HEADER", "HttpExchange", "encode"]

SESSION_HEADER: Final = "mcp-session-id"
_JSON: Final = {"content-type": "application/json"}


def encode(message: Mapping[str, Any]) -> bytes:
    """A message as it goes over a wire: on one line."""
    return json.dumps(message).encode()


class HttpExchange:
    """One POST."""

    def __init__(
        self,
        http: HttpRequest,
        request: Mapping[str, Any],
        profile: Profile,
        sessions: Sessions,
        down: Callable[[], None],
    ) -> None:
        self.heard = Heard(str(request["method"]), request, http.headers)
        self._http = http
        self._request = request
        self._profile = profile
        self._sessions = sessions
        self._down = down

    @property
    def peer(self) -> object:
        """The session; a modern request stands alone: closing its stream is what cancels it."""
        return self._http if is_modern(self._request) else self._http.headers.get(SESSION_HEADER)

    def reject(self, request: Mapping[str, Any], *, modern: bool) -> Rejection | None:
        """Hold the headers against the body of a modern request, or against the known sessions."""
        if modern:
            return check_headers(request, self._http.headers) if self._profile.strict else None
        if request["method"] == "initialize":
            return None
        if not self._profile.handshake:
            return Rejection(INVALID_PARAMS, "_meta lacks the envelope", status=400)
        if not self._profile.sessions:
            return None
        session = self._http.headers.get(SESSION_HEADER)
        if session is None:
            return Rejection(INVALID_REQUEST, "the session id is missing", status=400)
        if not self._sessions.knows(session):
            return Rejection(INVALID_REQUEST, "no such session", status=404)
        return None

    async def accept(self) -> None:
        """Nothing to do: the status comes with the answer."""

    async def open(self) -> None:
        """Begin an event stream, unless it is begun."""
        if not self._http.begun:
            await self._http.begin_events(self._new_session())

    async def say(self, message: Mapping[str, Any], count: int = 1) -> None:
        """Send the message on the event stream of this request."""
        await self.open()
        await self._http.send_event(encode(message), count=count)

    async def answer(self, message: Mapping[str, Any], status: int) -> None:
        """Answer in the form that was begun, or that the profile prefers."""
        if self._profile.event_answers and status == HTTPStatus.OK:
            await self.open()
        if self._http.begun:
            await self._http.send_event(encode(message))
            await self._http.end_events()
        else:
            headers = {**_JSON, **(self._new_session() if "result" in message else {})}
            await self._http.respond(status, headers, encode(message))

    def _new_session(self) -> Mapping[str, str]:
        """The header that begins a session, where this request is one that does."""
        if self._request["method"] != "initialize" or not self._profile.sessions:
            return {}
        return {SESSION_HEADER: self._sessions.begin()}

    async def make_noise(self, line: str, to: str) -> None:
        """There is no place for noise over HTTP."""
        raise AssertionError("the rulebook lets no such rule be made over HTTP")

    async def hang_up(self) -> None:
        """End the event stream as a proxy ends it: in an orderly way, without an answer."""
        await self.open()
        await self._http.end_events()

    async def end(self, how: Broken, message: Mapping[str, Any]) -> None:
        """End it as told."""
        match how:
            case Refuse():
                await self._http.respond(how.status, how.headers, how.body.encode())
            case Garble() if self._http.begun:
                await self._http.send_event(how.text.encode())
                await self._http.end_events()
            case Garble():
                await self._http.respond(200, _JSON, how.text.encode())
            case Cut():
                await self._http.break_off(encode(message))
            case Drop():
                await self._http.break_off()
            case Forget():
                self._sessions.forget(self._http.headers.get(SESSION_HEADER))
                await self._http.respond(404)
            case Exit():
                self._down()
            case _:
                assert_never(how)
