"""Schemas that refer to elsewhere, on every path that a schema takes through us."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.facts import Finding
from toolcrib.testing.raw_http import RawExchange, RawHttpServer, serve_raw_http
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway

REFUSES_ALL = b'{"not": {}}'


@asynccontextmanager
async def schema_server() -> AsyncGenerator[RawHttpServer]:
    """Whoever fetched its schema would accept nothing any more."""

    async def serve(request: RawExchange) -> None:
        await request.reply(200, REFUSES_ALL, content_type="application/schema+json")

    async with serve_raw_http(serve) as server:
        yield server


def referring(url: str) -> Mapping[str, dict[str, Any]]:
    """Schemas that lead there in each way there is."""
    host = url.removeprefix("http:")
    return {
        "whole": {"type": "object", "$ref": url},
        "of a property": {"type": "object", "properties": {"a": {"$ref": f"{url}#/x"}}},
        "in a definition": {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"$ref": url}},
        },
        "dynamic": {"type": "object", "properties": {"a": {"$dynamicRef": url}}},
        "without a scheme": {"type": "object", "properties": {"a": {"$ref": host}}},
        "on a base": {"$id": url, "type": "object", "properties": {"a": {"$ref": "other.json"}}},
        "dialect": {"$schema": url, "type": "object", "properties": {"a": {"type": "string"}}},
        "older": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"a": {"$ref": url}},
        },
    }


@pytest.mark.duty(25)
@pytest.mark.parametrize("member", ["inputSchema", "outputSchema"])
async def test_nothing_is_fetched_when_tools_are_listed_called_and_compared(member: str) -> None:
    async with schema_server() as elsewhere:
        schemas = referring(elsewhere.url)
        tools = [
            {**tool(f"t{number}"), member: schema} for number, schema in enumerate(schemas.values())
        ]
        script = ScriptedUpstream(tools)

        async def answer(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
            return {"content": [], "structuredContent": {"a": 1}}

        script.on_call = answer
        with anyio.fail_after(10):
            async with scripted_gateway({"s": script}) as gateway:
                listed = await gateway.names()
                assert len(listed) == len(tools), "no tool is lost"
                for name in listed:
                    assert not (await gateway.call(name, a=1)).get("isError"), name
                assert len(script.calls) == len(tools), "the server decides"
                told = [f for f in gateway.recorder.of(Finding) if f.code == "schema_unchecked"]
                assert len(told) == len(tools)
                script.change(
                    [tool(f"t{number}", b={"$ref": elsewhere.url}) for number in range(3)]
                )
                assert await changed(gateway) == 3
                for number in range(3):
                    assert (await gateway.refusal(f"s__t{number}"))["code"] == "schema_changed"
        assert elsewhere.connections == 0


async def changed(gateway: ScriptedGateway) -> int:
    """How many tools there are once the change was heard of."""
    catalogs = gateway.crib.catalogs()
    reading = await catalogs.renewed("s", Kind.TOOLS)
    assert reading.snapshot is not None
    return len(reading.snapshot)


STEEP: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string", "pattern": "^(a|a)*$"}},
    "$defs": {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    | {"d60": {"type": "integer"}},
    "allOf": [{"$ref": "#/$defs/d0"}],
}
DEEP_VALUE: dict[str, Any] = {"a": "a" * 50_000 + "b"}


@pytest.mark.duty(25)
@pytest.mark.parametrize("member", ["inputSchema", "outputSchema"])
async def test_a_check_without_end_holds_up_neither_its_call_nor_another(member: str) -> None:
    script = ScriptedUpstream([{**tool("steep"), member: STEEP}, tool("t")])

    async def answer(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        return {"content": [], "structuredContent": DEEP_VALUE}

    script.on_call = answer
    with anyio.fail_after(5):
        async with scripted_gateway({"s": script}) as gateway:
            assert await gateway.names() == ["s__steep", "s__t"]
            async with anyio.create_task_group() as calls:
                for _ in range(5):
                    calls.start_soon(lambda: gateway.call("s__steep", **DEEP_VALUE))
                calls.start_soon(gateway.call, "s__t")
            assert len(script.calls) == 6
            codes = [fact.code for fact in gateway.recorder.of(Finding)]
            assert codes == ["schema_unchecked"]


@pytest.mark.duty(25)
@pytest.mark.parametrize(
    ("dialect", "fits"),
    [
        ("http://json-schema.org/draft-04/schema#", False),
        ("http://json-schema.org/draft-07/schema#", True),
        ("https://json-schema.org/draft/2020-12/schema", True),
        ("urn:of-nobody", True),
    ],
)
async def test_arguments_are_read_by_the_dialect_of_their_schema(
    dialect: str, *, fits: bool
) -> None:
    # Before draft 6, 1.0 was no integer.
    schema = {"$schema": dialect, "type": "object", "properties": {"a": {"type": "integer"}}}
    script = ScriptedUpstream([{"name": "t", "inputSchema": schema}])
    with anyio.fail_after(5):
        async with scripted_gateway({"s": script}) as gateway:
            result = await gateway.call("s__t", a=1.0)
            assert bool(result.get("isError")) is not fits
            assert len(script.calls) == fits
            unchecked = [f for f in gateway.recorder.of(Finding) if f.code == "schema_unchecked"]
            assert len(unchecked) == (dialect == "urn:of-nobody")
