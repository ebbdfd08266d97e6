"""What becomes of a tool's answer: errors, structure, size, and numbers that others get wrong."""

import json
import re
from collections.abc import Mapping
from functools import partial
from io import StringIO
from math import inf, nan
from typing import Any

import anyio
import pytest

from toolcrib.adapters.observing.prometheus_observer import PrometheusObserver
from toolcrib.calls.call import Requester
from toolcrib.calls.results.clipping import clip
from toolcrib.calls.results.encoding import encode
from toolcrib.cli.call_result import call_exit, call_view
from toolcrib.cli.exits import Exit
from toolcrib.cli.output import Output
from toolcrib.core.jsontypes import is_array
from toolcrib.core.partition import LOCAL
from toolcrib.errors import BadArguments, ResultInvalid
from toolcrib.facts import CallForwarded
from toolcrib.ports import Era
from toolcrib.settings import Reconnect
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import HostEra, ScriptedGateway, scripted_gateway
from toolcrib.testing.scripted_server import (
    Answer,
    Content,
    Cut,
    Garble,
    Profile,
    scripted_http,
    scripted_stdio,
)
from toolcrib.testing.server.rulebook import Wire
from toolcrib.testing.wired_gateway import wired_gateway
from toolcrib.wire.jsonwire import Prepared, encode_result
from toolcrib.wire.kernel import Kernel

ERAS = pytest.mark.parametrize("era", ["modern", "handshake"])
HOSTS = pytest.mark.parametrize("host", ["legacy", "auto"])


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def answering(
    result: Mapping[str, Any], output: object = None, era: Era = "modern"
) -> ScriptedUpstream:
    """A server whose tool `t` promises that output and gives this result."""
    promised = {} if output is None else {"outputSchema": output}
    script = ScriptedUpstream([{**tool("t"), **promised}, tool("u")], era=era)

    async def answer(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        return dict(result)

    script.on_call = answer
    return script


async def on_the_wire(gateway: ScriptedGateway, host: HostEra) -> bytes:
    """The bytes that a host of that era gets for a call of `t`."""
    version = "2026-07-28" if host == "auto" else "2025-11-25"
    params: dict[str, Any] = {"name": "s__t", "arguments": {}}
    result = await Kernel(gateway.gateway).respond(host_request("tools/call", params, version))
    assert not isinstance(result, Prepared)
    return encode_result(result)


def printed(result: Mapping[str, Any], *, as_json: bool) -> str:
    """What the command line writes for it."""
    out = StringIO()
    output = Output(as_json=as_json, stdout=out, stderr=StringIO(), env={"NO_COLOR": "1"})
    output.show(call_view(result))
    return out.getvalue()


# ---- structured results ----

PROMISES: dict[str, tuple[dict[str, Any], Any]] = {
    "a list inside": (
        {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]},
        {"rows": [1, {"a": None}, ["x"]]},
    ),
    "more than promised": ({"type": "object", "properties": {}}, {"extra": {"deep": [True]}}),
    "nothing inside": ({"type": "object"}, dict[str, Any]()),
    "odd keys": ({"type": "object"}, {"": 0, "a.b": 1, "ü": 2, "_meta": 3, "content": 4}),
    "an older schema": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "definitions": {"n": {"type": "integer"}},
            "properties": {"n": {"$ref": "#/definitions/n"}},
        },
        {"n": 1},
    ),
}


@HOSTS
@ERAS
@pytest.mark.parametrize("twin", [True, False], ids=["with a twin", "other words"])
@pytest.mark.parametrize(("output", "structured"), PROMISES.values(), ids=PROMISES.keys())
async def test_a_promised_structure_passes_with_its_text_as_both_are(
    output: dict[str, Any], structured: object, era: Era, host: HostEra, *, twin: bool
) -> None:
    words = json.dumps(structured) if twin else "for people"
    result = {"content": [text(words)], "structuredContent": structured, "_meta": {"v/x": 1}}
    script = answering(result, output, era)
    with anyio.fail_after(5):
        async with scripted_gateway({"s": script}) as gateway:
            sent = json.loads(await on_the_wire(gateway, host))
            told = await gateway.crib.call("s__t", {})
    for one in (sent, told):
        assert one["content"] == [text(words)]
        assert one["structuredContent"] == structured
        assert one["_meta"]["v/x"] == 1
        assert not one.get("isError")


