"""One conversation of an agent, in the form of each provider: a real server, and no model.

The server changes a tool between two turns. What the model was shown stays as it was, so that a
prompt cache keeps its prefix, and one text tells the model what is different.
"""

import json

import anyio

from toolcrib import Crib, Kind, PublishedChange, Settings
from toolcrib.testing.scripted_server import Content, scripted_http, tool

CITY = {"type": "string"}
FORECAST = tool("forecast", city=CITY, unit={"enum": ["celsius", "fahrenheit"]})
CHANGED = tool("forecast", city=CITY, unit={"enum": ["celsius", "kelvin"]})
ALERTS = tool("alerts")


async def main() -> None:
    """Show tools, call one, let its server change it, and go on."""
    async with (
        scripted_http(Content(tools=[FORECAST])) as server,
        Crib.start(Settings(servers=(server.settings("weather"),))) as crib,
    ):
        await crib.catalogs().reach()
        toolset = await crib.toolset()
        print("Anthropic:", json.dumps(toolset.for_anthropic()))
        print("OpenAI Chat Completions:", json.dumps(toolset.for_openai_chat()))
        print("OpenAI Responses, strict:", json.dumps(toolset.for_openai_responses(strict=True)))
        print("Gemini:", json.dumps(toolset.for_gemini()))

        result = await toolset.call("weather__forecast", '{"city": "Oslo"}')
        print("The result, for Anthropic:", toolset.result_for_anthropic("toolu_1", result))
        mistaken = await toolset.call("weather__forcast", {"city": "Oslo"})
        print("A name that is nearly right:", mistaken["content"][0]["text"])

        prefix = json.dumps(toolset.for_anthropic())[:-1]
        renewed = anyio.Event()

        def heard(change: PublishedChange) -> None:
            if change.kind is Kind.TOOLS:
                renewed.set()

        crib.catalogs().on_published(heard)
        await server.change(Content(tools=[CHANGED, ALERTS]))
        await renewed.wait()  # the server has been listed again

        await toolset.refresh()
        delta = toolset.delta(conversation_tokens=3_000)
        print("For the model:", delta.text)
        print("The prefix stays:", json.dumps(toolset.for_anthropic()).startswith(prefix))
        print("Tokens to be read anew:", delta.cost_of_a_miss)

        again = await toolset.call("weather__forecast", {"city": "Oslo", "unit": "kelvin"})
        print("The next call brings:", again["content"])
        print("Calls that reached the server:", (await server.counts()).calls.total())


anyio.run(main)
