"""A server changes a tool while its host keeps the old list: the stale call is not sent."""

import json

import anyio

from toolcrib import Kind, PublishedChange
from toolcrib.testing.scripted_server import Content, scripted_http, tool
from toolcrib.testing.wired_gateway import wired_gateway

BEFORE = tool("forecast", city={"type": "string"}, unit={"enum": ["celsius", "fahrenheit"]})
AFTER = tool("forecast", city={"type": "string"}, unit={"enum": ["celsius", "kelvin"]})


async def main() -> None:
    """Run a server and a gateway, and do what the host of a model does."""
    async with (
        scripted_http(Content(tools=[BEFORE])) as server,
        wired_gateway(server.settings("weather")) as gateway,
    ):
        print("The host lists", await gateway.names(), "once and keeps what it saw.")
        renewed = anyio.Event()

        def heard(change: PublishedChange) -> None:
            if change.kind is Kind.TOOLS:
                renewed.set()

        gateway.crib.catalogs().on_published(heard)
        await server.change(Content(tools=[AFTER]))
        await renewed.wait()  # the gateway has listed the server again

        stale = await gateway.call("weather__forecast", city="Oslo", unit="fahrenheit")
        print("Its next call is answered with", json.dumps(stale, indent=2))
        print("Calls that reached the server:", (await server.counts()).calls.total())

        again = await gateway.call("weather__forecast", city="Oslo", unit="kelvin")
        print("The corrected call brings", again["content"])
        print("Calls that reached the server:", (await server.counts()).calls.total())


anyio.run(main)
