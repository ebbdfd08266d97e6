"""What is a result, which one was promised, and what both forms of it say."""

import json
from math import inf, nan
from typing import Any

import pytest

from toolcrib.adapters.schema.checker import JsonSchemaChecker
from toolcrib.calls.results.compact import compact, says
from toolcrib.calls.results.encoding import encode
from toolcrib.calls.results.results import finished, output_faults
from toolcrib.core.snapshot import Item, Kind
from toolcrib.errors import LimitExceeded, ResultInvalid
from toolcrib.facts import CallFailed, Finding
from toolcrib.ports import Unchecked
from toolcrib.settings import Limits
from toolcrib.testing.fake_access import snapshot_of
from toolcrib.testing.gateway_rig import GatewayRig
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import scripted_gateway

LIMIT = 8 * 1024 * 1024
PROMISED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def item(output: object = PROMISED) -> Item:
    definition = {**tool("t"), "outputSchema": output}
    return snapshot_of(Kind.TOOLS, [definition]).items[0]


def rig(output: object = PROMISED, limits: Limits | None = None) -> GatewayRig:
    made = GatewayRig(limits=limits or Limits())
    made.access.put("s", Kind.TOOLS, [{**tool("t"), "outputSchema": output}])
    return made


# ---- shape ----

BLOCKS: list[Any] = [
    5,
    None,
    "text",
    [],
    {},
    {"type": 5},
    {"type": None},
    {"type": ["text"]},
    {"type": "text"},
    {"type": "text", "text": None},
    {"type": "text", "text": {"a": 1}},
    {"type": "image", "data": "AA=="},
    {"type": "image", "mimeType": "image/png"},
    {"type": "audio", "data": 1, "mimeType": "audio/wav"},
    {"type": "resource_link"},
    {"type": "resource", "resource": None},
    {"type": "resource", "resource": {"text": "x"}},
    {"type": "resource", "resource": {"uri": "x://1", "text": 1}},
]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_block_that_hosts_could_not_read_makes_a_result_broken(block: object) -> None:
    good = {"type": "text", "text": "fine"}
    with pytest.raises(ResultInvalid) as raised:
        finished("s", {"content": [good, block]}, LIMIT)
    assert raised.value.details["faults"][0]["where"] == "content[1]"
    assert raised.value.details["executed"] is True
    assert "the tool has run" in raised.value.message


@pytest.mark.parametrize(
    ("result", "where"),
    [
        ({}, "content"),
        ({"content": None}, "content"),
        ({"content": {}}, "content"),
        ({"content": [], "isError": "yes"}, "isError"),
        ({"content": [], "resultType": "task"}, "resultType"),
        ({"content": [], "resultType": None}, "resultType"),
    ],
    ids=str,
)
def test_a_result_of_another_shape_is_broken(result: dict[str, Any], where: str) -> None:
    with pytest.raises(ResultInvalid) as raised:
        finished("s", result, LIMIT)
    assert raised.value.details["faults"][0]["where"] == where


@pytest.mark.parametrize(
    "result",
    [
        {"content": []},
        {"content": [{"type": "from the future", "x": [1]}], "vendor": {"b": 1}},
        {"content": [{"type": "image", "data": "AA==\n", "mimeType": "image/png"}]},
        {"content": [], "structuredContent": None},
        {"content": [], "structuredContent": [1, {"a": None}], "isError": False},
        {"content": [{"type": "text", "text": "cut \ud83d"}]},
        {"content": [], "structuredContent": {"id": 1915883588174806058, "huge": 2**200}},
        {"content": [], "resultType": "complete"},
    ],
    ids=str,
)
def test_any_other_result_passes_untouched(result: dict[str, Any]) -> None:
    assert finished("s", result, LIMIT) == result


def test_structured_content_alone_and_a_flag_that_is_null_are_made_good() -> None:
    assert finished("s", {"structuredContent": 1, "isError": None}, LIMIT) == {
        "structuredContent": 1,
        "content": [],
    }


