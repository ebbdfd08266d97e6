"""Under `search` hosts are shown meta-tools and pinned tools; all others stay callable."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest

from toolcrib.calls.call import Requester
from toolcrib.catalog.reading import Reading
from toolcrib.core.exposure import Wanted
from toolcrib.core.snapshot import Kind
from toolcrib.errors import NotAllowed
from toolcrib.facts import ExposureChanged, Finding, HostNotified, Listed
from toolcrib.gateway.listing import Naming, offered
from toolcrib.gateway.server import Particulars
from toolcrib.settings import ExposureSettings, GatewaySettings
from toolcrib.testing.fake_access import snapshot_of
from toolcrib.testing.fake_discovery import ENABLING, META, FakeDiscovery
from toolcrib.testing.gateway_rig import GatewayRig
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import HostEra, ScriptedGateway, scripted_gateway
from toolcrib.wire.service import Identity

pytestmark = pytest.mark.virtual_time

HOSTS: list[HostEra] = ["auto", "legacy"]
DIGEST, CONTRACT = "dev.toolcrib/digest", "dev.toolcrib/contract"
TOOLS = Kind.TOOLS
PLAIN = GatewaySettings(names="plain")


def scripts() -> dict[str, ScriptedUpstream]:
    return {
        "alpha": ScriptedUpstream([tool("one"), tool("two")]),
        "beta": ScriptedUpstream([tool("one", x={"type": "string"})]),
    }


@asynccontextmanager
async def exposed(
    servers: Mapping[str, ScriptedUpstream] | None = None,
    wanted: Wanted = "search",
    *,
    pinned: tuple[str, ...] = (),
    up: int = 6_000,
    on_demand: tuple[str, ...] = (),
    **options: Any,
) -> AsyncGenerator[tuple[ScriptedGateway, FakeDiscovery]]:
    settings = ExposureSettings(window=up * 10, share=0.1, pinned=pinned)
    discovery = FakeDiscovery(wanted, settings, on_demand)
    made = scripted_gateway(servers or scripts(), discovery=discovery.scripted, **options)
    async with made as gateway:
        yield gateway, discovery


@asynccontextmanager
async def heard(
    gateway: ScriptedGateway, era: HostEra = "auto"
) -> AsyncGenerator[Callable[[], int]]:
    """A host that listens; the yielded function counts announcements since the last look."""
    seen = 0

    def count() -> int:
        nonlocal seen
        told = len(gateway.recorder.of(HostNotified))
        new, seen = told - seen, told
        return new

    async with gateway.host(era) as client:
        await client.list_tools()
        if era == "auto":
            async with client.listen(tools_list_changed=True):
                await anyio.sleep(5)
                count()
                yield count
        else:
            await anyio.sleep(5)
            count()
            yield count


# ---- what is listed ----


@pytest.mark.parametrize("host", HOSTS)
async def test_a_host_sees_the_meta_tools_and_no_other(host: HostEra) -> None:
    async with exposed() as (gateway, _), gateway.host(host) as client:
        assert [each.name for each in (await client.list_tools()).tools] == list(META)


async def test_meta_tools_come_first_and_pinned_ones_in_the_order_of_the_listing() -> None:
    async with exposed(pinned=("beta__*", "alpha__two")) as (gateway, _):
        assert await gateway.names() == [*META, "alpha__two", "beta__one"]


async def test_every_tool_that_is_shown_carries_its_contract() -> None:
    async with exposed(pinned=("alpha__one",)) as (gateway, _):
        shown = (await gateway.ask("tools/list"))["tools"]
        assert all(each["_meta"].keys() == {CONTRACT} for each in shown)
        assert len({each["_meta"][CONTRACT] for each in shown}) == 4


async def test_under_full_everything_is_listed_and_there_is_no_meta_tool() -> None:
    async with exposed(wanted="full", pinned=("alpha__one",)) as (gateway, _):
        assert await gateway.names() == ["alpha__one", "alpha__two", "beta__one"]


async def test_prompts_and_resources_are_listed_as_ever() -> None:
    servers = scripts()
    servers["alpha"].items[Kind.PROMPTS] = [{"name": "ask"}]
    servers["beta"].items[Kind.RESOURCES] = [{"uri": "x://a", "name": "a"}]
    async with exposed(servers) as (gateway, _):
        assert await gateway.names(Kind.PROMPTS) == ["alpha__ask"]
        assert await gateway.names(Kind.RESOURCES) == ["x://a"]


async def test_how_much_was_shown_is_the_fact_that_is_told() -> None:
    async with exposed(pinned=("alpha__one",)) as (gateway, _):
        await gateway.names()
        assert [fact.items for fact in gateway.recorder.of(Listed)] == [4]


async def test_a_pinned_tool_beyond_the_budget_is_reported_once() -> None:
    servers = scripts()
    servers["alpha"].change([tool("one"), {**tool("two"), "description": "x" * 9_000}])
    async with exposed(servers, pinned=("alpha__*",)) as (gateway, _):
        for _ in range(3):
            assert await gateway.names() == [*META, "alpha__one"]
        (finding,) = gateway.recorder.of(Finding)
        assert (finding.server, finding.code) == ("alpha", "pinned_beyond_budget")


# ---- what is callable ----


@pytest.mark.parametrize("host", HOSTS)
async def test_a_deferred_tool_is_callable_by_its_exposed_name(host: HostEra) -> None:
    servers = scripts()
    async with exposed(servers) as (gateway, _), gateway.host(host) as client:
        await client.list_tools()
        assert not (await client.call_tool("beta__one", {"x": "y"})).is_error
    assert servers["beta"].calls == [("tools/call", {"name": "one", "arguments": {"x": "y"}})]


async def test_a_deferred_tool_that_is_gone_is_refused_as_any_other() -> None:
    servers = scripts()
    async with exposed(servers) as (gateway, _):
        await gateway.names()
        servers["alpha"].change([tool("two")])
        await anyio.sleep(5)
        assert (await gateway.refusal("alpha__one"))["code"] == "tool_gone"
        assert servers["alpha"].calls == []


async def test_meta_tools_are_answered_here_and_are_told_who_asks() -> None:
    servers = scripts()
    async with exposed(servers) as (gateway, discovery):
        digest = (await gateway.ask("tools/list"))["_meta"][DIGEST]
        discovery.meta.answer = {"content": [{"type": "text", "text": "hits"}]}
        answer = await gateway.call("search_tools", query="x")
        assert answer == {**discovery.meta.answer, "_meta": {DIGEST: digest}}
        ((name, arguments, requester),) = discovery.meta.asked
        assert (name, arguments) == ("search_tools", {"query": "x"})
        assert isinstance(requester, Requester)
        assert all(script.calls == [] for script in servers.values())


async def test_what_a_meta_tool_refuses_is_a_result() -> None:
    async with exposed() as (gateway, discovery):
        discovery.meta.answer = NotAllowed("not for you")
        told = await gateway.refusal("search_tools")
        assert (told["code"], told["tool"]) == ("not_allowed", "search_tools")


# ---- digests and announcements ----


async def test_the_digest_is_that_of_what_is_shown() -> None:
    servers = scripts()
    async with exposed(servers, pinned=("alpha__one",)) as (gateway, _):
        first = await gateway.ask("tools/list")
        servers["beta"].change([tool("another")])
        await anyio.sleep(5)
        same = await gateway.ask("tools/list")
        assert same["_meta"] == first["_meta"]
        answer = await gateway.call("beta__another")
        assert answer["_meta"][DIGEST] == first["_meta"][DIGEST]
        servers["alpha"].change([tool("one", y={"type": "string"}), tool("two")])
        await anyio.sleep(5)
        assert (await gateway.ask("tools/list"))["_meta"] != first["_meta"]


async def test_another_release_with_other_meta_tools_has_another_digest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    digests: set[str] = set()
    for description in ("Finds tools.", "Finds tools quickly."):
        search = {**META["search_tools"], "description": description}
        monkeypatch.setitem(cast("dict[str, Any]", META), "search_tools", search)
        async with exposed() as (gateway, _):
            digests.add((await gateway.ask("tools/list"))["_meta"][DIGEST])
    assert len(digests) == 2


async def test_a_deferred_tool_that_changes_is_not_announced_and_a_pinned_one_is() -> None:
    servers = scripts()
    async with (
        exposed(servers, pinned=("alpha__one",)) as (gateway, _),
        heard(gateway) as news,
    ):
        servers["beta"].change([tool("another"), tool("more")])
        await anyio.sleep(5)
        servers["alpha"].change([tool("one")])
        await anyio.sleep(5)
        assert news() == 0
        servers["alpha"].change([tool("one", y={"type": "string"})])
        await anyio.sleep(5)
        assert news() == 1


async def test_an_exposure_that_changes_is_announced_once_and_names_stay_callable() -> None:
    servers = scripts()
    many = [tool(f"t{number:03}") for number in range(80)]
    async with exposed(servers, "auto", up=1_500) as (gateway, _), heard(gateway) as news:
        assert await gateway.names() == ["alpha__one", "alpha__two", "beta__one"]
        servers["alpha"].change([*many, tool("one")])
        await anyio.sleep(5)
        assert news() == 1
        assert await gateway.names() == list(META)
        for name in ("alpha__one", "beta__one", "alpha__t007"):
            assert not (await gateway.call(name)).get("isError")
        servers["alpha"].change([*many[:55], tool("one")])
        await anyio.sleep(5)
        assert news() == 0
        servers["alpha"].change([tool("one")])
        await anyio.sleep(5)
        assert news() == 1
        assert await gateway.names() == ["alpha__one", "beta__one"]
        assert not (await gateway.call("search_tools")).get("isError")
        assert [fact.exposure for fact in gateway.recorder.of(ExposureChanged)] == [
            "search",
            "full",
        ]


async def test_a_replica_that_follows_another_one_announces_it_and_then_is_quiet() -> None:
    middle = ScriptedUpstream([tool(f"t{number:03}") for number in range(60)])
    async with exposed({"a": middle}, "auto", up=1_500) as (gateway, discovery):
        other = discovery.over(
            gateway.crib.catalogs(),
            entries=gateway.world.store.entries,
            clock=gateway.world.clock,
        )
        async with heard(gateway) as news:
            assert len(await gateway.names()) == 60
            many = snapshot_of(TOOLS, [tool(f"t{number:03}") for number in range(80)])
            large = offered(TOOLS, [Reading("a", TOOLS, many)], Naming("qualified", 48))
            assert (await other.exposing.choose(large)).exposure == "search"
            await gateway.call("a__t001")
            assert news() == 0
            assert await gateway.names() == list(META)
            await anyio.sleep(60)
            assert news() == 1
            answer = await gateway.call("a__t001")
            assert answer["_meta"] == (await gateway.ask("tools/list"))["_meta"]
            await anyio.sleep(60)
            assert news() == 0


# ---- the ledger ----


async def test_only_what_was_listed_counts_as_seen() -> None:
    servers = scripts()
    async with exposed(servers, pinned=("alpha__one",)) as (gateway, _):
        await gateway.names()
        ledger, who = gateway.crib.calls().ledger, Requester()
        assert await ledger.contract(who, "alpha", "one") is not None
        assert await ledger.contract(who, "alpha", "two") is None
        assert await ledger.sight(who, "search_tools") is None


# ---- names that meta-tools have ----


@pytest.mark.parametrize("wanted", ["search", "auto"])
async def test_a_tool_with_the_name_of_a_meta_tool_is_kept_out_and_reported(wanted: Wanted) -> None:
    servers = {"alpha": ScriptedUpstream([tool("search_tools"), tool("mine")])}
    async with exposed(servers, wanted, pinned=("*",), gateway=PLAIN) as (gateway, discovery):
        shown = await gateway.names()
        assert shown == ([*META, "mine"] if wanted == "search" else ["mine"])
        await gateway.call("search_tools")
        assert len(discovery.meta.asked) == 1
        assert servers["alpha"].calls == []
        (finding,) = gateway.recorder.of(Finding)
        assert (finding.server, finding.code) == ("alpha", "name_collision")
        assert "meta-tool" in finding.detail


async def test_under_full_the_names_of_meta_tools_are_free() -> None:
    servers = {"alpha": ScriptedUpstream([tool("search_tools"), tool("call_tool")])}
    async with exposed(servers, "full", gateway=PLAIN) as (gateway, discovery):
        assert await gateway.names() == ["call_tool", "search_tools"]
        await gateway.call("call_tool")
        assert len(servers["alpha"].calls) == 1
        assert discovery.meta.asked == []


# ---- servers on demand ----


@pytest.mark.parametrize("wanted", ["search", "full"])
async def test_a_server_on_demand_is_never_listed_and_routes_once_it_is_enabled(
    wanted: Wanted,
) -> None:
    servers = scripts()
    async with exposed(servers, wanted, on_demand=("beta",), pinned=("*",)) as (gateway, discovery):
        first = [*META] if wanted == "search" else []
        expected = [*first, *ENABLING, "alpha__one", "alpha__two"]
        assert await gateway.names() == expected
        told = await gateway.refusal("beta__one")
        assert told["code"] == "not_allowed"
        assert "enable_server" in told["message"]
        assert servers["beta"].calls == []
        before = await gateway.listing()
        discovery.enabling[-1].enabled.add("beta")
        assert not (await gateway.call("beta__one", x="y")).get("isError")
        assert await gateway.listing() == before
        assert discovery.enabling[-1].needed == ["beta"]


async def test_a_server_on_demand_spoils_neither_the_time_nor_the_scope_of_a_listing() -> None:
    rig = GatewayRig(discovery=FakeDiscovery(on_demand=("beta",)).over)
    rig.access.put("alpha", TOOLS, [tool("one")], ttl=60.0)
    rig.access.put("beta", TOOLS, [tool("two")])
    rig.access.age("beta", TOOLS, 900.0)
    answer = await rig.result("tools/list", {})
    assert (answer["ttlMs"], answer["cacheScope"]) == (60_000, "public")


async def test_a_server_on_demand_takes_no_name_from_one_that_is_listed() -> None:
    servers = {
        "alpha": ScriptedUpstream([tool("same"), tool("mine")]),
        "beta": ScriptedUpstream([tool("same"), tool("other")]),
    }
    async with exposed(servers, "full", on_demand=("beta",), gateway=PLAIN) as (gateway, discovery):
        assert await gateway.names() == [*ENABLING, "mine", "same"]
        discovery.enabling[-1].enabled.add("beta")
        await gateway.call("same")
        await gateway.call("other")
        assert [script.calls[0][1]["name"] for script in servers.values()] == ["same", "other"]
        (finding,) = gateway.recorder.of(Finding)
        assert (finding.server, finding.code) == ("beta", "name_collision")


async def test_names_of_which_two_listed_servers_are_robbed_go_to_no_third() -> None:
    servers = {name: ScriptedUpstream([tool("same")]) for name in ("alpha", "beta", "gamma")}
    async with exposed(servers, "full", on_demand=("gamma",), gateway=PLAIN) as (gateway, _):
        assert await gateway.names() == list(ENABLING)
        with pytest.raises(Exception, match="Unknown tool"):
            await gateway.call("same")


async def test_prompts_and_resources_of_a_server_on_demand_wait_for_it_as_well() -> None:
    servers = scripts()
    servers["beta"].items[Kind.PROMPTS] = [{"name": "ask"}]
    servers["beta"].items[Kind.RESOURCES] = [{"uri": "x://a", "name": "a"}]
    async with exposed(servers, on_demand=("beta",)) as (gateway, _):
        assert await gateway.names(Kind.PROMPTS) == []
        assert await gateway.names(Kind.RESOURCES) == []
        with pytest.raises(NotAllowed):
            await gateway.ask("prompts/get", {"name": "beta__ask"})
        with pytest.raises(NotAllowed):
            await gateway.ask("resources/read", {"uri": "x://a"})


async def test_a_tool_whose_server_another_process_enabled_is_found_when_it_is_called() -> None:
    discovery = FakeDiscovery(on_demand=("beta",))
    rig = GatewayRig(discovery=discovery.over)
    rig.access.put("alpha", TOOLS, [tool("one")])
    enabling = discovery.enabling[-1]
    enabling.enabled.add("beta")
    enabling.opens = lambda: rig.access.put("beta", TOOLS, [tool("two")])
    assert not (await rig.call("beta__two")).get("isError")
    assert [request.server for request in rig.access.requests] == ["beta"]


# ---- what we say of ourselves, and large catalogs ----


@pytest.mark.parametrize("host", HOSTS)
async def test_instructions_reach_hosts_of_both_eras_as_they_are(host: HostEra) -> None:
    identity = Identity("toolcrib", "1", instructions="Find tools with search_tools.")
    rig = GatewayRig(particulars=Particulars(identity=identity), discovery=FakeDiscovery().over)
    for _ in range(2):
        async with rig.in_memory(host) as client:
            assert client.instructions == identity.instructions


async def test_of_thousands_of_tools_every_one_is_callable_and_four_are_shown() -> None:
    rig = GatewayRig(discovery=FakeDiscovery(settings=ExposureSettings(pinned=("a__t1",))).over)
    rig.access.put("a", TOOLS, [tool(f"t{number}") for number in range(3_000)])
    assert len((await rig.result("tools/list", {}))["tools"]) == 4
    assert not (await rig.call("a__t2999")).get("isError")
