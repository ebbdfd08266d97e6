"""Calls between a hostile server and a hostile host: neither stops the process that both share."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest

from toolcrib.adapters.schema import survey, work
from toolcrib.adapters.schema.checker import JsonSchemaChecker
from toolcrib.calls.call import Requester
from toolcrib.calls.results import cutting
from toolcrib.calls.results.clipping import clip
from toolcrib.calls.results.compact import says
from toolcrib.calls.results.cutting import cut_json, written
from toolcrib.calls.results.encoding import NotFinite, encode
from toolcrib.core.json_floor import json_floor
from toolcrib.core.partition import ANONYMOUS
from toolcrib.core.schema_diff import schema_changes
from toolcrib.core.snapshot import Kind
from toolcrib.errors import TooBusy
from toolcrib.gateway.links import LOOKUPS
from toolcrib.gateway.uris import qualified
from toolcrib.ports import Unchecked
from toolcrib.settings import Limits
from toolcrib.testing.approval_desk import ALICE
from toolcrib.testing.gateway_rig import GatewayRig
from toolcrib.testing.rounds_rig import FORM, Installation, Process, Questioner, by_rounds, outgoing
from toolcrib.testing.scripted import tool

LONG = [f"value-{n}" for n in range(50)]
NOTHING: dict[str, Any] = {}
EMPTY: list[Any] = []


@pytest.fixture
def rig() -> GatewayRig:
    rig = GatewayRig()
    rig.access.put("alpha", Kind.TOOLS, [tool("one")])
    return rig


# ---- a hostile host ----


@pytest.mark.parametrize(
    "answers",
    [
        {f"k{n}": NOTHING for n in range(200_000)},
        {"k": {"role": "user", "model": "m", "content": [NOTHING] * 800_000}},
        {"k": {"roots": [NOTHING] * 800_000}},
        {"k": {"action": "accept", "content": {f"f{n}": None for n in range(100_000)}}},
        {"k": {"role": "user", "model": "m", "content": [{"content": [NOTHING] * 500_000}]}},
    ],
    ids=["answers", "content", "roots", "fields", "inside"],
)
async def test_answers_without_end_are_refused_before_each_is_validated(
    rig: GatewayRig, answers: dict[str, Any]
) -> None:
    error = await rig.error("tools/call", {"name": "alpha__one", "inputResponses": answers})
    assert error["code"] == -32602
    assert "inputResponses holds more than" in error["message"]


async def test_parameters_that_are_wrong_in_very_many_places_are_counted(rig: GatewayRig) -> None:
    wrong = {f"k{n}": n for n in range(200_000)}
    error = await rig.error("prompts/get", {"name": "alpha__p", "arguments": wrong})
    assert error["code"] == -32602
    assert "200,000 places" in error["message"]
    few = await rig.error("prompts/get", {"name": "alpha__p", "arguments": {"a": 1}})
    assert "arguments.a" in few["message"]


def anonymous(handle: str = "") -> Requester:
    return by_rounds(principal=ANONYMOUS, handle=handle)


async def parked(here: Process, requester: Requester, count: int) -> None:
    """So many calls of a caller, made at once, of which each waits for a person."""

    async def one(number: int) -> None:
        with suppress(TooBusy):
            await here.rounds.request(outgoing(requester, arguments={"n": number}))

    async with anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(one, number)


@pytest.mark.virtual_time
@pytest.mark.parametrize("handle", ["", "a"])
async def test_a_host_that_lets_its_questions_lie_parks_a_quarter_of_the_room(handle: str) -> None:
    async with Installation("handshake").process(limits=Limits(parked_calls=8)) as here:
        here.serves(Questioner(FORM).body)
        await parked(here, anonymous(handle), 20)
        assert len(here.parking) == 2
        with pytest.raises(TooBusy, match=r"anonymous caller.*2 of the 8 that parked_calls") as no:
            await here.rounds.request(outgoing(anonymous(handle)))
        assert "`a`" not in no.value.message
        for other in (anonymous("b"), by_rounds(), by_rounds(principal=ALICE)):
            result = await here.rounds.request(outgoing(other))
            assert result["resultType"] == "input_required"
        await parked(here, by_rounds(principal=ALICE), 8)
        with pytest.raises(TooBusy, match="calls of `alice` wait"):
            await here.rounds.request(outgoing(by_rounds(principal=ALICE)))


@pytest.mark.virtual_time
async def test_a_host_that_changes_its_handle_leaves_room_to_those_who_have_a_name() -> None:
    async with Installation("handshake").process(limits=Limits(parked_calls=8)) as here:
        here.serves(Questioner(FORM).body)
        for number in range(10):
            await parked(here, anonymous(f"h{number}"), 1)
        assert len(here.parking) == 6
        with pytest.raises(TooBusy, match="6 of the 8"):
            await here.rounds.request(outgoing(anonymous("other")))
        result = await here.rounds.request(outgoing(by_rounds(principal=ALICE)))
        assert result["resultType"] == "input_required"


@pytest.mark.virtual_time
async def test_the_smallest_room_takes_one_call() -> None:
    async with Installation("handshake").process(limits=Limits(parked_calls=1)) as here:
        here.serves(Questioner(FORM).body)
        await parked(here, anonymous(), 3)
        assert len(here.parking) == 1


# ---- a hostile server ----


async def kept(_content: bytes, _mime: str) -> str:
    return "toolcrib://result/1"


def nested(value: object, levels: int) -> object:
    for _ in range(levels):
        value = [value]
    return value


def numbered() -> dict[str, Any]:
    return {f"k{n}": n for n in range(500_000)}


def heavy() -> object:
    """What is larger than its room on each of its levels, and too deep to be cut to anything."""
    return nested([[0]] * 12_000, 40)


WIDE: dict[str, Callable[[], dict[str, Any]]] = {
    "members of the result": lambda: {"content": [], **numbered()},
    "members": lambda: {"structuredContent": numbered()},
    "elements": lambda: {"structuredContent": [0] * 2_500_000},
    "in a text": lambda: {"content": [{"type": "text", "text": str([0] * 1_500_000)}]},
    "deep": lambda: {"structuredContent": nested([0] * 1_000_000, 31)},
    "heavy members": lambda: {"structuredContent": dict.fromkeys(map(str, range(200)), heavy())},
    "heavy elements": lambda: {"structuredContent": [{"a": heavy()}] * 200},
}


@pytest.mark.parametrize("shape", WIDE)
async def test_of_a_result_without_end_no_more_is_looked_at_than_could_be_shown(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = measured = 0

    def counted(value: object, most: int) -> tuple[int, int]:
        nonlocal looks, measured
        size, looked_at = json_floor(value, most)
        looks, measured = looks + looked_at, measured + 1
        return size, looked_at

    monkeypatch.setattr(cutting, "json_floor", counted)
    told = await clip(WIDE[shape](), 65_536, kept)
    assert written(told) <= 65_536
    assert "toolcrib://result/1" in told["content"][-1]["text"]
    assert measured < 200_000
    assert looks < 2_000_000
    if shape == "members of the result":
        assert "499,000 more members" in told["content"][-1]["text"]


async def test_small_members_stay_beside_many_large_ones() -> None:
    given = {"first": 1, **{f"k{n}": ["x" * 200] * 500 for n in range(300)}, "last": None}
    told = await clip({"structuredContent": given}, 65_536, kept)
    shown = json.loads(told["content"][0]["text"])
    assert (shown["first"], shown["last"]) == (1, None)
    assert list(shown) == [name for name in given if name in shown]
    assert cut_json({"n" * 300: None, "rest": "x" * 9_000}, 2_000)["n" * 300] is None


def test_large_twins_are_told_apart_as_they_are_written() -> None:
    row = [{"b": 1, "a": n} for n in range(20_000)]
    assert says(json.dumps(row, indent=1, sort_keys=True), row)
    assert not says(json.dumps([*row, True]), [*row, 1])
    assert says("[1.0]", [1])
    assert not says("[true]", [1])


@pytest.mark.parametrize("item", [[1], [], {"a": 1}, "x", [[[1]]]])
def test_equal_items_are_not_looked_for_in_an_array_without_end(
    item: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked: list[int] = []

    def counted(value: object, most: int = 10**9) -> survey.Survey:
        found = survey.survey(value, most)
        walked.append(found.nodes)
        return found

    monkeypatch.setattr(work, "survey", counted)
    schema = {"type": "object", "properties": {"a": {"uniqueItems": True}}}
    for many in ([item] * 700_000, [[item] * 90_000] * 9):
        found = JsonSchemaChecker(Limits()).check(schema, {"a": many}, mark="m")
        assert isinstance(found, Unchecked)
        assert "schema_work" in found.reason
    assert sum(walked) < 1_000_000


async def test_of_links_without_end_the_first_are_looked_up_and_the_rest_name_their_server(
    rig: GatewayRig,
) -> None:
    templates = [{"name": f"t{n}", "uriTemplate": f"x{n}://a/{{b}}/{{c}}"} for n in range(200)]
    rig.access.put("alpha", Kind.TEMPLATES, templates)
    links = [{"type": "resource_link", "uri": f"y://{n}", "name": "n"} for n in range(60_000)]
    rig.answer({"content": links})
    content = (await rig.call("alpha__one"))["content"]
    looked_up = LOOKUPS // 210
    assert [it["uri"] for it in content[:looked_up]] == [f"y://{n}" for n in range(looked_up)]
    assert content[-1]["uri"] == qualified("alpha", "y://59999")
    assert len(content) == 60_000


def test_a_number_that_is_none_is_found_or_known_to_be_there_in_any_value() -> None:
    with pytest.raises(NotFinite, match=r"stands at `x\[3\]`"):
        encode({"x": [0, EMPTY, NOTHING, float("nan")]})
    with pytest.raises(NotFinite, match="stands at `…`"):
        encode({"x": [*[EMPTY] * 2_000_000, float("inf")]})
    assert b"NaN" in encode({"x": ["NaN", [EMPTY] * 2_000_000]})
    deep: Any = "NaN"
    for _ in range(900):
        deep = [deep]
    assert b"NaN" in encode(deep)


def quiet(number: int) -> dict[str, Any]:
    """A schema whose places are all equal and all have to be compared, each with all below it."""
    large = {"enum": [f"value-{n}" for n in range(14_000)], "not": {"$ref": "#/$defs/large"}}
    places = {f"d{n}": {"$ref": "#/$defs/large"} for n in range(300)}
    return {
        "type": "object",
        "properties": {f"p{n}": {"$ref": f"#/$defs/d{n}"} for n in range(300)},
        "$defs": {"large": large, **places, "unused": {"const": number}},
    }


def test_a_change_of_a_schema_that_takes_too_long_to_tell_is_broken_off() -> None:
    (said,) = schema_changes(quiet(1), quiet(2))
    assert "too large to compare as a whole" in said


def test_a_schema_as_large_as_it_may_be_is_compared_as_a_whole() -> None:
    before = {"type": "object", "properties": {f"p{n}": {"enum": LONG} for n in range(400)}}
    after = {**before, "required": ["p399"]}
    assert schema_changes(before, after) == ("`p399` is now required",)


@pytest.mark.parametrize("pattern", ["(?=a)(a|aa)+$", "(?!x)[ab]*c"])
def test_a_pattern_that_searches_from_each_place_is_not_tried_on_a_long_text(pattern: str) -> None:
    checker = JsonSchemaChecker(Limits())
    found = checker.check({"pattern": pattern}, "a" * 40_000 + "b", mark=pattern)
    assert isinstance(found, Unchecked)
    assert checker.check({"pattern": pattern}, "a" * 40 + "b", mark=pattern) != ()
