"""The standard streams: whole lines, nothing else on them, and an end when one is asked for."""

import json
import os
import sys
from collections.abc import Generator
from io import FileIO
from typing import Any

import anyio
import pytest
from anyio import to_thread
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from toolcrib.core.partition import LOCAL
from toolcrib.testing.fake_service import FakeService
from toolcrib.testing.stream_host import enveloped
from toolcrib.wire.jsonwire import Result
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.service import HostRequest
from toolcrib.wire.stdio import pipes
from toolcrib.wire.streams import serve_streams

LINE_BYTES = 1_000_000


class Pipes:
    """Both ends of the two pipes that a host and a server share."""

    def __init__(self) -> None:
        self.stdin, to_stdin = os.pipe()
        from_stdout, self.stdout = os.pipe()
        self.to_server, self.from_server = FileIO(to_stdin, "wb"), FileIO(from_stdout, "rb")
        self.source, self.sink = FileIO(self.stdin, "rb"), FileIO(self.stdout, "wb")

    async def serve(self, service: FakeService) -> None:
        async with pipes(self.source, self.sink, LINE_BYTES) as (incoming, outgoing):
            await serve_streams(Kernel(service), incoming, outgoing, LOCAL)
        self.sink.close()

    def say(self, method: str, request_id: int, text: str = "") -> None:
        params = enveloped({"name": "t", "arguments": {"text": text}})
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        self.to_server.write(json.dumps(message).encode() + b"\n")

    async def hear(self) -> list[dict[str, Any]]:
        """Everything the server says until it closes its side."""

        def read() -> bytes:
            return self.from_server.readall()

        return [json.loads(line) for line in (await to_thread.run_sync(read)).splitlines()]

    def close(self) -> None:
        for end in (self.to_server, self.from_server, self.source, self.sink):
            end.close()


@pytest.fixture
def wires() -> Generator[Pipes]:
    wires = Pipes()
    yield wires
    wires.close()


async def test_requests_are_answered_until_the_host_closes_its_side(wires: Pipes) -> None:
    service = FakeService()
    heard: list[dict[str, Any]] = []
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wires.serve, service)
            wires.say("tools/call", 1)
            await service.reached.wait()
            service.reached = anyio.Event()
            wires.say("tools/list", 2)
            await service.reached.wait()
            await anyio.wait_all_tasks_blocked()
            wires.to_server.close()
            heard += await wires.hear()
    assert sorted(str(message["id"]) for message in heard) == ["1", "2"]


async def test_an_answer_larger_than_the_pipe_is_written_whole(wires: Pipes) -> None:
    text = "ä" * 400_000

    async def large(_request: HostRequest) -> Result:
        return {"content": [{"type": "text", "text": text}]}

    service = FakeService()
    service.script = large
    heard: list[dict[str, Any]] = []
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wires.serve, service)
            wires.say("tools/call", 1)
            await service.reached.wait()
            await anyio.wait_all_tasks_blocked()

            async def close_once_written() -> None:
                await anyio.wait_all_tasks_blocked()
                wires.to_server.close()

            def first_line() -> bytes:
                line = b""
                while not line.endswith(b"\n"):
                    line += wires.from_server.read(65_536) or b""
                return line

            heard.append(json.loads(await to_thread.run_sync(first_line)))
            tasks.start_soon(close_once_written)
    assert heard[0]["result"]["content"][0]["text"] == text


async def test_a_line_that_is_no_message_is_answered_and_the_next_one_is_served(
    wires: Pipes,
) -> None:
    service = FakeService()
    heard: list[dict[str, Any]] = []
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wires.serve, service)
            wires.to_server.write(b"hello\n")
            wires.say("tools/call", 1)
            await service.reached.wait()
            await anyio.wait_all_tasks_blocked()
            wires.to_server.close()
            heard += await wires.hear()
    assert heard[0]["id"] is None
    assert heard[0]["error"]["code"] == -32700
    assert heard[1]["id"] == 1


async def test_serving_ends_at_once_when_cancelled_although_the_host_says_nothing(
    wires: Pipes,
) -> None:
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wires.serve, FakeService())
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()


SERVER = """
import sys
import anyio
from toolcrib.core.partition import LOCAL
from toolcrib.testing.fake_service import FakeService
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.stdio import serve_stdio

async def main():
    service = FakeService()

    async def answer(request):
        print("this must not be on the wire", flush=True)
        if request.method == "tools/list":
            return {"tools": [], "ttlMs": 0, "cacheScope": "private"}
        return {"content": [{"type": "text", "text": request.version}]}

    service.script = answer
    await serve_stdio(Kernel(service), LOCAL, 1_000_000)

anyio.run(main)
"""


@pytest.mark.parametrize(
    ("mode", "version"),
    [("legacy", "2025-11-25"), ("auto", "2026-07-28")],
    ids=["legacy", "modern"],
)
async def test_a_host_that_starts_us_is_served_in_its_era_and_prints_stay_off_the_wire(
    mode: str, version: str
) -> None:
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    server = StdioServerParameters(command=sys.executable, args=["-c", SERVER], env=environment)
    with anyio.fail_after(30):
        async with Client(server, mode=mode) as client:
            result = await client.call_tool("t", {})
            assert client.protocol_version == version
    assert result.content[0].model_dump()["text"] == version


async def test_whatever_prints_while_we_serve_prints_to_standard_error() -> None:
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": enveloped({"name": "t"})}
    with anyio.fail_after(30):
        process = await anyio.open_process([sys.executable, "-c", SERVER], env=environment)
        async with process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            await process.stdin.send(json.dumps(call).encode() + b"\n")
            spoken = b""
            while b"\n" not in spoken:
                spoken += await process.stdout.receive()
            await process.stdin.aclose()
            rest = b"".join([chunk async for chunk in process.stdout])
            printed = b"".join([chunk async for chunk in process.stderr])
    assert [json.loads(line)["id"] for line in (spoken + rest).splitlines()] == [1]
    assert b"this must not be on the wire" in printed
