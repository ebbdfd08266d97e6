"""Hosts that list once and keep that for ever, in front of servers whose tools change."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib.testing.live.gateway import serving
from toolcrib.testing.live.host import http_host, stdio_host
from toolcrib.testing.live.room import Room
from toolcrib.testing.raw_client import message_in
from toolcrib.testing.scripted_server import (
    Content,
    Profile,
    ScriptedServer,
    scripted_http,
    scripted_stdio,
    tool,
)

Ask = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""(method, parameters) -> result."""

HANDLE = "dev.toolcrib/handle"
STRING, WHOLE = {"type": "string"}, {"type": "integer"}


def takes(name: str, *required: str, **properties: Any) -> dict[str, Any]:
    definition = tool(name, **properties)
    definition["inputSchema"] |= {"required": list(required), "additionalProperties": False}
    return definition


@dataclass(frozen=True, slots=True)
class Change:
    """What a tool was and is, and what fits the one and not the other."""

    before: dict[str, Any]
    after: dict[str, Any]
    old: Mapping[str, Any]
    says: str


CHANGES = {
    "required": Change(
        takes("required", "a", a=STRING),
        takes("required", "a", "b", a=STRING, b=STRING),
        {"a": "x"},
        "`b`",
    ),
    "narrowed": Change(
        takes("narrowed", "unit", unit={"enum": ["ft", "m"]}),
        takes("narrowed", "unit", unit={"enum": ["m"]}),
        {"unit": "ft"},
        "`ft`",
    ),
    "parameter": Change(
        takes("parameter", "since", since=STRING),
        takes("parameter", "window", window=STRING),
        {"since": "2d"},
        "`window`",
    ),
    "type": Change(takes("type", "n", n=STRING), takes("type", "n", n=WHOLE), {"n": "1"}, "`n`"),
}
RENAMED = takes("look_up", "key", key=STRING)
BEFORE = Content(tools=[*(c.before for c in CHANGES.values()), RENAMED, takes("removed")])
AFTER = Content(tools=[*(c.after for c in CHANGES.values()), {**RENAMED, "name": "resolve"}])
SERVERS = ("new", "old")


@asynccontextmanager
async def servers() -> AsyncGenerator[dict[str, ScriptedServer[Any]]]:
    """One of each era, on two transports."""
    async with scripted_http(BEFORE) as new, scripted_stdio(BEFORE, Profile(modern=())) as old:
        yield {"new": new, "old": old}


@asynccontextmanager
async def host(room: Room, config: Path, kind: str) -> AsyncGenerator[Ask]:
    """A host in front of a gateway that has reached its servers."""
    modern = kind.endswith("modern")
    async with AsyncExitStack() as stack:
        if kind.startswith("stdio"):
            pipe = await stack.enter_async_context(stdio_host(room, "--config", config))
            if not modern:
                await pipe.shake_hands()
            asking = pipe.ask if modern else pipe.ask_plainly

            async def ask(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
                return (await asking(method, params))["result"]

        else:
            gateway = await stack.enter_async_context(serving(room, "--config", config))
            http = await stack.enter_async_context(http_host(gateway))
            if not modern:
                await http.shake_hands()

            async def ask(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
                if not modern:
                    return message_in(await http.ask_plainly(method, params))["result"]
                named = {**params, "_meta": {HANDLE: "the host that keeps its list"}}
                return message_in(await http.ask(method, named))["result"]

        yield ask


def made_from(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that somebody makes who knows nothing but the schema."""
    values = {"string": "x", "integer": 7}
    return {
        name: of["enum"][0] if "enum" in of else values[of["type"]]
        for name, of in schema["properties"].items()
        if name in schema["required"]
    }


async def led_to_a_call(ask: Ask, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Calls as the host remembers it, then as the answer says; the error that led there."""
    call = {"name": name, "arguments": dict(arguments)}
    answer = await ask("tools/call", call)
    assert answer["isError"] is True, name
    told = answer["structuredContent"]["error"]
    assert told["retry"] == "corrected", told
    corrected = made_from(told["details"]["inputSchema"])
    again = await ask(
        "tools/call", {"name": told["details"].get("renamed", name), "arguments": corrected}
    )
    assert not again.get("isError"), again
    return {**told, "text": answer["content"][0]["text"], "corrected": corrected}


@pytest.mark.duty(24)
@pytest.mark.parametrize(
    "kind", ["stdio, handshake", "stdio, modern", "HTTP, handshake", "HTTP, modern"]
)
async def test_a_host_that_never_lists_again_is_led_to_a_call_that_succeeds(
    room: Room, kind: str
) -> None:
    with anyio.fail_after(100):
        async with servers() as behind:
            config = room.configure({name: each.entry() for name, each in behind.items()})
            async with host(room, config, kind) as ask:
                names: set[str] = set()
                while len(names) < 2 * len(BEFORE.tools):
                    names = {each["name"] for each in (await ask("tools/list", {}))["tools"]}
                for server, each in behind.items():
                    await check_told(ask, server, each)
                for server, each in behind.items():
                    await check_restarted(ask, server, each)


async def check_told(ask: Ask, server: str, behind: ScriptedServer[Any]) -> None:
    """The server tells of its change; nobody lists."""
    walks = (await behind.counts()).walks["tools"]
    await behind.change(AFTER)
    await behind.until(lambda seen: seen.walks["tools"] > walks)
    sent: list[tuple[str, Any]] = []
    for name, change in CHANGES.items():
        told = await led_to_a_call(ask, f"{server}__{name}", change.old)
        assert told["code"] == "schema_changed"
        assert told["details"]["inputSchema"] == change.after["inputSchema"]
        assert change.says in " ".join(told["details"]["changes"])
        assert change.says in told["text"]
        sent.append((name, told["corrected"]))
        assert await calls_of(behind) == sent, "only the corrected call reached the server"
    told = await led_to_a_call(ask, f"{server}__look_up", {"key": "k"})
    assert (told["code"], told["details"]["renamed"]) == ("tool_gone", f"{server}__resolve")
    sent.append(("resolve", {"key": "x"}))
    gone = await ask("tools/call", {"name": f"{server}__removed", "arguments": {}})
    error = gone["structuredContent"]["error"]
    assert (gone["isError"], error["code"], error["retry"]) == (True, "tool_gone", "no")
    assert await calls_of(behind) == sent


async def check_restarted(ask: Ask, server: str, behind: ScriptedServer[Any]) -> None:
    """The server goes away and comes back as it was first; the host knows the second form."""
    before = await behind.counts()
    sent = await calls_of(behind)
    await behind.set(BEFORE)
    await behind.drop()
    await behind.until(
        lambda seen: seen.connects > before.connects and seen.walks["tools"] > before.walks["tools"]
    )
    for name, change in CHANGES.items():
        if name == "narrowed":
            continue  # what fits fewer values fits more of them
        told = await led_to_a_call(ask, f"{server}__{name}", made_from(change.after["inputSchema"]))
        assert told["code"] == "schema_changed"
        assert told["details"]["inputSchema"] == change.before["inputSchema"]
        sent.append((name, told["corrected"]))
        assert await calls_of(behind) == sent


async def calls_of(server: ScriptedServer[Any]) -> list[tuple[str, Any]]:
    """What was called so far, and with what."""
    heard = [one.message["params"] for one in await server.heard("tools/call")]
    return [(params["name"], params["arguments"]) for params in heard]
