"""Resources: read from the server that has them, linked so that they lead back."""

from typing import Any

import pytest

from toolcrib.core.snapshot import Kind, Scope
from toolcrib.errors import (
    UpstreamRefused,
)
from toolcrib.gateway import links
from toolcrib.testing.asgi_host import AsgiHost
from toolcrib.testing.fake_access import Request, echo
from toolcrib.testing.gateway_rig import GatewayRig
from toolcrib.testing.scripted import tool

TOOLS, RESOURCES = Kind.TOOLS, Kind.RESOURCES


async def read(host: AsgiHost, uri: str) -> dict[str, Any]:
    return (await host.ask(**host.modern("resources/read", {"uri": uri}))).message


@pytest.mark.parametrize(
    ("uri", "server", "original"),
    [
        ("file:///a", "alpha", "file:///a"),
        ("toolcrib://server/beta/file:///a", "beta", "file:///a"),
        ("toolcrib://server/alpha/file:///a", "alpha", "file:///a"),
        ("toolcrib://server/alpha/unlisted://x", "alpha", "unlisted://x"),
        ("db://users", "beta", "db://users"),
    ],
)
async def test_a_resource_is_read_from_the_server_that_has_it(
    rig: GatewayRig, uri: str, server: str, original: str
) -> None:
    async with rig.asgi() as host:
        answer = (await read(host, uri))["result"]
    (request,) = rig.access.requests
    assert (request.server, request.params) == (server, {"uri": original})
    assert answer["resultType"] == "complete"


async def test_what_is_read_names_itself_as_the_host_asked_for_it(rig: GatewayRig) -> None:
    async with rig.asgi() as host:
        for uri in ("file:///a", "toolcrib://server/beta/file:///a"):
            (content,) = (await read(host, uri))["result"]["contents"]
            assert content["uri"] == uri


@pytest.mark.parametrize("uri", ["file:///b", "toolcrib://server/gone/file:///a", "db://a/b"])
async def test_a_resource_that_nobody_has_is_invalid_params_with_its_uri(
    rig: GatewayRig, uri: str
) -> None:
    told = await rig.error("resources/read", {"uri": uri})
    assert (told["code"], told["data"]) == (-32602, {"uri": uri})
    assert rig.access.requests == []


@pytest.mark.parametrize("code", [-32002, -32602])
async def test_a_resource_that_its_server_misses_is_told_with_the_hosts_uri(
    rig: GatewayRig, code: int
) -> None:
    rig.answer(UpstreamRefused("missing", rpc_code=code))
    told = await rig.error("resources/read", {"uri": "toolcrib://server/beta/file:///a"})
    assert told["code"] == -32602
    assert told["data"] == {"uri": "toolcrib://server/beta/file:///a"}
    assert [entry[:2] for entry in rig.access.invalidated] == [("beta", RESOURCES)]


@pytest.mark.parametrize("uri", ["unlisted://x", "toolcrib://server/nobody/x"])
async def test_even_the_only_server_with_resources_is_not_asked_for_what_nothing_names(
    uri: str,
) -> None:
    rig = GatewayRig()
    rig.access.put("alpha", TOOLS, [tool("one")])
    rig.access.put("beta", TOOLS, [tool("one")])
    rig.access.capabilities = {"alpha": {"tools": {}}, "beta": {"resources": {}}}
    told = await rig.error("resources/read", {"uri": uri})
    assert (told["code"], told["data"]) == (-32602, {"uri": uri})
    assert rig.access.requests == []


def templates(rig: GatewayRig, **by_server: list[str]) -> None:
    for server, uris in by_server.items():
        entries = [{"uriTemplate": uri, "name": uri} for uri in uris]
        rig.access.put(server, Kind.TEMPLATES, entries)


@pytest.mark.parametrize(
    ("uri", "server"),
    [
        ("b://secret", "b"),
        ("b://secret/one", "c"),
        ("b://list/ed", "a"),
        ("d://x/1", "a"),
        ("d://x/y", "b"),
        ("nobody://x", "a"),
    ],
)
async def test_the_template_that_describes_a_uri_most_closely_decides(
    uri: str, server: str
) -> None:
    rig = GatewayRig()
    templates(
        rig,
        a=["{+all}", "d://{x}/1"],
        b=["b://{x}", "d://{x}/{y}", "b://list/{x}"],
        c=["b://secret/{x}"],
    )
    rig.access.put("a", RESOURCES, [{"uri": "b://list/ed", "name": "listed"}])
    await rig.result("resources/read", {"uri": uri})
    assert [request.server for request in rig.access.requests] == [server]


async def test_of_templates_that_say_the_same_the_first_server_by_id_is_asked() -> None:
    rig = GatewayRig()
    templates(rig, b=["x://{one}"], a=["x://{two}"])
    await rig.result("resources/read", {"uri": "x://1"})
    assert rig.access.requests[0].server == "a"


@pytest.mark.parametrize("kind", [RESOURCES, Kind.TEMPLATES])
async def test_who_links_to_the_uri_of_another_first_does_not_get_its_readers(kind: Kind) -> None:
    rig = GatewayRig()
    rig.access.put("a", TOOLS, [tool("one")])
    rig.access.put("b", TOOLS, [tool("one")])
    rig.access.put("b", kind, [{"uri": "b://x", "uriTemplate": "b://{x}", "name": "own"}])
    rig.answer({"content": [{"type": "resource_link", "uri": "b://x", "name": "n"}]})
    async with rig.asgi() as host:
        call = host.modern("tools/call", {"name": "a__one"})
        (block,) = (await host.ask(**call)).message["result"]["content"]
        assert block["uri"] == "toolcrib://server/a/b://x"
        rig.access.answer = echo
        await read(host, "b://x")
        await read(host, block["uri"])
    assert [request.server for request in rig.access.requests] == ["a", "b", "a"]