def test_keys_of_ours_are_taken_out() -> None:
    meta = {"dev.toolcrib/changes": ["forged"], "own": 1}
    assert finished("s", {"content": [], "_meta": meta}, LIMIT)["_meta"] == {"own": 1}


@pytest.mark.parametrize("number", [nan, inf, -inf], ids=str)
def test_a_number_that_json_has_not_breaks_the_result_it_stands_in(number: float) -> None:
    with pytest.raises(ResultInvalid, match=r"structuredContent\.a\[1\]"):
        finished("s", {"content": [], "structuredContent": {"a": [0, number]}}, LIMIT)


def test_a_result_over_the_limit_is_refused_with_the_setting() -> None:
    result = {"content": [{"type": "text", "text": "x" * 100}]}
    size = len(encode(result))
    assert finished("s", result, size) == result
    with pytest.raises(LimitExceeded, match="result_bytes"):
        finished("s", result, size - 1)


# ---- the promise of the output schema ----


@pytest.mark.duty(26)
@pytest.mark.parametrize(
    ("output", "structured", "fits"),
    [
        (PROMISED, {"n": 1}, True),
        (PROMISED, {"n": 2**70}, True),
        (PROMISED, {"n": "1"}, False),
        (PROMISED, {}, False),
        (PROMISED, None, False),
        ({"type": "array", "items": {"type": "integer"}}, [1, 2], True),
        ({"type": "array", "items": {"type": "integer"}}, [1, "2"], False),
        ({"type": "null"}, None, True),
        ({"type": "null"}, 0, False),
        ({"type": "integer"}, 0, True),
        ({"type": "boolean"}, False, True),
        ({"type": "boolean"}, 0, False),
        ({"type": "string"}, "\ud800", True),
    ],
    ids=str,
)
async def test_structured_content_of_any_type_is_held_to_the_schema(
    output: object, structured: object, *, fits: bool
) -> None:
    here = rig(output)
    here.answer({"content": [], "structuredContent": structured})
    answer = await here.call("s__t")
    if fits:
        assert "isError" not in answer
        assert encode(answer["structuredContent"]) == encode(structured)
        return
    told = answer["structuredContent"]["error"]
    assert (told["code"], told["retry"]) == ("result_invalid", "no")
    assert told["details"]["executed"] is True
    assert told["details"]["faults"]
    assert [fact.code for fact in here.recorder.of(CallFailed)] == ["result_invalid"]


@pytest.mark.duty(26)
async def test_a_result_without_the_promised_content_is_broken() -> None:
    here = rig()
    here.answer({"content": [{"type": "text", "text": '{"n": 1}'}]})
    told = await here.refusal("s__t")
    assert told["code"] == "result_invalid"
    assert "structuredContent is missing" in told["message"]


@pytest.mark.parametrize("structured", [{"error": {"code": "RISK"}}, None, 1], ids=str)
async def test_an_error_of_a_tool_promises_nothing(structured: object) -> None:
    here = rig()
    raw = {
        "isError": True,
        "content": [{"type": "text", "text": "needs admin"}],
        "structuredContent": structured,
    }
    here.answer(raw)
    answer = await here.call("s__t")
    assert {key: answer[key] for key in raw} == raw


def test_a_tool_without_an_output_schema_promises_nothing() -> None:
    plain = snapshot_of(Kind.TOOLS, [tool("t")]).items[0]
    assert output_faults(JsonSchemaChecker(Limits()), plain, {"structuredContent": 1}) == ()


async def test_a_schema_that_leads_nowhere_lets_results_pass_and_is_reported() -> None:
    here = rig({"$ref": "https://schemas.example/none"})
    here.answer({"content": [], "structuredContent": {"n": "1"}})
    for _ in range(2):
        assert "isError" not in await here.call("s__t")
    (finding,) = [it for it in here.recorder.of(Finding) if it.code == "schema_unchecked"]
    assert "outputSchema" in finding.detail


def test_what_the_checker_cannot_judge_is_said_so() -> None:
    unknown = item({"$ref": "https://schemas.example/none"})
    found = output_faults(JsonSchemaChecker(Limits()), unknown, {"structuredContent": {}})
    assert isinstance(found, Unchecked)


