"""Definitions that cannot be used, and hints that say nothing: they cost themselves alone."""

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind, Snapshot
from toolcrib.facts import ItemQuarantined
from toolcrib.ports import Era
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway

pytestmark = pytest.mark.virtual_time


def held(gateway: ScriptedGateway) -> Snapshot:
    snapshot = gateway.crib.catalogs().peek("s", Kind.TOOLS).snapshot
    assert snapshot is not None
    return snapshot


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


BAD: Mapping[str, Any] = {
    "no schema": {"name": "bad"},
    "a null schema": {"name": "bad", "inputSchema": None},
    "a schema that is a list": {"name": "bad", "inputSchema": []},
    "a schema that is a word": {"name": "bad", "inputSchema": "object"},
    "another type at the root": {"name": "bad", "inputSchema": {"type": "array"}},
    "a property that is no schema": {
        "name": "bad",
        "inputSchema": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "type": "object"},
            "required": ["path", "type"],
        },
    },
    "a type that does not exist": {
        "name": "bad",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "strin"}}},
    },
    "a requirement that is no list": {
        "name": "bad",
        "inputSchema": {"type": "object", "required": "a"},
    },
    "too deep": {"name": "bad", "inputSchema": deep(200)},
    "too large": {"name": "bad", "inputSchema": {"type": "object", "$comment": "x" * 300_000}},
    "a name that is a number": {"name": 7, "inputSchema": {"type": "object"}},
    "no name": {"inputSchema": {"type": "object"}},
    "an empty name": {"name": "", "inputSchema": {"type": "object"}},
    "a word": "bad",
    "nothing": None,
    "a list": ["bad"],
}


@pytest.mark.duty(19)
@pytest.mark.parametrize("era", ["modern", "handshake"])
@pytest.mark.parametrize("case", BAD)
async def test_one_bad_definition_costs_itself_alone_and_its_repair_is_noticed(
    case: str, era: Era
) -> None:
    good = [tool(f"good{n}") for n in range(3)]
    script = ScriptedUpstream(era=era, page_size=2)
    script.items[Kind.TOOLS] = [good[0], BAD[case], *good[1:]]
    async with scripted_gateway({"s": script}) as gateway:
        listed = ["s__good0", "s__good1", "s__good2"]
        assert await gateway.names() == listed
        (out,) = held(gateway).quarantined
        assert out.reason
        assert out.detail
        assert [f.reason for f in gateway.world.recorder.of(ItemQuarantined)] == [out.reason]
        refused = await gateway.ask("tools/list")
        assert "bad" not in str(refused)
        await anyio.sleep(10)
        script.change([good[0], tool("bad"), *good[1:]])
        await anyio.sleep(2)
        assert await gateway.names() == ["s__bad", *listed]
        assert held(gateway).quarantined == ()


async def test_99_of_100_are_published_when_one_is_malformed() -> None:
    script = ScriptedUpstream([tool(f"t{n:02}") for n in range(100)])
    script.items[Kind.TOOLS][57] = {"name": "t57", "inputSchema": {"type": 7}}
    async with scripted_gateway({"s": script}) as gateway:
        assert len(await gateway.names()) == 99
        generation = gateway.crib.catalogs().peek("s", Kind.TOOLS).generation
        await anyio.sleep(10)
        script.change([*script.items[Kind.TOOLS][:57], tool("t57"), *script.items[Kind.TOOLS][58:]])
        await anyio.sleep(2)
        assert len(await gateway.names()) == 100
        assert gateway.crib.catalogs().peek("s", Kind.TOOLS).generation > generation


async def test_a_bad_definition_that_goes_bad_otherwise_is_noticed_by_the_digest() -> None:
    script = ScriptedUpstream([tool("a"), {"name": "bad"}])
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        first = held(gateway).digest
        await anyio.sleep(10)
        script.change([tool("a"), {"name": "bad", "inputSchema": 3}])
        await anyio.sleep(2)
        assert held(gateway).digest != first


@pytest.mark.parametrize("schema", [{}, {"properties": {}}, {"additionalProperties": False}])
async def test_a_root_that_forgot_to_be_an_object_is_completed_with_a_note(
    schema: dict[str, Any],
) -> None:
    script = ScriptedUpstream([{"name": "lax", "inputSchema": schema}])
    async with scripted_gateway({"s": script}) as gateway:
        (listed,) = (await gateway.ask("tools/list"))["tools"]
        assert listed["inputSchema"] == {**schema, "type": "object"}
        assert held(gateway).items[0].notes
        assert not (await gateway.call("s__lax")).get("isError")


