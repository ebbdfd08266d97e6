"""The client that the official suite starts: toolcrib's way to servers, and nothing beside it.

The suite appends the URL of its server, and tells scenario, revision and more in the environment.
"""

import asyncio
import json
import os
import secrets
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from toolcrib.catalog.catalogs import Catalogs
from toolcrib.compose import Parts, open_parts
from toolcrib.config.keys import InstallationKey
from toolcrib.core.snapshot import Kind, Snapshot
from toolcrib.crib import Crib, Deaf
from toolcrib.ports import RequestContext
from toolcrib.protocol.eras import HANDSHAKE_VERSIONS
from toolcrib.settings import GatewaySettings, HttpLaunch, Secret, ServerSettings, Settings

SERVER = "peer"
ROUNDS = 5
PATIENCE = 40


@dataclass(frozen=True, slots=True)
class Stage:
    """What the suite said: which scenario, where, and how."""

    scenario: str
    url: str
    revision: str
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the scenario hands out besides, such as credentials."""

    @classmethod
    def told(cls) -> "Stage":
        """As it stands in arguments and environment."""
        env = os.environ
        return cls(
            env["MCP_CONFORMANCE_SCENARIO"],
            sys.argv[-1],
            env.get("MCP_CONFORMANCE_PROTOCOL_VERSION", HANDSHAKE_VERSIONS[0]),
            json.loads(env.get("MCP_CONFORMANCE_CONTEXT", "{}")),
        )

    def settings(self, launch: HttpLaunch | None = None) -> Settings:
        """One server, which may ask us for everything there is."""
        server = ServerSettings(SERVER, launch or HttpLaunch(Secret(self.url)))
        relay = GatewaySettings(relay=("elicitation", "sampling", "roots", "logging"))
        return Settings(servers=(server,), gateway=relay)


async def remember_revision(stage: Stage, settings: Settings, parts: Parts) -> None:
    """What an earlier run learnt of a server of an older revision, which spares it our probe."""
    if stage.revision in HANDSHAKE_VERSIONS:
        memory = {
            "era": "handshake",
            "protocol_version": stage.revision,
            "decided_at": time.time(),
        }
        key = f"era:{parts.keys.launch_digest(settings.servers[0].launch)}"
        await parts.store.write_note(key, json.dumps(memory).encode())


@asynccontextmanager
async def opened(stage: Stage, launch: HttpLaunch | None = None) -> AsyncGenerator[Catalogs]:
    """The catalogs of the suite's server, in memory, with a key of our own."""
    settings = stage.settings(launch)
    keys = InstallationKey(secrets.token_bytes(32))
    with open_parts(settings, observer=Deaf(), keys=keys) as parts:
        await remember_revision(stage, settings, parts)
        async with Crib.open(settings, parts) as crib:
            yield crib.catalogs()


async def listed(catalogs: Catalogs, kind: Kind = Kind.TOOLS) -> Snapshot:
    """A whole listing; waited for, because the suite plays many scenarios at once."""
    async with asyncio.timeout(PATIENCE):
        while True:
            reading = await catalogs.read_one(SERVER, kind)
            if reading.snapshot is not None:
                return reading.snapshot
            await asyncio.sleep(0.1)


