"""What a host gets with the result of a call: news before it, marks in it, errors of its era."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from toolcrib.calls.call import Requester
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.core.snapshot import Kind
from toolcrib.errors import ResultInvalid, UpstreamRefused
from toolcrib.gateway.requester import requester_of
from toolcrib.settings import Limits
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.gateway_rig import GatewayRig, refused
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import HostEra, scripted_gateway
from toolcrib.wire.faults import RpcFault

OLD = [tool("t"), tool("second"), tool("third")]
ERAS: list[HostEra] = ["legacy", "auto"]


@pytest.mark.parametrize("era", ERAS)
async def test_word_of_what_a_call_changed_reaches_the_host_before_its_result(era: HostEra) -> None:
    script = ScriptedUpstream(OLD)
    heard: list[str] = []

    async def change(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        script.change([*OLD, tool("u")])
        return {"content": []}

    async def listen(message: Any) -> None:
        heard.append(getattr(message, "method", type(message).__name__))

    script.on_call = change
    with anyio.fail_after(10):
        async with (
            scripted_gateway({"s": script}) as gateway,
            gateway.host(era, message_handler=listen) as client,
        ):
            await client.list_tools()
            if era == "auto":
                async with client.listen(tools_list_changed=True) as events:
                    result = await client.call_tool("s__t", {})
                    assert await anext(aiter(events)) is not None
            else:
                result = await client.call_tool("s__t", {})
                assert "notifications/tools/list_changed" in heard
            meta = result.meta
            assert meta is not None
            assert meta["dev.toolcrib/changes"] == ["`u` was added"]
            assert meta["dev.toolcrib/digest"] == await digest(gateway)


async def digest(gateway: Any) -> str:
    return (await gateway.ask("tools/list"))["_meta"]["dev.toolcrib/digest"]


async def test_every_result_says_what_is_listed_now() -> None:
    script = ScriptedUpstream(OLD)
    with anyio.fail_after(10):
        async with scripted_gateway({"s": script}) as gateway:
            listed = await digest(gateway)
            meta = (await gateway.call("s__t"))["_meta"]
            assert meta == {"dev.toolcrib/digest": listed}


@pytest.mark.duty(32)
async def test_what_a_host_cannot_be_asked_is_an_error_of_its_era() -> None:
    script = ScriptedUpstream(OLD)

    async def want(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        required: dict[str, Any] = {"elicitation": {"form": {}}}
        raise UpstreamRefused("ask", rpc_code=-32021, data={"requiredCapabilities": required})

    script.on_call = want
    with anyio.fail_after(10):
        async with scripted_gateway({"s": script}) as gateway:
            async with gateway.host("auto") as modern:
                with pytest.raises(MCPError) as raised:
                    await modern.call_tool("s__t", {})
                assert raised.value.code == -32021
                assert raised.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
            async with gateway.host("legacy") as handshake:
                result = await handshake.call_tool("s__t", {})
                assert result.is_error
                assert result.structured_content is not None
                assert result.structured_content["error"]["code"] == "not_allowed"


@pytest.mark.virtual_time
async def test_a_kept_result_is_read_by_whoever_was_shown_a_part_of_it() -> None:
    with anyio.fail_after(10_000):
        async with scripted_gateway({"s": ScriptedUpstream(OLD)}) as gateway:
            kept = gateway.crib.calls().kept
            uri = await kept.keep(Requester(LOCAL), b"the whole", "text/plain")
            assert uri is not None
            unknown = f"toolcrib://result/{'0' * 32}"
            answer = await gateway.ask("resources/read", {"uri": uri})
            assert answer["contents"][0]["text"] == "the whole"
            assert (answer["ttlMs"], answer["cacheScope"]) == (0, "private")
            stranger = Principal(issuer="https://id.example", subject="bert")
            for wanted, whose in [(uri, stranger), (unknown, LOCAL), (f"{uri}/x", LOCAL)]:
                with pytest.raises(RpcFault, match="Resource not found") as raised:
                    await gateway.ask("resources/read", {"uri": wanted}, whose)
                assert (raised.value.code, raised.value.data) == (-32602, {"uri": wanted})
                with pytest.raises(RpcFault) as raised:
                    await gateway.gateway.subscribe(whose, wanted)
                assert raised.value.code == -32602
            await anyio.sleep(Limits().kept_seconds + 1)
            with pytest.raises(RpcFault):
                await gateway.ask("resources/read", {"uri": uri})


async def test_no_server_is_asked_for_a_kept_result_whatever_it_has_templates_for() -> None:
    script = ScriptedUpstream(OLD)
    script.items[Kind.TEMPLATES] = [{"uriTemplate": "{+anything}", "name": "n"}]
    wanted = {"uri": f"toolcrib://result/{'0' * 32}"}
    with anyio.fail_after(10):
        async with scripted_gateway({"s": script}) as gateway:
            await gateway.names(Kind.TEMPLATES)
            for method in ("resources/read", "completion/complete"):
                params = {"ref": {"type": "ref/resource", **wanted}, "argument": {}, **wanted}
                with pytest.raises(RpcFault, match="Resource not found"):
                    await gateway.ask(method, params)
            with pytest.raises(RpcFault, match="Resource not found"):
                await gateway.gateway.subscribe(LOCAL, wanted["uri"])
            assert script.calls == []
            with pytest.raises(ResultInvalid):
                await gateway.ask("resources/read", {"uri": "any://thing"})
            assert [method for method, _ in script.calls] == ["resources/read"], "it has a template"


async def test_a_name_that_only_the_ledger_knows_is_gone_and_not_unknown() -> None:
    script = ScriptedUpstream(OLD)
    with anyio.fail_after(10):
        async with scripted_gateway({"s": script}) as gateway:
            await gateway.names()
            entries = gateway.world.store
        script.change(OLD[1:])
        async with scripted_gateway({"s": script}, store=entries) as gateway:
            await gateway.crib.catalogs().reach()
            await gateway.crib.catalogs().renewed("s", Kind.TOOLS)
            assert refused(await gateway.call("s__t"))["code"] == "tool_gone"
            with pytest.raises(RpcFault) as raised:
                await gateway.call("s__never")
            assert raised.value.code == -32602


@pytest.mark.parametrize(
    ("handle", "meta", "durable"),
    [
        ("", {}, True),
        ("connection-7", {}, False),
        ("mine", {"dev.toolcrib/handle": "mine"}, True),
    ],
)
def test_only_a_handle_that_the_host_sent_outlives_its_connection(
    handle: str, meta: dict[str, Any], *, durable: bool
) -> None:
    request = host_request("tools/call", {"name": "t", "_meta": meta}, handle=handle)
    requester = requester_of(request, ())
    assert (requester.handle, requester.durable) == (handle, durable)


async def test_what_a_connection_was_shown_is_forgotten_when_it_is_over() -> None:
    async with scripted_gateway({"s": ScriptedUpstream(OLD)}) as gateway:
        ledger = gateway.crib.calls().ledger
        handles = ["connection:1", "connection:2"]
        for handle in handles:
            await gateway.gateway.answer(host_request("tools/list", handle=handle))
        gateway.gateway.left(LOCAL, handles[0])
        gateway.gateway.left(Principal("https://id.example", "nobody"), handles[1])
        seen = [
            await ledger.contract(Requester(LOCAL, handle, durable=False), "s", "t")
            for handle in handles
        ]
    assert [contract is not None for contract in seen] == [False, True]


@pytest.mark.parametrize("relay", [(), ("logging",)], ids=str)
def test_log_messages_of_servers_pass_where_policy_lets_them(relay: tuple[Any, ...]) -> None:
    async def heard(_method: str, _params: Mapping[str, Any]) -> None: ...

    request = host_request("tools/call", {"name": "t"}, heard=heard, log_level="info")
    requester = requester_of(request, relay)
    assert (requester.heard is heard) is bool(relay)
    assert requester.log_level == ("info" if relay else "")


async def test_calls_do_not_look_at_catalogs_without_the_rules_for_calls(rig: GatewayRig) -> None:
    await rig.call("alpha__one")
    assert rig.access.walks == {"alpha": 1}
