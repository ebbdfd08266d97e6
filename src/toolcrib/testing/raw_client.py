"""Clients without a library: JSON-RPC by hand, over a process's pipes and over HTTP."""

import json
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import httpx2
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from toolcrib.settings import HttpLaunch, StdioLaunch

__all__ = [
    "RawHttp",
    "RawPipe",
    "enveloped",
    "headers_of",
    "message_in",
    "raw_http",
    "raw_pipe",
]

_LINE: Final = 64 * 1024 * 1024
_MODERN: Final = "2026-07-28"
_HANDSHAKE: Final = "2025-11-25"
_INFO: Final = {"name": "raw", "version": "0"}
_ACCEPT: Final = {"accept": "application/json, text/event-stream"}
HELLO: Final = {"protocolVersion": _HANDSHAKE, "capabilities": {}, "clientInfo": _INFO}


def enveloped(params: Mapping[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    """Parameters with the envelope of the stateless revision."""
    return {
        **(params or {}),
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": _MODERN,
            "io.modelcontextprotocol/clientInfo": _INFO,
            "io.modelcontextprotocol/clientCapabilities": {},
            **meta,
        },
    }


def headers_of(message: Mapping[str, Any]) -> dict[str, str]:
    """The headers that a message of the stateless revision is posted with."""
    headers = {"mcp-protocol-version": _MODERN, "mcp-method": message["method"]}
    if message["method"] in {"tools/call", "prompts/get"}:
        headers["mcp-name"] = message["params"]["name"]
    return headers


class RawPipe:
    """A client at the pipes of one process."""

    def __init__(self, process: Process) -> None:
        self.process = process
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the process was started without pipes")
        self.stdin = process.stdin
        self._reader = BufferedByteReceiveStream(process.stdout)
        self._ids = 0
        self.passed: deque[dict[str, Any]] = deque()
        """Messages that `answer` read on its way, the oldest first."""

    async def send(self, message: Mapping[str, Any]) -> None:
        """Write one message."""
        await self.stdin.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def line(self) -> bytes:
        """The next line, whatever it is."""
        return await self._reader.receive_until(b"\n", _LINE)

    async def next(self) -> dict[str, Any]:
        """The next message."""
        return self.passed.popleft() if self.passed else json.loads(await self.line())

    async def begin(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a request; its id."""
        self._ids += 1
        await self.send({"id": self._ids, "method": method, "params": dict(params or {})})
        return self._ids

    async def answer(self, request_id: int) -> dict[str, Any]:
        """The answer to a request; what comes before it is kept for `next`."""
        while True:
            message: dict[str, Any] = json.loads(await self.line())
            if message.get("id") == request_id and "method" not in message:
                return message
            self.passed.append(message)

    async def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The answer to one request of the stateless revision."""
        return await self.answer(await self.begin(method, enveloped(params)))

    async def ask_plainly(
        self, method: str, params: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The answer to one request of a handshake revision."""
        return await self.answer(await self.begin(method, params))

    async def shake_hands(self, **capabilities: Any) -> dict[str, Any]:
        """The answer to `initialize`, which declares these; `initialized` is sent too."""
        answer = await self.ask_plainly("initialize", {**HELLO, "capabilities": capabilities})
        await self.send({"method": "notifications/initialized"})
        return answer


@asynccontextmanager
async def raw_pipe(launch: StdioLaunch) -> AsyncGenerator[RawPipe]:
    """Start a server and hold its pipes; the process is killed on leaving, if it is still there."""
    env = {name: value.reveal() for name, value in launch.env.items()} or None
    command = [launch.command, *launch.args]
    async with await anyio.open_process(command, stderr=None, env=env, cwd=launch.cwd) as process:
        try:
            yield RawPipe(process)
        finally:
            if process.returncode is None:
                process.kill()


class RawHttp:
    """A client of one endpoint."""

    def __init__(self, url: str, http: httpx2.AsyncClient) -> None:
        self.url = url
        self.http = http
        self.session: dict[str, str] = {}
        """The headers of a session, once hands are shaken."""
        self._ids = 0

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A request with an id of its own."""
        self._ids += 1
        return {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": dict(params or {})}

    async def post(
        self, message: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        """Post any message with any headers; in the session, where there is one."""
        sent = {**_ACCEPT, **self.session, **(headers or {})}
        return await self.http.post(self.url, json=dict(message), headers=sent)

    async def ask(self, method: str, params: Mapping[str, Any] | None = None) -> httpx2.Response:
        """The answer to a request of the stateless revision."""
        message = self.request(method, enveloped(params))
        return await self.post(message, headers_of(message))

    async def ask_plainly(
        self, method: str, params: Mapping[str, Any] | None = None
    ) -> httpx2.Response:
        """The answer to a request of a handshake revision."""
        return await self.post(self.request(method, params))

    async def shake_hands(self) -> httpx2.Response:
        """The answer to `initialize`; the session is kept, and `initialized` is sent."""
        answer = await self.ask_plainly("initialize", HELLO)
        self.session = {"mcp-protocol-version": _HANDSHAKE}
        if session := answer.headers.get("mcp-session-id"):
            self.session["mcp-session-id"] = session
        await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    @asynccontextmanager
    async def stream(
        self, message: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[tuple[httpx2.Response, "Events"]]:
        """A GET stream, or the event stream that answers a message."""
        sent = {**_ACCEPT, **self.session, **(headers or {})}
        method = "GET" if message is None else "POST"
        async with self.http.stream(method, self.url, headers=sent, json=message) as response:
            yield response, Events(response)


def message_in(response: httpx2.Response) -> dict[str, Any]:
    """The answer in a whole response: its body, or the last message of its event stream.

    An answer that takes longer than a moment goes to hosts of the handshake revisions as a stream.
    """
    if response.headers["content-type"].startswith("application/json"):
        return response.json()
    told = [
        line.removeprefix("data:").strip()
        for line in response.text.splitlines()
        if line.startswith("data:")
    ]
    return json.loads([data for data in told if data][-1])


class Events:
    """The messages on an event stream, one after the other."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.aiter_lines()

    async def next(self) -> dict[str, Any]:
        """The next message. Raises `EOFError` where the stream ends in good order."""
        return json.loads(await self.next_data())

    async def next_data(self) -> str:
        """The data of the next event."""
        async for line in self._lines:
            if line.startswith("data: "):
                return line.removeprefix("data: ")
        raise EOFError


@asynccontextmanager
async def raw_http(launch: HttpLaunch, *, keep_alive: bool = False) -> AsyncGenerator[RawHttp]:
    """A client of that endpoint, with one connection for each request or one for all."""
    limits = httpx2.Limits(max_keepalive_connections=1 if keep_alive else 0)
    async with httpx2.AsyncClient(limits=limits, timeout=10, trust_env=False) as http:
        yield RawHttp(launch.url.reveal(), http)
