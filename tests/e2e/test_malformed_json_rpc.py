"""Malformed JSON-RPC on both pipes of a gateway: an error for the one concerned, and it goes on."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from toolcrib.testing.live.host import stdio_host
from toolcrib.testing.live.room import Room
from toolcrib.testing.raw_client import RawPipe, enveloped

MEGABYTE = 1024 * 1024
ERAS = ["modern", "handshake"]

SERVER = r'''
"""Says on its pipe whatever a call of `say` asks it to, before it answers with its process id."""
import json, os, sys

def put(line):
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()

def reply(to, **members):
    put(json.dumps({"jsonrpc": "2.0", "id": to, **members}).encode())

TOOLS = [{"name": "say", "inputSchema": {"type": "object"}}]
INFO = {"name": "says", "version": "1"}
HINTS = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
modern = sys.argv[1] == "modern"
for line in sys.stdin.buffer:
    message = json.loads(line)
    method, ours = message.get("method"), message.get("id")
    if method is None or ours is None:
        continue
    if method == "initialize" and not modern:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
        reply(ours, result={**hello, "serverInfo": INFO})
    elif method == "server/discover" and modern:
        versions = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        reply(ours, result={**HINTS, **versions})
    elif method == "tools/list":
        reply(ours, result={**HINTS, "tools": TOOLS} if modern else {"tools": TOOLS})
    elif method == "tools/call":
        given = message["params"].get("arguments", {})
        for text in given.get("lines", []):
            text = text.encode("latin-1").replace(b"$ID", json.dumps(ours).encode())
            put(text.replace(b"$BIG", b"x" * given.get("size", 0)))
        reply(ours, result={"content": [{"type": "text", "text": str(os.getpid())}]})
    else:
        reply(ours, error={"code": -32601, "message": "Method not found"})
'''

HEAD = '{"jsonrpc":"2.0",'
FINE = HEAD + '"id":$ID,"result":{"content":[{"type":"text","text":"first"}]}}'
BIG_ANSWER = HEAD + '"id":$ID,"result":{"content":[{"type":"text","text":"$BIG"}]}}'

NOISE: dict[str, list[str]] = {
    "garbage": ["hello", "}", "{", "\x00\x01", '"text"', "7", "null", "[]"],
    "no message": ["{}", '{"jsonrpc":"2.0"}', '{"id":1}', HEAD + '"method":5}'],
    "cut, without an id": ['{"jsonrpc":"2.0","res', '{"jsonrpc":"2.0","method":"notifi'],
    "a foreign id": [HEAD + '"id":99999,"result":{}}', HEAD + '"id":"x","result":{}}'],
    "an id that is none": [
        HEAD + f'"id":{bad},"result":{{}}}}' for bad in ("null", "1.5", "true", "{}", "[]", "NaN")
    ],
    "an error for nobody": [HEAD + '"id":99999,"error":{"code":1,"message":"?"}}'],
    "a batch": ['[{"jsonrpc":"2.0","id":$ID,"result":{}}]'],
    "a request": [HEAD + '"id":1,"method":"tools/call","params":{"name":"say"}}'],
    "a request without a usable id": [HEAD + '"id":{},"method":"ping"}'],
    "the same request twice": [HEAD + '"id":7,"method":"ping"}', HEAD + '"id":7,"method":"ping"}'],
    "odd notifications": [
        HEAD + '"method":"notifications/progress","params":[]}',
        HEAD + '"method":"notifications/progress","params":{"progressToken":$ID,"progress":"x"}}',
        HEAD + '"method":"notifications/cancelled","params":{"requestId":$ID}}',
        HEAD + '"method":"no/such/thing","params":{"a":1}}',
    ],
    "no UTF-8": ["\xff\xfe{}", HEAD + '"method":"\xc3\x28"}'],
    "a giant line": ["$BIG"],
    "a giant message for nobody": [HEAD + '"method":"x","params":{"a":"$BIG"}}'],
}
"""What a server says beside its answer: it costs nobody anything."""

SPOILT: dict[str, list[str]] = {
    "cut inside": [HEAD + '"id":$ID,"result":{"content":[{"ty'],
    "cut inside a number": [HEAD + '"id":$ID,"result":{"n":12'],
    "no object": [HEAD + '"id":$ID,"result":[]}'],
    "an error that is none": [HEAD + '"id":$ID,"error":"boom"}'],
    "neither": [HEAD + '"id":$ID,"result":null}'],
    "a giant answer": [BIG_ANSWER],
}
"""What a server says in place of its answer: it costs that call alone."""

ONE_OF_BOTH: dict[str, list[str]] = {
    "both": [HEAD + '"id":$ID,"result":{"content":[]},"error":{"code":1,"message":"both"}}'],
    "nothing": [HEAD + '"id":$ID}'],
    "its id twice": [HEAD + '"id":$ID,"id":99999,"result":{"content":[]}}'],
    "no UTF-8 in it": [HEAD + '"id":$ID,"result":{"content":[{"type":"text","text":"\xff"}]}}'],
}
"""What can be taken in two ways: one answer comes, whichever."""

SIZE = 20 * MEGABYTE


class Live:
    """A host on one pipe of a gateway, with that server on the other."""

    def __init__(self, pipe: RawPipe, *, modern: bool) -> None:
        self.pipe = pipe
        self.modern = modern

    async def begin(self, **arguments: Any) -> int:
        params = {"name": "s__say", "arguments": arguments}
        return await self.pipe.begin("tools/call", enveloped(params) if self.modern else params)

    async def say(self, *lines: str, size: int = 0) -> dict[str, Any]:
        """The response to a call in which the server says these lines first."""
        with anyio.fail_after(100):
            return await self.pipe.answer(await self.begin(lines=list(lines), size=size))

    async def process(self) -> str:
        """The server's process, which answers a plain call."""
        return text_of(await self.say())

    async def line(self, line: bytes) -> None:
        """Whatever a host may write."""
        with anyio.fail_after(100):
            await self.pipe.stdin.send(line + b"\n")

    async def error(self) -> dict[str, Any]:
        """The next message, which has to be an error; notifications are passed by."""
        with anyio.fail_after(100):
            while "method" in (message := await self.pipe.next()):
                pass
        return {"id": message["id"], "code": message["error"]["code"]}