async def test_a_whole_list_of_bad_definitions_is_an_empty_list_and_not_an_error() -> None:
    script = ScriptedUpstream()
    script.items[Kind.TOOLS] = list(BAD.values())
    async with scripted_gateway({"s": script, "t": ScriptedUpstream([tool("a")])}) as gateway:
        assert await gateway.names() == ["t__a"]
        assert len(held(gateway).quarantined) >= len(BAD) - 1


@pytest.mark.parametrize(
    "reference",
    [
        "http://169.254.169.254/latest/meta-data/",
        "https://example.test/schema.json",
        "file:///etc/hostname",
        "//example.test/x",
        "ftp://example.test/x",
        "other.json#/a",
        "data:application/json,{}",
    ],
)
async def test_a_reference_to_elsewhere_is_never_followed(
    reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    touched: list[object] = []

    def refuse(*args: object, **_rest: object) -> None:
        touched.append(args)
        raise AssertionError("nothing may be opened or looked up")

    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": reference},
            "b": {"$dynamicRef": reference},
            "c": {"$ref": "#/$defs/K"},
        },
        "$defs": {"K": {"type": "integer"}},
    }
    script = ScriptedUpstream([{"name": "x", "inputSchema": schema, "outputSchema": schema}])
    async with scripted_gateway({"s": script}) as gateway:
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        monkeypatch.setattr(socket.socket, "connect", refuse)
        monkeypatch.setattr(Path, "open", refuse)
        monkeypatch.setattr("builtins.open", refuse)
        result = await gateway.ask("tools/list")
        called = await gateway.call("s__x", a=1)
        monkeypatch.undo()
        assert touched == []
        assert result["tools"][0]["inputSchema"] == schema, "it is passed as it came"
        assert not called.get("isError")
        assert held(gateway).items[0].notes


HINTS: Mapping[str, tuple[Any, Any, float, int]] = {
    "zero": (0, "private", 0, 0),
    "negative": (-5, "private", 0, 1),
    "huge": (999_999_999_999, "private", 86_400, 1),
    "too large for a float": (10**400, "private", 86_400, 1),
    "a fraction": (1.5, "private", 0, 1),
    "a word": ("60", "private", 0, 1),
    "true": (True, "private", 0, 1),
    "nothing": (None, "private", 0, 1),
    "an object": ({"seconds": 60}, "private", 0, 1),
    "an unknown scope": (60_000, "tenant", 60, 1),
    "a scope of another type": (60_000, 7, 60, 1),
    "both": (-1, "PUBLIC", 0, 2),
    "in order": (60_000, "public", 60, 0),
}


@pytest.mark.parametrize("case", HINTS)
async def test_no_hint_ever_costs_the_listing(case: str) -> None:
    ttl, scope, believed, odd = HINTS[case]
    script = ScriptedUpstream([tool("a")], ttl_ms=ttl, scope=scope)
    async with scripted_gateway({"s": script}) as gateway:
        result = await gateway.ask("tools/list")
        assert [each["name"] for each in result["tools"]] == ["s__a"]
        assert result["ttlMs"] == pytest.approx(believed * 1000, abs=1)
        assert result["cacheScope"] == ("public" if scope == "public" else "private")
        assert len(held(gateway).hints.oddities) == odd


@pytest.mark.parametrize("missing", ["ttlMs", "cacheScope", "resultType"])
async def test_a_hint_that_is_missing_is_odd_and_the_listing_is_used(missing: str) -> None:
    class Without(ScriptedUpstream):
        def list_page(self, kind: Kind, cursor: str | None) -> dict[str, Any]:
            page = super().list_page(kind, cursor)
            del page[missing]
            return page

    script = Without([tool("a")], ttl_ms=60_000, scope="public")
    async with scripted_gateway({"s": script}) as gateway:
        result = await gateway.ask("tools/list")
        assert [each["name"] for each in result["tools"]] == ["s__a"]
        assert result["ttlMs"] == (0 if missing == "ttlMs" else 60_000)
        assert result["cacheScope"] == ("private" if missing == "cacheScope" else "public")
        assert held(gateway).hints.oddities == (f"{missing} is missing",)