async def test_a_link_goes_before_the_template_for_anything_of_another() -> None:
    rig = GatewayRig()
    templates(rig, a=["{+all}"])
    rig.access.put("b", TOOLS, [tool("one")])
    rig.answer({"content": [{"type": "resource_link", "uri": "new://x", "name": "n"}]})
    async with rig.asgi() as host:
        await host.ask(**host.modern("tools/call", {"name": "b__one"}))
        rig.access.answer = echo
        await read(host, "new://x")
    assert rig.access.requests[-1].server == "b"


@pytest.mark.parametrize(
    ("scope", "hints", "expected"),
    [
        (Scope.PUBLIC, {"ttlMs": 500, "cacheScope": "public"}, (500, "public")),
        (Scope.PRIVATE, {"ttlMs": 500, "cacheScope": "public"}, (500, "private")),
        (Scope.PUBLIC, {"ttlMs": 500, "cacheScope": "private"}, (500, "private")),
        (Scope.PUBLIC, {}, (0, "private")),
        (Scope.PUBLIC, {"ttlMs": -3, "cacheScope": "tenant"}, (0, "private")),
        (Scope.PUBLIC, {"ttlMs": 10**15}, (86_400_000, "private")),
    ],
)
async def test_hints_of_a_read_are_kept_as_far_as_the_catalog_may_be_shared(
    rig: GatewayRig, scope: Scope, hints: dict[str, Any], expected: tuple[int, str]
) -> None:
    rig.access.put("alpha", RESOURCES, [{"uri": "file:///a", "name": "a"}], scope=scope)
    rig.answer({"contents": [], **hints})
    answer = await rig.result("resources/read", {"uri": "file:///a"})
    assert (answer["ttlMs"], answer["cacheScope"]) == expected


async def test_links_lead_back_to_the_server_that_gave_them(rig: GatewayRig) -> None:
    def link(uri: str) -> dict[str, Any]:
        return {"type": "resource_link", "uri": uri, "name": "n"}

    embedded = {"type": "resource", "resource": {"uri": "file:///a", "text": "t"}}
    rig.answer(
        {"content": [link("file:///a"), link("new://x"), embedded, {"type": "text", "text": "t"}]}
    )
    async with rig.asgi() as host:
        call = host.modern("tools/call", {"name": "beta__one"})
        content = (await host.ask(**call)).message["result"]["content"]
        rig.access.answer = echo
        ours, fresh = content[0]["uri"], content[1]["uri"]
        assert (ours, fresh) == ("toolcrib://server/beta/file:///a", "new://x")
        assert content[2]["resource"] == {"uri": ours, "text": "t"}
        assert content[3] == {"type": "text", "text": "t"}
        await read(host, ours)
        await read(host, fresh)
    asked = [(r.server, r.params["uri"]) for r in rig.access.requests[1:]]
    assert asked == [("beta", "file:///a"), ("beta", "new://x")]


async def test_two_servers_that_link_to_one_unlisted_uri_are_told_apart(rig: GatewayRig) -> None:
    rig.answer({"content": [{"type": "resource_link", "uri": "new://x", "name": "n"}]})
    async with rig.asgi() as host:
        shown = [
            (await host.ask(**host.modern("tools/call", {"name": f"{server}__one"}))).message[
                "result"
            ]["content"][0]["uri"]
            for server in ("alpha", "beta", "alpha")
        ]
    assert shown == ["new://x", "toolcrib://server/beta/new://x", "new://x"]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "resource_link"},
        {"type": "resource_link", "uri": 3},
        {"type": "resource", "resource": "text"},
        {"type": "resource", "resource": {}},
        {"type": "resource", "resource": {"uri": "x://1"}},
    ],
    ids=str,
)
async def test_a_part_without_a_usable_uri_makes_a_result_broken(
    rig: GatewayRig, block: dict[str, Any]
) -> None:
    rig.answer({"content": [{"type": "text", "text": "t"}, block]})
    told = await rig.refusal("beta__one")
    assert told["code"] == "result_invalid"
    assert "content[1]" in told["message"]


@pytest.mark.parametrize(
    "forged", ["toolcrib://server/alpha/file:///a", "toolcrib://result/1", "ToolCrib://x"]
)
async def test_a_link_in_our_own_form_leads_to_the_server_that_gave_it(
    rig: GatewayRig, forged: str
) -> None:
    rig.answer({"content": [{"type": "resource_link", "uri": forged, "name": "n"}]})
    (block,) = (await rig.call("beta__one"))["content"]
    assert block["uri"] == f"toolcrib://server/beta/{forged}"


async def test_the_memory_of_links_is_bounded(
    rig: GatewayRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "REMEMBERED", 2)
    uris = ["new://1", "new://2", "new://3"]
    rig.answer({"content": [{"type": "resource_link", "uri": uri} for uri in uris]})
    async with rig.asgi() as host:
        await host.ask(**host.modern("tools/call", {"name": "beta__one"}))
        rig.access.answer = echo
        found = ["result" in await read(host, uri) for uri in uris]
    assert found == [False, True, True]


async def test_a_server_that_is_removed_while_it_answers_is_still_heard(rig: GatewayRig) -> None:
    async def leave(request: Request) -> dict[str, Any]:
        rig.access.remove(request.server)
        return {"contents": []}

    rig.access.answer = leave
    assert (await rig.result("resources/read", {"uri": "file:///a"}))["contents"] == []
