"""A whole scripted conversation under each exposure: its tokens, and what a prompt cache saves.

The model looks for a tool where it is not shown, reads its definition, calls it, and calls it
again: once with nothing changed, and once after the server has renamed a parameter. Every
definition, hit, refusal and result is what the gateway really answers; only the model and its few
sentences are made up. Tokens are o200k, exact.
"""

import argparse
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from made import made_tools
from prompt_cache import PromptCache
from toolcrib.adapters.quicktok_counter import QuicktokCounter
from toolcrib.settings import ExposureSettings, GatewaySettings
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway

TASK = "Which of our deliveries to Lisbon are late? Tell me again after each change."
SYSTEM = "You are a helpful assistant. Use the tools that you are given."
WANTED = "late_deliveries"
SIZES = (1, 5, 25, 100, 500, 2_500)
VARIANTS: Mapping[str, tuple[GatewaySettings, ExposureSettings]] = {
    "full": (GatewaySettings(exposure="full"), ExposureSettings()),
    "search": (GatewaySettings(exposure="search"), ExposureSettings()),
    "search, pinned": (
        GatewaySettings(exposure="search"),
        ExposureSettings(pinned=(f"shop__{WANTED}",)),
    ),
}


def wanted(parameter: str) -> dict[str, Any]:
    """The tool that the task needs, with its one parameter."""
    city = {"type": "string", "description": "The city that the deliveries go to."}
    made = tool(WANTED, **{parameter: city})
    made["inputSchema"]["required"] = [parameter]
    made["inputSchema"]["additionalProperties"] = False
    return {**made, "description": "Lists deliveries that are late, by the city they go to."}


class Model:
    """Says what a model would, and keeps what it was told."""

    def __init__(self, gateway: ScriptedGateway, cache: PromptCache, task: str = TASK) -> None:
        self._gateway = gateway
        self._cache = cache
        self._tools: list[str] = []
        self._names: set[str] = set()
        self._messages = [SYSTEM, task]

    async def list(self) -> None:
        """Be shown the tools that are listed now."""
        listed = (await self._gateway.ask("tools/list"))["tools"]
        self._tools = [_as_sent(definition) for definition in listed]
        self._names = {definition["name"] for definition in listed}

    def shown(self, name: str) -> bool:
        """Whether a tool is in its list."""
        return name in self._names

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Think, call, and read the result."""
        if not self.shown(name):
            name, arguments = "call_tool", {"name": name, "args": arguments}
        self._think(json.dumps({"name": name, "arguments": arguments}))
        result = await self._gateway.call(name, **arguments)
        texts = [block["text"] for block in result["content"] if block["type"] == "text"]
        self._messages.append("\n".join(texts))
        return result

    async def call_all(self, name: str, each: Sequence[Mapping[str, Any]]) -> None:
        """Call a tool of its list several times in one turn, and read the results."""
        self._think("\n".join(json.dumps({"name": name, "arguments": it}) for it in each))
        for arguments in each:
            result = await self._gateway.call(name, **arguments)
            assert not result.get("isError"), result
            self._messages += [block["text"] for block in result["content"]]

    def say(self, text: str) -> None:
        """Answer the user."""
        self._think(text)

    def hear(self, text: str) -> None:
        """The user says something."""
        self._messages.append(text)

    def _think(self, text: str) -> None:
        self._cache.request([*self._tools, *self._messages])
        self._cache.wrote(text)
        self._messages.append(text)


def _as_sent(definition: Mapping[str, Any]) -> str:
    """What a provider is sent of a tool."""
    sent = {
        "name": definition["name"],
        "description": definition.get("description", ""),
        "input_schema": definition["inputSchema"],
    }
    return json.dumps(sent, ensure_ascii=False, separators=(",", ":"))


async def converse(
    gateway: ScriptedGateway,
    server: ScriptedUpstream,
    others: Sequence[Mapping[str, Any]],
    *,
    changes: bool,
) -> PromptCache:
    """The conversation; what it took is on the bill of the answer."""
    cache = PromptCache(QuicktokCounter().count)
    model = Model(gateway, cache)
    name = f"shop__{WANTED}"
    await model.list()
    if not model.shown(name):
        await model.call("search_tools", query="deliveries that are late")
        await model.call("get_tool_details", names=[name])
    first = await model.call(name, city="Lisbon")
    assert not first.get("isError"), first
    model.say("Two of them are late.")
    model.hear("And now?")
    listed = (await gateway.ask("tools/list"))["tools"]
    parameter = "destination" if changes else "city"
    server.change([*others, wanted(parameter)])
    await anyio.sleep(0.2)
    if (await gateway.ask("tools/list"))["tools"] != listed:
        await model.list()
    elif changes:
        refused = await model.call(name, city="Lisbon")
        assert refused["isError"], refused
    again = await model.call(name, **{parameter: "Lisbon"})
    assert not again.get("isError"), again
    model.say("One of them is late.")
    return cache


@asynccontextmanager
async def gateway_over(variant: str, server: ScriptedUpstream) -> AsyncGenerator[ScriptedGateway]:
    """A gateway that shows a server in that way."""
    shown, exposure = VARIANTS[variant]
    async with scripted_gateway({"shop": server}, gateway=shown, exposure=exposure) as gateway:
        await gateway.crib.catalogs().reach()
        yield gateway


async def measure(others: Sequence[Mapping[str, Any]], named: str, *, changes: bool) -> None:
    """One line for each exposure."""
    what = "a tool changes" if changes else "nothing changes"
    full = 0.0
    for variant in VARIANTS:
        server = ScriptedUpstream([*others, wanted("city")], ttl_ms=3_600_000)
        async with gateway_over(variant, server) as gateway:
            bill = (await converse(gateway, server, others, changes=changes)).bill
        full = full or bill.cost
        line = {
            "figure": f"{variant}, {named}, {what}",
            "requests": bill.requests,
            "prompt_tokens": bill.prompt,
            "cache_hits": bill.hit,
            "cache_misses": bill.missed,
            "prefixes_broken": bill.broken,
            "written": bill.written,
            "weighed": round(bill.cost),
            "times_full": round(bill.cost / full, 3),
        }
        print(json.dumps(line), flush=True)


async def main(listing: tuple[str, list[dict[str, Any]]] | None) -> None:
    """All sizes, and a real listing where one is given."""
    catalogs = [(f"{size + 1:,} tools", made_tools(size)) for size in SIZES]
    if listing is not None:
        named, tools = listing
        catalogs.append((f"{named}, {len(tools) + 1:,} tools", tools))
    for named, others in catalogs:
        for changes in (False, True):
            await measure(others, named, changes=changes)


def read(listing: Path) -> tuple[str, list[dict[str, Any]]]:
    """The name and the tools of a `tools/list` result in a file."""
    return listing.stem, json.loads(listing.read_text(encoding="utf-8"))["tools"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("listing", nargs="?", type=Path, help="a tools/list result in a file")
    given: Path | None = parser.parse_args().listing
    anyio.run(main, None if given is None else read(given))
