"""What hosts see of real servers through the gateway is what those servers say themselves."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import PromptReference, ResourceTemplateReference, TextContent

from toolcrib.core.naming import expose
from toolcrib.core.snapshot import Kind
from toolcrib.settings import HttpLaunch, Secret, StdioLaunch
from toolcrib.testing.live.gateway import LiveGateway
from toolcrib.testing.live.room import Room
from toolcrib.testing.raw_client import RawPipe, message_in, raw_http, raw_pipe

ROOT = Path(__file__).resolve().parents[2]
SIGNALLED = "notifications/tools/list_changed"

Wire = Literal["http", "stdio"]
Servers = dict[str, dict[str, Any]]
Catalog = dict[str, dict[str, Any]]
"""Definitions by name or URI."""

pytestmark = pytest.mark.peers


# ---------------------------------------------------------------- what servers say themselves


async def listed(pipe: RawPipe, kind: Kind, *, modern: bool) -> list[dict[str, Any]]:
    answer = await (pipe.ask if modern else pipe.ask_plainly)(kind.method)
    result = answer.get("result", {})
    assert result.get("nextCursor") is None
    return result.get(kind.field, [])


async def asked_directly(entry: Mapping[str, Any]) -> dict[Kind, list[dict[str, Any]]]:
    """All listings of one server, over pipes of our own."""
    env = {name: Secret(value) for name, value in entry.get("env", {}).items()}
    launch = StdioLaunch(entry["command"], tuple(entry["args"]), env, cwd=str(ROOT))
    with anyio.fail_after(100):
        async with raw_pipe(launch) as pipe:
            modern = "result" in await pipe.ask("server/discover")
            if not modern:
                await pipe.shake_hands(elicitation={"form": {}, "url": {}})
            if "everything" in str(entry["args"]):
                while (await pipe.next()).get("method") != SIGNALLED:
                    pass
            return {kind: await listed(pipe, kind, modern=modern) for kind in Kind}


@pytest.fixture(scope="session")
def truth(real_servers: Servers) -> dict[Kind, Catalog]:
    """Everything that all servers say of themselves, under the names that hosts must see."""

    async def ask_all() -> dict[str, dict[Kind, list[dict[str, Any]]]]:
        said: dict[str, dict[Kind, list[dict[str, Any]]]] = {}
        for server, entry in real_servers.items():
            said[server] = await asked_directly(entry)
        return said

    found: dict[Kind, Catalog] = {kind: {} for kind in Kind}
    for server, listings in anyio.run(ask_all).items():
        for kind, items in listings.items():
            for item in items:
                key = item[kind.key]
                found[kind][expose(server, key) if kind.key == "name" else key] = item
    return found


def as_served(kind: Kind, items: list[dict[str, Any]]) -> Catalog:
    """Definitions from the gateway without what is ours: the name, and the contract."""
    shown = {item[kind.key]: without_ours(item) for item in items}
    assert len(shown) == len(items)
    return shown


def without_ours(item: Mapping[str, Any]) -> dict[str, Any]:
    meta = {k: v for k, v in item.get("_meta", {}).items() if not k.startswith("dev.toolcrib/")}
    rest = {key: value for key, value in item.items() if key != "_meta"}
    return rest | ({"_meta": meta} if meta else {})


def as_said(kind: Kind, name: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """A definition as it should be passed on."""
    passed = {key: value for key, value in item.items() if key not in {"icons", "execution"}}
    return passed | ({"name": name} if kind.key == "name" else {})


# ---------------------------------------------------------------- through the gateway


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("modern", [True, False], ids=["modern", "handshake"])
async def test_every_definition_passes_unchanged(
    workshop: tuple[Room, LiveGateway],
    truth: dict[Kind, Catalog],
    kind: Kind,
    *,
    modern: bool,
) -> None:
    launch = HttpLaunch(Secret(workshop[1].url))
    with anyio.fail_after(10):
        async with raw_http(launch) as http:
            if not modern:
                await http.shake_hands()
            answer = await (http.ask if modern else http.ask_plainly)(kind.method)
    items = message_in(answer)["result"][kind.field]
    served = as_served(kind, items)
    said = {name: as_said(kind, name, it) for name, it in truth[kind].items()}
    assert served == said
    assert said


@asynccontextmanager
async def host(workshop: tuple[Room, LiveGateway], wire: Wire, mode: str) -> AsyncGenerator[Client]:
    """The SDK's own client as a host, over the wire in question."""
    room, gateway = workshop
    if wire == "http":
        target: Any = gateway.url
    else:
        launch = room.launch("serve", "--config", room.path / "mcp.json", "--log-level", "error")
        env = {name: value.reveal() for name, value in launch.env.items()}
        target = stdio_client(
            StdioServerParameters(
                command=launch.command, args=list(launch.args), env=env, cwd=str(ROOT)
            )
        )
    with anyio.fail_after(100):
        async with Client(target, mode=mode) as client:
            yield client