# ---- a tool's own error ----

PROMISED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
FAILURES: Mapping[str, dict[str, Any]] = {
    "words alone": {"content": [text("no such branch")]},
    "structure of its own": {
        "content": [text("needs the role of an owner")],
        "structuredContent": {"error": {"kind": "role"}},
    },
    "a list for an object": {"content": [text("many")], "structuredContent": [1, 2]},
    "nothing said": {"content": []},
    "several blocks": {"content": [text("one"), text("two")], "structuredContent": {"n": "x"}},
}


@HOSTS
@ERAS
@pytest.mark.parametrize("output", [None, PROMISED], ids=["no promise", "a promise"])
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES.keys())
async def test_an_error_of_a_tool_is_told_in_its_words_and_held_to_no_schema(
    failure: dict[str, Any], output: object, era: Era, host: HostEra
) -> None:
    script = answering({**failure, "isError": True}, output, era)
    with anyio.fail_after(5):
        async with scripted_gateway({"s": script}) as gateway:
            sent = json.loads(await on_the_wire(gateway, host))
            told = await gateway.crib.call("s__t", {})
    assert sent["isError"] is told["isError"] is True
    said = [block["text"] for block in failure["content"]]
    assert [block["text"] for block in sent["content"]][: len(said)] == said
    assert told["content"] == failure["content"]
    assert told.get("structuredContent") == failure.get("structuredContent")
    assert call_exit(told) is Exit.FOUND
    for words in said:
        assert words in printed(told, as_json=False)


@pytest.mark.parametrize(
    ("flag", "outcome"),
    [(True, "tool_error"), (False, "ok"), (None, "ok")],
    ids=["an error", "none", "null"],
)
@pytest.mark.parametrize("times", [1, 3])
async def test_an_error_of_a_tool_is_counted_as_one_and_as_nothing_else(
    times: int, outcome: str, *, flag: bool | None
) -> None:
    script = answering({"content": [text("disk full")], "isError": flag})
    metrics = PrometheusObserver()
    with anyio.fail_after(5):
        async with scripted_gateway({"s": script}) as gateway:
            for _ in range(times):
                await gateway.call("s__t")
            facts = gateway.recorder.facts
            assert len(gateway.recorder.of(CallForwarded)) == times
    for fact in facts:
        metrics.note(fact)
    lines = metrics.render().decode().splitlines()
    calls = [line for line in lines if line.startswith("toolcrib_calls_total{")]
    assert len(calls) == 1
    assert f'outcome="{outcome}"' in calls[0]
    assert calls[0].endswith(f" {times}.0")
    assert not [
        line for line in lines if re.match(r"toolcrib_calls_(failed|refused)_total\{", line)
    ]


# ---- large results ----

