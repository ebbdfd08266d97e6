"""The control channel of a scripted server in another process: `POST /control` on its own port.

Its own, because the server's port is closed while the server is down, and what it counts must not
count us.
"""

import json
from collections.abc import Mapping
from typing import Any

import anyio
import h11
from anyio.abc import SocketStream

from toolcrib.testing.server.handle import Perform
from toolcrib.testing.server.http_server import HttpRequest
from toolcrib.testing.server.jsonform import from_json, to_json

__all__ = ["ControlPort", "RemoteControl"]

_READ = 65_536


class ControlPort:
    """Answers `{"operation", "arguments"}` with `{"result"}`, or with 400 and `{"error"}`."""

    def __init__(self, perform: Perform) -> None:
        self._perform = perform

    async def serve(self, http: HttpRequest) -> None:
        """Serve one request; browsers are turned away, for no page may switch a local server."""
        if "origin" in http.headers:
            await http.respond(403)
        elif (http.method, http.path) != ("POST", "/control"):
            await http.respond(404)
        else:
            status, answer = await self._answer(http.body)
            headers = {"content-type": "application/json"}
            await http.respond(status, headers, json.dumps(answer).encode())

    async def _answer(self, body: bytes) -> tuple[int, Mapping[str, Any]]:
        try:
            asked = from_json(json.loads(body))
            result = await self._perform(asked["operation"], **asked.get("arguments", {}))
        except (ValueError, TypeError, KeyError) as error:
            return 400, {"error": str(error)}
        return 200, {"result": to_json(result)}


class RemoteControl:
    """Performs operations over the control port of another process."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __call__(self, operation: str, /, **arguments: Any) -> Any:
        """Carry out one operation there. Raises `ValueError` where it cannot be done."""
        asked = {"operation": operation, "arguments": to_json(arguments)}
        async with await anyio.connect_tcp("127.0.0.1", self._port) as stream:
            answer: dict[str, Any] = json.loads(await _post(stream, json.dumps(asked).encode()))
        if "error" in answer:
            raise ValueError(answer["error"])
        return from_json(answer["result"])


async def _post(stream: SocketStream, body: bytes) -> bytes:
    """Post a body to `/control`; the body of the answer."""
    http = h11.Connection(h11.CLIENT)
    headers = [("host", "127.0.0.1"), ("content-length", str(len(body)))]
    events = [
        h11.Request(method="POST", target="/control", headers=headers),
        h11.Data(data=body),
        h11.EndOfMessage(),
    ]
    await stream.send(b"".join(http.send(event) or b"" for event in events))
    received = bytearray()
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(await stream.receive(_READ))
        elif isinstance(event, h11.Data):
            received += event.data
        elif isinstance(event, h11.EndOfMessage):
            return bytes(received)
