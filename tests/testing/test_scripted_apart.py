"""A scripted server in a process of its own: the same switches, over its control port."""

import json
import subprocess
import sys
from dataclasses import is_dataclass
from typing import Any, get_args

import anyio
import httpx2
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.testing.raw_client import raw_http, raw_pipe
from toolcrib.testing.scripted_server import (
    Action,
    Answer,
    Ask,
    Change,
    Content,
    Counts,
    Delay,
    Exit,
    Fail,
    Group,
    Heard,
    Honour,
    Noise,
    Pad,
    Pages,
    ProcessSeen,
    Profile,
    Progress,
    Refuse,
    Say,
    Signal,
    scripted_http,
    scripted_sse,
    scripted_stdio,
    tool,
)
from toolcrib.testing.server.jsonform import from_json, to_json

TOOLS = [tool("add"), tool("sub")]


async def test_an_http_server_apart_is_switched_and_counted() -> None:
    with anyio.fail_after(20):
        async with (
            scripted_http(Content(tools=TOOLS), Pages(size=1), apart=True) as server,
            raw_http(server.launch) as client,
        ):
            await server.on("tools/list", Refuse(503, {"retry-after": "1"}), times=1)
            assert (await client.ask("tools/list")).status_code == 503
            page = (await client.ask("tools/list")).json()["result"]
            assert page["tools"] == TOOLS[:1]
            await server.change(Content(tools=[tool("new")]))
            await server.set(Pages(), Profile(name="other"))
            assert (await client.ask("tools/list")).json()["result"]["tools"] == [tool("new")]
            counts = await server.until(lambda seen: seen.walks["tools"] == 3)
            assert (counts.requests["tools/list"], counts.walks["prompts"]) == (3, 0)
            (first, *_) = await server.heard("tools/list")
            assert first.headers["mcp-method"] == "tools/list"
            assert await server.processes() == ()


async def test_a_wait_ends_when_the_count_comes() -> None:
    with anyio.fail_after(20):
        async with (
            scripted_http(apart=True) as server,
            raw_http(server.launch) as client,
            anyio.create_task_group() as tasks,
        ):
            waited = anyio.Event()

            async def wait() -> None:
                await server.until(lambda seen: seen.walks["tools"] == 2)
                waited.set()

            tasks.start_soon(wait)
            await client.ask("tools/list")
            assert not waited.is_set()
            await client.ask("tools/list")
            await waited.wait()


async def test_control_outlives_a_server_that_is_down() -> None:
    with anyio.fail_after(20):
        async with scripted_http(apart=True) as server, raw_http(server.launch) as client:
            await server.on("*", Exit(), times=1)
            with pytest.raises(httpx2.HTTPError):
                await client.ask("tools/list")
            await server.stop()
            await server.start()
            assert (await client.ask("tools/list")).status_code == 200
            assert (await server.counts()).connects == 2


async def test_a_stdio_server_apart_lasts_through_its_processes() -> None:
    with anyio.fail_after(20):
        async with scripted_stdio(Content(tools=TOOLS), apart=True) as server:
            for _ in range(2):
                async with raw_pipe(server.launch) as pipe:
                    assert len((await pipe.ask("tools/list"))["result"]["tools"]) == 2
            assert (await server.counts()).connects == 2
            pids = [seen.pid for seen in await server.processes()]
            assert len(set(pids)) == 2
            assert {one.pid for one in await server.heard()} == set(pids)


async def test_an_sse_server_apart_is_reached() -> None:
    with anyio.fail_after(20):
        async with (
            scripted_sse(apart=True) as server,
            raw_http(server.launch) as client,
            client.stream() as (answer, events),
        ):
            assert answer.status_code == 200
            assert (await events.next_data()).startswith("/messages")


