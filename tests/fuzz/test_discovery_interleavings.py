"""Servers change while two callers search, enable and call: nobody finds what is not theirs."""

import json
from collections import Counter
from functools import partial
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from toolcrib.settings import GatewaySettings, ServerSettings, ToolFilter
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway
from toolcrib.wire.jsonwire import Prepared

SEEN: Counter[str] = Counter()
WANTED = {"found", "refused as not enabled", "called", "enabled", "changed", "listed"}
"""What has to come about, or little was proved."""

NAMES = ("alpha", "beta", "gamma")
DENIED = "classified"
"""Stands in the name and the text of every tool that is denied."""

Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["change", "find", "find", "call", "enable", "disable", "list", "wait"]),
        st.integers(0, 1),
        st.integers(0, 7),
    ),
    min_size=6,
    max_size=16,
)


def definitions(server: str, version: int) -> list[dict[str, Any]]:
    """The tools that the bits of a version choose, and one that is denied."""
    names = [name for bit, name in enumerate(NAMES) if version >> bit & 1]
    schema = {"type": "object", "properties": {f"v{version}": {"type": "string"}}}
    return [
        {"name": name, "description": f"{text} {server}word", "inputSchema": schema}
        for name, text in [*((it, it) for it in names), (f"{DENIED}_tool", DENIED)]
    ]


class World:
    """The gateway, what its servers have, and what each caller enabled."""

    def __init__(self, made: ScriptedGateway, scripts: dict[str, ScriptedUpstream]) -> None:
        self.made = made
        self.scripts = scripts
        self.versions = dict.fromkeys(scripts, 7)
        self.enabled: list[bool] = [False, False]
        self.listings: set[str] = set()

    async def ask(self, caller: int, tool: str, **arguments: Any) -> dict[str, Any]:
        meta = {"dev.toolcrib/handle": f"caller-{caller}"}
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        request = host_request("tools/call", params, handle=f"caller-{caller}")
        result = await self.made.gateway.answer(request)
        answer = result.as_dict() if isinstance(result, Prepared) else result
        said = json.dumps([answer.get("content"), answer.get("structuredContent")])
        if DENIED not in json.dumps(arguments):
            assert DENIED not in said, "a denied tool was spoken of"
        if tool in {"search_tools", "get_tool_details"} and not self.enabled[caller]:
            assert "otherword" not in said, "a server was searched that this caller has not enabled"
            asked = json.dumps(arguments)
            told = [it for it in NAMES if f"other__{it}" in said and f"other__{it}" not in asked]
            assert not told, "a name of a server that this caller has not enabled was told"
        return answer

    async def play(self, step: Step) -> None:
        what, caller, number = step
        server = ("mail", "other")[number & 1]
        match what:
            case "change":
                self.versions[server] = number
                self.scripts[server].change(definitions(server, number))
                await anyio.sleep(5)
                self.listings.clear()
                SEEN["changed"] += 1
            case "wait":
                await anyio.sleep(10 ** (number % 5) / 10)
            case "list":
                tools = (await self.made.ask("tools/list"))["tools"]
                self.listings.add(json.dumps(tools))
                assert len(self.listings) == 1, "a listing depends on what was called before"
                SEEN["listed"] += 1
            case "enable":
                await self.ask(caller, "enable_server", server="other")
                self.enabled[caller] = True
                SEEN["enabled"] += 1
            case "disable":
                await self.ask(caller, "disable_server", server="other")
                self.enabled[caller] = False
            case "find":
                await self.find(caller, server, NAMES[number % len(NAMES)])
            case _:
                await self.call(caller, server, NAMES[number % len(NAMES)])

    def has(self, caller: int, server: str, name: str) -> bool:
        """Whether a caller can find and call a tool now."""
        there = self.versions[server] >> NAMES.index(name) & 1
        return bool(there) and (server == "mail" or self.enabled[caller])

    async def find(self, caller: int, server: str, name: str) -> None:
        """A tool that is there is among the first by its own name, as it is published now."""
        answer = await self.ask(caller, "search_tools", query=name, detail="full")
        text: str = answer["content"][0]["text"]
        exposed = f"{server}__{name}"
        assert (exposed in text) == self.has(caller, server, name), text
        if exposed in text:
            assert f'"v{self.versions[server]}"' in text
            SEEN["found"] += 1

    async def call(self, caller: int, server: str, name: str) -> None:
        """Through `call_tool` as by its own name: the same verdict, and reached just as often."""
        exposed, script = f"{server}__{name}", self.scripts[server]
        # Whatever was seen of it before, both calls are made from the newest definition.
        await self.ask(caller, "get_tool_details", names=[exposed])
        verdicts: list[tuple[str, int]] = []
        for through in (True, False):
            before = len(script.calls)
            try:
                if through:
                    answer = await self.ask(caller, "call_tool", name=exposed, args={})
                else:
                    answer = await self.ask(caller, exposed)
            except Exception as fault:  # noqa: BLE001 - an error of the protocol is a verdict, too
                answer = {"structuredContent": {"error": {"code": type(fault).__name__}}}
            error = (answer.get("structuredContent") or {}).get("error") or {}
            verdicts.append((error.get("code", ""), len(script.calls) - before))
        reached = [times for _, times in verdicts]
        assert reached == [int(self.has(caller, server, name))] * 2, verdicts
        if verdicts[0][0] == "not_allowed":
            assert verdicts[1][0] == "not_allowed"
            SEEN["refused as not enabled"] += 1
        SEEN["called"] += reached[0]


async def play(steps: list[Step]) -> None:
    scripts = {it: ScriptedUpstream(definitions(it, 7)) for it in ("mail", "other")}
    denied = ToolFilter(deny=(f"{DENIED}*",))
    servers: dict[str, ServerSettings] = {
        "mail": server_settings("mail", tools=denied),
        "other": server_settings("other", tools=denied, on_demand=True),
    }
    gateway = GatewaySettings(exposure="search")
    with anyio.fail_after(10**9):
        async with scripted_gateway(scripts, settings=servers, gateway=gateway) as made:
            await made.names()
            await anyio.sleep(5)
            world = World(made, scripts)
            for step in steps:
                await world.play(step)


@settings(max_examples=60)
@given(STEPS)
def generated(steps: list[Step]) -> None:
    clock = MockClock(autojump_threshold=0)
    anyio.run(partial(play, steps), backend="trio", backend_options={"clock": clock})


@pytest.mark.hypothesis
def test_what_is_found_can_be_called_and_what_is_not_a_callers_own_is_never_told() -> None:
    SEEN.clear()
    generated()
    assert {name for name, count in SEEN.items() if count} >= WANTED, SEEN