MEGABYTES = 5 * 1024 * 1024
ROWS = [{"id": 1_915_883_588_174_806_058 + n, "name": "ü" * 20} for n in range(20_000)]
LARGE: Mapping[str, dict[str, Any]] = {
    "words": {"content": [text("lorem ipsum 1234567 " * (MEGABYTES // 20))]},
    "one line": {"content": [text("x" * MEGABYTES)]},
    "json as text": {"content": [text(json.dumps(ROWS))]},
    "structure": {"content": [], "structuredContent": {"rows": ROWS}},
    "both": {"content": [text(json.dumps(ROWS))], "structuredContent": ROWS},
    "many blocks": {"content": [text(f"block {n} ") for n in range(40_000)]},
}


@pytest.mark.parametrize(("limit", "error"), [(4_096, True), (65_536, False), (1_000_000, True)])
@pytest.mark.parametrize("case", LARGE)
async def test_a_large_result_is_cut_to_what_is_configured_and_read_whole_by_its_handle(
    case: str, limit: int, *, error: bool
) -> None:
    result = {**LARGE[case], "isError": error, "_meta": {"small": 1}}
    with anyio.fail_after(20):
        async with scripted_gateway({"s": answering({})}) as gateway:
            keep = partial(gateway.crib.calls().kept.keep, Requester(LOCAL))
            shown = await clip(result, limit, keep)
            assert len(encode(shown)) <= limit
            assert (shown["isError"], shown["_meta"]) == (error, {"small": 1})
            *parts, note = [block["text"] for block in shown["content"]]
            assert re.search(r"\d{1,3}(,\d{3})+ bytes", note), "the full size"
            (uri,) = re.findall(r"toolcrib://result/[\w?=-]+", note)
            whole = await read_whole(gateway, uri)
    if "words" in case or "line" in case:
        original = LARGE[case]["content"][0]["text"]
        assert whole == original
        assert original.startswith(parts[0])
        assert not (parts[0][-1].isdigit() and original[len(parts[0])].isdigit()), "half a number"
    elif case in {"json as text", "both", "structure"}:
        assert json.loads(whole) == LARGE[case].get("structuredContent", ROWS)
        cut = json.loads(parts[0])
        rows = cut if is_array(cut) else cut["rows"]
        assert rows[:-1] == ROWS[: len(rows) - 1]
    else:
        assert json.loads(whole)["content"] == LARGE[case]["content"]


async def read_whole(gateway: ScriptedGateway, uri: str) -> str:
    """Everything behind a handle, part by part."""
    parts: list[str] = []
    following: str | None = uri
    while following is not None:
        content, *notes = (await gateway.ask("resources/read", {"uri": following}))["contents"]
        parts.append(content["text"])
        following = next((note["uri"] for note in notes if "next part" in note["text"]), None)
    return "".join(parts)


@HOSTS
@pytest.mark.parametrize("case", ["words", "both"])
async def test_through_the_gateway_a_large_result_passes_whole(case: str, host: HostEra) -> None:
    script = answering(LARGE[case])
    with anyio.fail_after(20):
        async with scripted_gateway({"s": script}) as gateway:
            sent = json.loads(await on_the_wire(gateway, host))
    assert sent["content"][0] == LARGE[case]["content"][0]


# ---- numbers ----

NUMBERS = [2**53 + 1, -(2**53) - 1, 1_915_883_588_174_806_058, 2**63, -(2**64), 10**40, 0.1, 1e300]


@HOSTS
@pytest.mark.parametrize("wire", ["stdio", "http"])
async def test_a_number_comes_and_goes_as_it_is(wire: Wire, host: HostEra) -> None:
    opened = {"stdio": scripted_stdio, "http": scripted_http}[wire]
    profile = Profile() if host == "auto" else Profile(modern=())
    structured = {"ids": NUMBERS, "by": {str(number): number for number in NUMBERS}}
    words = json.dumps(structured)
    with anyio.fail_after(10):
        async with (
            opened(Content(tools=[tool("t")]), profile) as server,
            wired_gateway(server.settings("s")) as gateway,
        ):
            result = {"content": [text(words)], "structuredContent": structured}
            await server.on("tools/call", Answer({"resultType": "complete", **result}))
            params = {"name": "s__t", "arguments": {"ids": NUMBERS}}
            answer = await Kernel(gateway.gateway).respond(host_request("tools/call", params))
            assert not isinstance(answer, Prepared)
            sent = json.loads(encode_result(answer), parse_int=str, parse_float=str)
            told = await gateway.crib.call("s__t", {"ids": NUMBERS})
            heard = await server.heard("tools/call")
    arguments = [one.message["params"]["arguments"] for one in heard]
    assert sent["structuredContent"]["ids"] == [json.dumps(number) for number in NUMBERS]
    assert sent["content"] == [text(words)]
    assert told["structuredContent"] == structured
    assert arguments == [{"ids": NUMBERS}] * 2
    shown = printed(told, as_json=True)
    assert all(json.dumps(number) in shown for number in NUMBERS)


NOT_JSON: Mapping[str, float] = {"NaN": nan, "Infinity": inf, "-Infinity": -inf}


@pytest.mark.parametrize("place", ["structure", "block", "meta"])
@pytest.mark.parametrize("number", NOT_JSON.values(), ids=NOT_JSON.keys())
@pytest.mark.parametrize("wire", ["stdio", "http"])
async def test_a_number_that_json_has_not_costs_its_answer_and_not_the_session(
    wire: Wire, number: float, place: str
) -> None:
    opened = {"stdio": scripted_stdio, "http": scripted_http}[wire]
    places: dict[str, dict[str, Any]] = {
        "structure": {"content": [], "structuredContent": {"a": [0, number]}},
        "block": {"content": [{**text("x"), "annotations": {"priority": number}}]},
        "meta": {"content": [], "_meta": {"v/x": number}},
    }
    with anyio.fail_after(10):
        async with (
            opened(Content(tools=[tool("t")])) as server,
            wired_gateway(server.settings("s")) as gateway,
        ):
            await gateway.names()
            await server.on(
                "tools/call", Answer({"resultType": "complete", **places[place]}), times=2
            )
            refused = await gateway.refusal("s__t")
            assert refused["code"] in {"result_invalid", "server_unavailable"}
            with pytest.raises(ResultInvalid):
                await gateway.crib.call("s__t", {})
            assert not (await gateway.call("s__t")).get("isError")
            counts = await server.counts()
    assert counts.calls["t"] == 3, "nothing was sent again"
    if wire == "stdio":
        assert counts.connects == 1, "the session lives"


@pytest.mark.parametrize("number", NOT_JSON.values(), ids=NOT_JSON.keys())
@pytest.mark.parametrize("place", [("a",), ("b", "c"), ("d", 0, "e")], ids=str)
async def test_an_argument_that_json_has_not_is_named_and_never_sent(
    place: tuple[str | int, ...], number: float
) -> None:
    value: Any = number
    for part in reversed(place[1:]):
        value = [value] if isinstance(part, int) else {part: value}
    script = answering({"content": []})
    with anyio.fail_after(5):
        async with scripted_gateway({"s": script}) as gateway:
            with pytest.raises(BadArguments) as raised:
                await gateway.crib.call("s__t", {str(place[0]): value})
            (fault,) = raised.value.details["faults"]
            assert str(place[-1]) in fault["where"]
            assert script.calls == []


# ---- answers that break off ----

CUTS = [
    '{"jsonrpc": "2.0", "id": %d, "result": {"structuredContent": {"n": 191588358',
    "12",
    "-",
    "",
]


@pytest.mark.parametrize("cut", range(len(CUTS)))
async def test_an_answer_that_breaks_off_inside_a_number_is_none(cut: int) -> None:
    with anyio.fail_after(10):
        async with (
            scripted_http(Content(tools=[tool("t")])) as server,
            wired_gateway(server.settings("s")) as gateway,
        ):
            await gateway.names()
            await server.on("tools/call", Garble(CUTS[cut]), times=1)
            refused = await gateway.refusal("s__t")
            assert refused["code"] in {"server_unavailable", "result_invalid"}
            assert "191588358" not in json.dumps(refused)
            assert not (await gateway.call("s__t")).get("isError")
            assert (await server.counts()).calls["t"] == 2, "it was not sent again"


@ERAS
@pytest.mark.parametrize("wire", ["stdio", "http"])
async def test_a_connection_that_ends_inside_a_number_brings_no_number(
    wire: Wire, era: Era
) -> None:
    opened = {"stdio": scripted_stdio, "http": scripted_http}[wire]
    profile = Profile() if era == "modern" else Profile(modern=())
    number = 7 * 10**4_000 // 9  # echoed, so that the middle of the answer is inside it
    with anyio.fail_after(10):
        async with (
            opened(Content(tools=[tool("t")]), profile) as server,
            wired_gateway(server.settings("s", reconnect=Reconnect(backoff_base=0.02))) as gateway,
        ):
            await gateway.names()
            await server.on("tools/call", Cut(), times=1)
            result = await gateway.call("s__t", n=number)
            code = result["structuredContent"]["error"]["code"]
            assert code in {"server_unavailable", "result_invalid"}
            assert "777777" not in json.dumps(result)
            assert (await server.counts()).calls["t"] == 1, "it is not sent again"
            while (await gateway.call("s__t", n=number)).get("isError"):  # noqa: ASYNC110 - back soon
                await anyio.sleep(0.02)