async def test_what_cannot_be_done_is_refused_across_processes_too() -> None:
    with anyio.fail_after(20):
        async with scripted_http(apart=True) as server:
            with pytest.raises(ValueError, match="did you mean 'tools/list'"):
                await server.on("tool/list", Exit())
            with pytest.raises(ValueError, match="stdio"):
                await server.on("tools/list", Noise())
            with pytest.raises(ValueError, match="only a rule"):
                await server.signal(unasked=True)


async def test_a_body_that_raises_raises_what_it_raised() -> None:
    for apart in (False, True):
        with anyio.fail_after(20), pytest.raises(KeyError):
            async with scripted_http(apart=apart):
                raise KeyError


def control(address: str, body: str, **headers: str) -> httpx2.Response:
    return httpx2.post(address, content=body, headers=headers, trust_env=False)


def test_any_program_can_start_and_control_one() -> None:
    command = [sys.executable, "-m", "toolcrib.testing.scripted_server", "http"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        ready = json.loads(process.stdout.readline())
        assert ready["launch"]["url"].endswith("/mcp")
        address = f"http://127.0.0.1:{ready['control']}/control"
        done = control(
            address,
            """{"operation": "on", "arguments":
            {"event": "tools/list", "actions": [{"$is": "Refuse", "status": 418}], "times": 1}}""",
        )
        assert (done.status_code, done.json()) == (200, {"result": None})
        answer = httpx2.post(
            ready["launch"]["url"],
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
            trust_env=False,
        )
        assert answer.status_code == 418
        refusals = [
            control(address, body).json()["error"]
            for body in (
                '{"operation": "dance"}',
                '{"operation": "on", "arguments": {"nothing": 1}}',
                '{"operation": "on", "arguments": {"actions": [{"$is": "Nope"}]}}',
                '{"operation": "signal", "arguments": {"kind": {"$is": "Kind", "label": "x"}}}',
                "no json",
                "{}",
            )
        ]
        assert "dance" in refusals[0]
        assert "nothing" in refusals[1]
        assert "Nope" in refusals[2]
        assert control(address, "{}", origin="https://evil.test").status_code == 403
        assert control(address + "/x", "{}").status_code == 404
        process.communicate(timeout=10)
        assert process.returncode == 0


@pytest.mark.parametrize("arguments", [[], ["smoke"]])
def test_how_to_start_one_is_said(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "toolcrib.testing.scripted_server", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 1
    assert "stdio|http|sse" in done.stderr


RECORDS: list[object] = [
    Content(TOOLS, [{"name": "p"}], other_tools=[]),
    Pages(2, "cycle", [1, 2], "public", [0.1, 0.2], turning=True, extra={"x": None}),
    Profile(capabilities={"tools": {}}, stubborn=True),
    Change(Content(TOOLS)),
    Honour((Kind.TOOLS, Kind.TEMPLATES)),
    Signal(Kind.PROMPTS, 3, late=True),
    Refuse(503, {"retry-after": "1"}, "body"),
    Answer({"resultType": "weird"}),
    Counts(requests=Counts().requests + Counts().requests),
    Heard("tools/list", {"id": 1}, {"a": "b"}, 7),
    ProcessSeen(1, "/", {"A": "b"}),
]


def plain(value: Any) -> Any:
    """The record with lists where it has tuples."""
    return from_json(to_json(value))


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_comes_back_from_json_as_it_was(record: object) -> None:
    text = json.dumps(to_json(record))
    assert to_json(from_json(json.loads(text))) == to_json(record)
    assert type(plain(record)) is type(record)


def test_every_action_and_group_has_a_json_form() -> None:
    arguments: dict[type, list[Any]] = {
        Delay: [1],
        Pad: [1],
        Progress: [1],
        Ask: ["ping"],
        Say: ["notifications/message"],
        Fail: [-1],
        Refuse: [500],
        Answer: [{}],
        Change: [Content()],
    }
    for record in (*get_args(Action), *get_args(Group)):
        made = record(*arguments.get(record, []))
        assert is_dataclass(made)
        assert type(plain(made)) is record