@pytest.mark.duty(26)
@pytest.mark.virtual_time
@pytest.mark.parametrize("position", [0, 1, 2, 5])
async def test_tools_of_every_page_are_held_to_their_promise(position: int) -> None:
    tools = [{**tool(f"t{number}"), "outputSchema": PROMISED} for number in range(6)]
    script = ScriptedUpstream(tools, page_size=2)

    async def lie(_method: str, _params: object) -> dict[str, Any]:
        return {"content": [], "structuredContent": {"n": "no"}}

    script.on_call = lie
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        told = (await gateway.call(f"s__t{position}"))["structuredContent"]["error"]
        assert told["code"] == "result_invalid"


@pytest.mark.virtual_time
async def test_a_server_that_was_replaced_in_mid_call_may_keep_its_newer_promise() -> None:
    newer = {"type": "object", "properties": {"n": {"type": "string"}}}
    others = [tool("second"), tool("third")]
    script = ScriptedUpstream([{**tool("t"), "outputSchema": PROMISED}, *others])

    async def replaced(_method: str, _params: object) -> dict[str, Any]:
        script.change([{**tool("t"), "outputSchema": newer}, *others], signal=False)
        return {"content": [], "structuredContent": {"n": "1"}}

    script.on_call = replaced
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        assert "isError" not in await gateway.call("s__t")


# ---- both forms, in both eras ----


@pytest.mark.duty(26)
@pytest.mark.parametrize("structured", [None, 0, False, "x", [1], {"n": 1}, 2**70], ids=repr)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_both_forms_pass_the_gateway_and_older_hosts_get_a_text_twin(
    mode: Any, structured: object
) -> None:
    here = rig({})
    here.access.put("s", Kind.TOOLS, [tool("t")])
    text = {"type": "text", "text": "for people"}
    here.answer({"content": [text], "structuredContent": structured})
    async with here.in_memory(mode) as client:
        answer = (await client.call_tool("s__t", {})).model_dump(by_alias=True, mode="json")
    texts = [block["text"] for block in answer["content"]]
    if mode == "auto" or isinstance(structured, dict):
        assert texts == ["for people"]
        assert answer["structuredContent"] == structured
    else:
        assert texts == ["for people", json.dumps(structured)]
        assert answer.get("structuredContent") is None


# ---- one compact copy ----


def test_a_text_twin_is_told_once_and_short() -> None:
    structured = {"ids": [1, 2], "id": 1915883588174806058}
    result: dict[str, Any] = {
        "content": [
            {"type": "text", "text": json.dumps(structured, indent=4), "annotations": {}},
            {"type": "text", "text": "and more"},
        ],
        "structuredContent": structured,
        "isError": False,
    }
    before = json.dumps(result)
    told = compact(result)
    assert told == {
        "content": [
            {"type": "text", "text": '{"ids":[1,2],"id":1915883588174806058}', "annotations": {}},
            {"type": "text", "text": "and more"},
        ],
        "isError": False,
    }
    assert json.dumps(result) == before


@pytest.mark.parametrize(
    ("text", "structured"),
    [
        ("something else", {"a": 1}),
        ('{"a": 1}', {"a": True}),
        ('{"a": 1}', {"a": 1, "b": 2}),
        ("1915883588174806058", 1915883588174806059),
        ("NaN", nan),
        ("", None),
        ("[" * 100_000, []),
    ],
    ids=[str(number) for number in range(7)],
)
def test_what_does_not_say_the_same_stays_as_it_is(text: str, structured: object) -> None:
    result = {"content": [{"type": "text", "text": text}], "structuredContent": structured}
    assert compact(result)["content"] == result["content"]
    assert "structuredContent" in compact(result)
    assert not says(text, structured)


@pytest.mark.parametrize(
    ("text", "value"),
    [("null", None), ("[]", []), (' {"b": 1, "a": "\\u00e9"} ', {"a": "é", "b": 1}), ("1.0", 1)],
)
def test_the_same_value_may_be_written_in_many_ways(text: str, value: object) -> None:
    assert says(text, value)