async def accept(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Say yes, with the defaults of the form (SEP-1034)."""
    if method != "elicitation/create":
        raise RuntimeError(f"the suite asks for {method}")
    properties = params.get("requestedSchema", {}).get("properties", {})
    content = {name: one["default"] for name, one in properties.items() if "default" in one}
    return {"action": "accept", "content": content}


async def call(
    catalogs: Catalogs, snapshot: Snapshot, name: str, arguments: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Call a tool of the listing, and answer what its server wants to know first."""
    tool = next(item for item in snapshot.items if item.key == name)
    context = RequestContext(input_schema=tool.definition["inputSchema"], ask=accept)
    params: dict[str, Any] = {"name": name, "arguments": dict(arguments or {})}
    for _ in range(ROUNDS):
        result = await catalogs.request(SERVER, "tools/call", params, context=context)
        if result.get("resultType") != "input_required":
            return result
        params = {"name": name, "arguments": dict(arguments or {})}
        params["inputResponses"] = {
            key: await accept(one["method"], one["params"])
            for key, one in result.get("inputRequests", {}).items()
        }
        if "requestState" in result:
            params["requestState"] = result["requestState"]
    raise RuntimeError(f"{name} asks without end")


def arguments_for(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Some value for everything that a tool wants."""
    some: dict[str, Any] = {"string": "x", "number": 2, "integer": 2, "boolean": True}
    properties = schema.get("properties", {})
    return {
        name: some.get(properties.get(name, {}).get("type"), {})
        for name in schema.get("required", ())
    }


# ---------------------------------------------------------------- the scenarios


async def call_everything(stage: Stage) -> None:
    """List the tools, and call each of those that can be used."""
    async with opened(stage) as catalogs:
        tools = await listed(catalogs)
        for tool in tools.items:
            await call(catalogs, tools, tool.key, arguments_for(tool.definition["inputSchema"]))


async def list_only(stage: Stage) -> None:
    """List the tools."""
    async with opened(stage) as catalogs:
        await listed(catalogs)


async def use_everything(stage: Stage) -> None:
    """List tools, resources and prompts, and use one of each."""
    async with opened(stage) as catalogs:
        tools = await listed(catalogs)
        await call(catalogs, tools, tools.items[0].key)
        for item in (await listed(catalogs, Kind.RESOURCES)).items:
            await catalogs.request(SERVER, "resources/read", {"uri": item.key})
        for item in (await listed(catalogs, Kind.PROMPTS)).items:
            await catalogs.request(SERVER, "prompts/get", {"name": item.key, "arguments": {}})


async def send_metadata(stage: Stage) -> None:
    """Send a few requests to a server that declares nothing and refuses the first revision."""
    async with opened(stage) as catalogs:
        await listed(catalogs)
        await catalogs.request(SERVER, "tools/list", {})
        await catalogs.request(SERVER, "tools/call", {"name": "any", "arguments": {}})


async def call_as_told(stage: Stage) -> None:
    """Make the calls that the scenario hands out."""
    async with opened(stage) as catalogs:
        tools = await listed(catalogs)
        for told in stage.given["toolCalls"]:
            await call(catalogs, tools, told["name"], told["arguments"])


async def echo_the_schema(stage: Stage) -> None:
    """Send the schema of one tool back as the argument of another."""
    async with opened(stage) as catalogs:
        tools = await listed(catalogs)
        rich = next(item for item in tools.items if item.key == "json_schema_2020_12_tool")
        await call(catalogs, tools, "json_schema_echo", {"schema": rich.definition["inputSchema"]})


PLAYS: Mapping[str, Callable[[Stage], Coroutine[Any, Any, None]]] = {
    "initialize": list_only,
    "tools_call": call_everything,
    "elicitation-sep1034-client-defaults": call_everything,
    "sse-retry": call_everything,
    "request-metadata": send_metadata,
    "sep-2322-client-request-state": call_everything,
    "http-standard-headers": use_everything,
    "http-custom-headers": call_as_told,
    "http-invalid-tool-headers": call_everything,
    "json-schema-ref-no-deref": list_only,
    "json-schema-2020-12-preservation": echo_the_schema,
}


def play(stage: Stage) -> int:
    """Play a scenario; what the program exits with."""
    if stage.scenario.startswith("auth/"):
        import client_auth  # noqa: PLC0415 - the other scenarios need none of it

        return asyncio.run(client_auth.main(stage.url))
    asyncio.run(PLAYS[stage.scenario](stage))
    return 0


if __name__ == "__main__":
    sys.exit(play(Stage.told()))