def text_of(result: Any) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.parametrize(
    ("wire", "mode", "revision"),
    [
        ("http", "legacy", "2025-11-25"),
        ("http", "auto", "2026-07-28"),
        ("http", "2026-07-28", "2026-07-28"),
        ("stdio", "legacy", "2025-11-25"),
        ("stdio", "auto", "2026-07-28"),
    ],
)
async def test_the_sdk_lists_and_calls_everything(
    workshop: tuple[Room, LiveGateway],
    truth: dict[Kind, Catalog],
    wire: Wire,
    mode: str,
    revision: str,
) -> None:
    async with host(workshop, wire, mode) as client:
        assert client.protocol_version == revision
        tools = (await client.list_tools()).tools
        assert {tool.name: tool.input_schema for tool in tools} == {
            name: it["inputSchema"] for name, it in truth[Kind.TOOLS].items()
        }
        assert {tool.name: tool.output_schema for tool in tools} == {
            name: it.get("outputSchema") for name, it in truth[Kind.TOOLS].items()
        }
        prompts = (await client.list_prompts()).prompts
        assert {it.name for it in prompts} == truth[Kind.PROMPTS].keys()
        resources = (await client.list_resources()).resources
        assert {str(it.uri) for it in resources} == truth[Kind.RESOURCES].keys()
        templates = (await client.list_resource_templates()).resource_templates
        assert {it.uri_template for it in templates} == truth[Kind.TEMPLATES].keys()
        await call_each(client, workshop[1])
        await read_and_complete(client)


async def call_each(client: Client, gateway: LiveGateway) -> None:
    """One call to every server."""
    clock = await client.call_tool("time__get_current_time", {"timezone": "UTC"})
    assert clock.structured_content
    assert clock.structured_content["timezone"] == "UTC"
    total = await client.call_tool("everything__get-sum", {"a": 19, "b": 23})
    assert "42" in text_of(total)
    path = anyio.Path(ROOT / "examples/files/opening-hours.txt")
    read = await client.call_tool("files__read_text_file", {"path": str(path)})
    assert text_of(read).strip() == (await path.read_text()).strip()
    status = await client.call_tool("git__git_status", {"repo_path": str(ROOT)})
    assert not status.is_error
    graph = await client.call_tool("memory__read_graph", {})
    assert json.loads(text_of(graph)) == {"entities": [], "relations": []}
    page = gateway.url.replace("/mcp", "/healthz")
    fetched = await client.call_tool("fetch__fetch", {"url": page, "raw": True})
    assert '{"alive":true}' in text_of(fetched)


async def read_and_complete(client: Client) -> None:
    """A prompt, a resource, an expansion of a template, and two completions of everything."""
    prompt = await client.get_prompt("everything__args-prompt", {"city": "Ulm"})
    (message,) = prompt.messages
    assert isinstance(message.content, TextContent)
    assert "Ulm" in message.content.text
    fixed = await client.read_resource("demo://resource/static/document/architecture.md")
    assert fixed.contents
    dynamic = await client.read_resource("demo://resource/dynamic/text/7")
    assert "7" in str(dynamic.contents[0])
    of_prompt = PromptReference(type="ref/prompt", name="everything__completable-prompt")
    done = await client.complete(of_prompt, {"name": "department", "value": "E"})
    assert done.completion.values == ["Engineering"]
    of_template = ResourceTemplateReference(
        type="ref/resource", uri="demo://resource/dynamic/text/{resourceId}"
    )
    number = await client.complete(of_template, {"name": "resourceId", "value": "12"})
    assert number.completion.values == ["12"]


# ---------------------------------------------------------------- the same every time


async def bytes_of_listing(pipe_or_url: str) -> bytes:
    """The tools of a listing as they were sent, without the answer around them."""
    async with raw_http(HttpLaunch(Secret(pipe_or_url))) as http:
        answer = await http.ask("tools/list")
    return json.dumps(answer.json()["result"]["tools"]).encode()


async def test_the_same_question_gets_the_same_bytes_in_order_of_server_and_name(
    workshop: tuple[Room, LiveGateway],
    real_servers: Servers,
    truth: dict[Kind, Catalog],
) -> None:
    room, gateway = workshop
    first = await bytes_of_listing(gateway.url)
    assert await bytes_of_listing(gateway.url) == first
    names = [tool["name"] for tool in json.loads(first)]
    assert names == sorted(truth[Kind.TOOLS])
    assert len({name.split("__")[0] for name in names}) == len(real_servers)
    launch = room.launch("serve", "--config", room.path / "mcp.json", "--log-level", "error")
    started_anew = StdioLaunch(launch.command, launch.args, launch.env, cwd=str(ROOT))
    with anyio.fail_after(100):
        async with raw_pipe(started_anew) as pipe:
            answer = await pipe.ask("tools/list")
            await pipe.stdin.aclose()
            await pipe.process.wait()
    assert json.dumps(answer["result"]["tools"]).encode() == first