def text_of(response: dict[str, Any]) -> str:
    result = response["result"]
    assert result.get("isError") is not True, result
    return result["content"][0]["text"]


@asynccontextmanager
async def live(room: Room, host_era: str, server_era: str) -> AsyncGenerator[Live]:
    script = room.write("says.py", SERVER)
    entry = {"command": "python3", "args": [str(script), server_era]}
    config = room.configure({"s": entry})
    async with stdio_host(room, "--config", config, "--exposure", "full") as pipe:
        host = Live(pipe, modern=host_era == "modern")
        with anyio.fail_after(100):
            if host.modern:
                await pipe.ask("tools/list")
            else:
                await pipe.shake_hands()
                await pipe.ask_plainly("tools/list")
        yield host


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
async def test_what_a_server_says_beside_its_answers_costs_one_call_at_most(
    room: Room, era: str
) -> None:
    async with live(room, "modern", era) as host:
        process = await host.process()
        for name, lines in NOISE.items():
            assert text_of(await host.say(*lines, size=SIZE)) == process, name
        for name, lines in SPOILT.items():
            response = await host.say(*lines, size=SIZE)
            assert response["result"]["isError"] is True, (name, response)
            assert "Traceback" not in json.dumps(response), name
            assert await host.process() == process, name
        for name, lines in ONE_OF_BOTH.items():
            response = await host.say(*lines)
            assert ("result" in response) != ("error" in response), name
            assert await host.process() == process, name
        assert text_of(await host.say(FINE)) == "first", "the second answer is nobody's"
        assert await host.process() == process


REFUSED: dict[str, tuple[bytes, int]] = {
    "garbage": (b"hello", -32700),
    "cut": (b'{"jsonrpc":"2.0","id":900,"method":"tools/ca', -32700),
    "two on a line": (b'{"jsonrpc":"2.0"}{"jsonrpc":"2.0"}', -32700),
    "a batch": (b'[{"jsonrpc":"2.0","id":901,"method":"ping"}]', -32600),
    "an empty batch": (b"[]", -32600),
    "a number": (b"7", -32600),
    "no version": (b'{"id":902,"method":"ping"}', -32600),
    "no UTF-8": (b'\xff\xfe{"jsonrpc":"2.0","id":903,"method":"ping"}', -32700),
    "NaN": (b'{"jsonrpc":"2.0","id":904,"method":"ping","params":{"a":NaN}}', -32700),
    "too deep": (b"[" * 200_000, -32700),
    "a giant line": (b"x" * SIZE, -32600),
    "a giant call": (
        b'{"jsonrpc":"2.0","id":905,"method":"ping","params":{"a":"' + b"x" * SIZE + b'"}}',
        -32600,
    ),
    **{
        f"the id {bad}": (HEAD.encode() + f'"id":{bad},"method":"ping"}}'.encode(), -32600)
        for bad in ("null", "true", "1.5", "{}", "[1]")
    },
    "params that are a list": (HEAD.encode() + b'"id":906,"method":"ping","params":[]}', -32600),
}
"""Lines of a host that are answered with an error of no id, because theirs cannot be relied on."""

IGNORED: dict[str, bytes] = {
    "an empty line": b"",
    "white space": b" \t\r",
    "a result that nobody asked for": HEAD.encode() + b'"id":907,"result":{}}',
    "an error that nobody asked for": HEAD.encode() + b'"id":"x","error":{"code":1,"message":"?"}}',
    "both": HEAD.encode() + b'"id":908,"result":{},"error":{"code":1,"message":"?"}}',
    "a cancellation of nothing": HEAD.encode()
    + b'"method":"notifications/cancelled","params":{"requestId":909}}',
    "progress of nothing": HEAD.encode()
    + b'"method":"notifications/progress","params":{"progressToken":9,"progress":1}}',
    "an odd notification": HEAD.encode() + b'"method":"no/such/thing","params":{"x":[]}}',
}
"""Lines that nobody waits for an answer to."""


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
async def test_what_a_host_writes_is_answered_once_at_most_and_its_next_call_is_served(
    room: Room, era: str
) -> None:
    async with live(room, era, "handshake") as host:
        process = await host.process()
        for name, (line, code) in REFUSED.items():
            await host.line(line)
            assert await host.error() == {"id": None, "code": code}, name
            assert await host.process() == process, name
        for name, line in IGNORED.items():
            await host.line(line)
            assert await host.process() == process, name
        assert not [one for one in host.pipe.passed if "method" not in one], "unasked answers"


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
async def test_an_id_that_is_used_twice_at_once_harms_no_other_request(
    room: Room, era: str
) -> None:
    async with live(room, era, "handshake") as host:
        process = await host.process()
        params: dict[str, Any] = {"name": "s__say", "arguments": {}}
        whole = enveloped(params) if host.modern else params
        twice = {"id": 900, "method": "tools/call", "params": whole}
        with anyio.fail_after(100):
            await host.pipe.send(twice)
            await host.pipe.send(twice)
            await host.pipe.answer(900)
        assert await host.process() == process
        assert await host.process() == process
