"""Names that hosts cannot take, and names that meet, through the gateway: listed, called, told."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.facts import Finding, ItemQuarantined
from toolcrib.settings import GatewaySettings, Settings
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway

pytestmark = pytest.mark.virtual_time

EVERY_HOST = re.compile(r"[a-zA-Z0-9_-]{1,64}")

SERVERS: Mapping[str, Sequence[str]] = {
    "odd characters": [
        "admin.tools.list",
        "user-profile/update",
        "ok",
        "a b",
        "查询天气",
        "emoji🔧",
        "tab\tname",
        "UPPER.lower",
        "upper.LOWER",
        "-",
        "_",
        "__",
        "a__b",
        "a___b",
        ".",
        "..",
        "trailing_",
        "_leading",
        "0",
    ],
    "long": [
        "list_all_dashboards_with_annotations_and_alerts_v1",
        "list_all_dashboards_with_annotations_and_alerts_v2",
        "x" * 300 + "1",
        "x" * 300 + "2",
        "list_all_dashboards_with_annotations_and_alerts_v1" * 4,
    ],
    "alike": ["get.user", "get-user", "get_user", "get/user", "get user", "getuser", "get..user"],
}


async def _round_trip(gateway: ScriptedGateway, scripts: Mapping[str, ScriptedUpstream]) -> None:
    """Calls every listed name and sees which tool of which server was reached."""
    called: list[tuple[str, str]] = []
    for name in await gateway.names():
        for script in scripts.values():
            script.calls.clear()
        assert not (await gateway.call(name, x=1)).get("isError")
        called += [
            (server, params["name"]) for server, s in scripts.items() for _, params in s.calls
        ]
    wanted = [(server, each["name"]) for server, s in scripts.items() for each in s.items[TOOLS]]
    assert sorted(called) == sorted(wanted)


TOOLS = Kind.TOOLS


@pytest.mark.duty(28)
@pytest.mark.parametrize("server", ["s", "com-example-internal-observability-gateway", "a__b", "é"])
@pytest.mark.parametrize("case", SERVERS)
async def test_every_name_fits_every_host_and_leads_back_to_its_original(
    case: str, server: str
) -> None:
    scripts = {server: ScriptedUpstream([tool(name) for name in SERVERS[case]])}
    async with scripted_gateway(scripts) as gateway:
        names = await gateway.names()
        assert len(set(names)) == len(SERVERS[case])
        assert all(EVERY_HOST.fullmatch(name) for name in names), names
        assert max(map(len, names)) <= 48
        await _round_trip(gateway, scripts)


async def test_names_are_the_same_in_every_run() -> None:
    seen: set[tuple[str, ...]] = set()
    for turn in range(3):
        tools = [tool(name) for case in SERVERS.values() for name in case]
        script = ScriptedUpstream(tools[turn:] + tools[:turn])
        async with scripted_gateway({"s": script}) as gateway:
            seen.add(tuple(await gateway.names()))
    assert len(seen) == 1


MEETINGS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "one name at two servers": {"mail_a": ["send_email"], "mail_b": ["send_email"]},
    "a joint that could be anywhere": {"a": ["b__c"], "a__b": ["c"]},
    "a server named like another's suffix": {"s": ["t__x"], "s__t": ["x"], "s_": ["_t__x"]},
    "twenty servers of one program": {f"s{n}": ["run", "stop"] for n in range(20)},
    "servers that differ by case alone": {"S": ["t"], "s": ["t"]},
    "cut at the same place": {"a" * 60: ["t" * 60], "a" * 61: ["t" * 60], "a" * 60 + "b": ["t"]},
}


@pytest.mark.parametrize("case", MEETINGS)
async def test_names_of_different_servers_never_meet(case: str) -> None:
    scripts = {
        server: ScriptedUpstream([tool(name) for name in names])
        for server, names in MEETINGS[case].items()
    }
    async with scripted_gateway(scripts) as gateway:
        names = await gateway.names()
        assert len(set(names)) == sum(map(len, MEETINGS[case].values()))
        await _round_trip(gateway, scripts)


@pytest.mark.parametrize("case", MEETINGS)
async def test_a_server_that_comes_renames_nobody(case: str) -> None:
    scripts = {
        server: ScriptedUpstream([tool(name) for name in names])
        for server, names in MEETINGS[case].items()
    }
    ids = sorted(scripts)
    async with scripted_gateway(scripts) as gateway:
        known: list[str] = []
        for count in range(1, len(ids) + 1):
            await gateway.crib.apply(
                Settings(servers=tuple(server_settings(server) for server in ids[:count]))
            )
            await gateway.crib.catalogs().reach()
            await anyio.sleep(1)
            names = await gateway.names()
            assert [name for name in names if name in known] == known
            known = names


async def test_plain_names_that_meet_are_both_kept_out_and_reported() -> None:
    scripts = {
        "a": ScriptedUpstream([tool("same"), tool("mine")]),
        "b": ScriptedUpstream([tool("same"), tool("yours")]),
    }
    async with scripted_gateway(scripts, gateway=GatewaySettings(names="plain")) as gateway:
        assert await gateway.names() == ["mine", "yours"]
        told = [(f.server, f.code) for f in gateway.world.recorder.of(Finding)]
        assert {server for server, _ in told} == {"a", "b"}
        await gateway.call("mine")
        assert scripts["a"].calls


def twins(*schemas: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"name": "get", "inputSchema": {"type": "object", **each}} for each in schemas]


A = {"properties": {"a": {"type": "string"}}}
B = {"properties": {"b": {"type": "string"}}}


@pytest.mark.parametrize("page_size", [None, 1], ids=["one page", "two pages"])
@pytest.mark.parametrize(
    ("definitions", "winner", "kept_out"),
    [
        (twins(A, B), A, 1),
        (twins(B, A), B, 1),
        (twins(A, A), A, 0),
        (twins(A, B, A), A, 1),
        (twins(A, B, B, B), A, 3),
    ],
    ids=["two", "the other first", "equal", "a third that is equal", "three losers"],
)
async def test_of_two_definitions_under_one_name_the_first_wins_and_the_other_is_told(
    definitions: list[dict[str, Any]],
    winner: Mapping[str, Any],
    kept_out: int,
    page_size: int | None,
) -> None:
    script = ScriptedUpstream([*definitions, tool("other")], page_size=page_size)
    async with scripted_gateway({"s": script}) as gateway:
        result = await gateway.ask("tools/list")
        listed = {each["name"]: each["inputSchema"] for each in result["tools"]}
        assert listed["s__get"] == {"type": "object", **winner}
        assert set(listed) == {"s__get", "s__other"}
        facts = gateway.world.recorder.of(ItemQuarantined)
        assert len(facts) == kept_out
        assert {fact.reason for fact in facts} <= {"duplicate_name"}
        held = gateway.crib.catalogs().peek("s", TOOLS).snapshot
        assert held is not None
        for out in held.quarantined:
            assert out.fingerprint[:12] in out.detail
            assert held.items[0].fingerprint[:12] in out.detail
        before = script.walks[TOOLS]
        await anyio.sleep(10)
        await gateway.names()
        assert script.walks[TOOLS] - before <= 1, "known doubles are no reason to walk twice"
