"""What a program gets that hands results to a model: one copy, cut, and the rest in parts."""

import json
import re
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.calls.call import Requester
from toolcrib.calls.results.encoding import encode
from toolcrib.calls.rounds.questions import Callbacks, FormQuestion, PageQuestion, Said
from toolcrib.core.partition import Principal
from toolcrib.crib import Crib
from toolcrib.settings import Limits
from toolcrib.testing.rounds_rig import FORM, eliciting
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib

pytestmark = pytest.mark.virtual_time

SIZE = 5_000_000
URI = re.compile(r"toolcrib://result/[\w?=-]+")
ROWS = [{"id": n, "name": f"row {n} — ü"} for n in range(SIZE // 40)]
WORDS = "".join(f"word {n} " for n in range(SIZE // 12))
PICTURE = {"type": "image", "data": "QUJD", "mimeType": "image/png"}
ANN = Principal("https://issuer.test", "ann")


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def answering(result: Mapping[str, Any]) -> ScriptedUpstream:
    script = ScriptedUpstream([tool("t")])

    async def answer(*_: object) -> dict[str, Any]:
        return {"resultType": "complete", **result}

    script.on_call = answer
    return script


async def read_whole(crib: Crib, shown: Mapping[str, Any]) -> str:
    """Everything behind the one handle in a result, part by part."""
    (following,) = {uri for block in shown["content"] for uri in URI.findall(str(block))}
    parts: list[str] = []
    while following:
        answer = await crib.read_result(following)
        assert answer is not None
        assert len(encode(answer)) <= 2 * Limits().clip_bytes, "quotes are escaped, no more"
        part, *notes = answer["contents"]
        parts.append(part["text"])
        links = [link for note in notes for link in URI.findall(note["text"])]
        following = links[0] if links else ""
    return "".join(parts)


@pytest.mark.parametrize(
    ("result", "whole"),
    [
        ({"content": [text(WORDS)]}, WORDS),
        ({"content": [text(json.dumps(ROWS))]}, ROWS),
        ({"content": [], "structuredContent": {"rows": ROWS}}, {"rows": ROWS}),
        ({"content": [text(json.dumps(ROWS))], "structuredContent": ROWS}, ROWS),
    ],
    ids=["text", "JSON as text", "structure", "both"],
)
@pytest.mark.parametrize("error", [True, False], ids=["an error", "a result"])
async def test_five_megabytes_are_cut_and_read_until_they_are_complete(
    result: dict[str, Any], whole: object, *, error: bool
) -> None:
    assert len(encode(result)) > SIZE - SIZE // 10
    script = answering({**result, "isError": error})
    with anyio.fail_after(100):
        async with scripted_crib({"s": script}, limits=Limits(result_bytes=SIZE * 3)) as (crib, _):
            shown = await crib.call("s__t", {}, for_model=True)
            assert len(encode(shown)) <= Limits().clip_bytes
            assert shown["isError"] is error
            read = await read_whole(crib, shown)
    assert (read if whole is WORDS else json.loads(read)) == whole


@pytest.mark.parametrize("large", [False, True])
async def test_a_picture_is_kept_where_it_fits_and_noted_where_not(*, large: bool) -> None:
    picture = {**PICTURE, "data": "QUJD" * 50_000} if large else PICTURE
    script = answering({"content": [picture, text(WORDS)]})
    async with scripted_crib({"s": script}) as (crib, _):
        shown = await crib.call("s__t", {}, for_model=True)
        first = shown["content"][0]
        if not large:
            assert first == PICTURE
            return
        assert "of type image, left out; 200," in first["text"]
        (uri,) = URI.findall(first["text"])
        answer = await crib.read_result(uri)
        assert answer is not None
        assert answer["contents"][0]["text"].count("QUJD") > 10_000


async def test_a_small_result_is_there_once_and_only_for_a_model() -> None:
    result = {"content": [text('{"rows": [1, 2]}')], "structuredContent": {"rows": [1, 2]}}
    async with scripted_crib({"s": answering(result)}) as (crib, _):
        shown = await crib.call("s__t", {}, for_model=True)
        raw = await crib.call("s__t", {})
    assert (shown["content"], "structuredContent" in shown) == ([text('{"rows":[1,2]}')], False)
    assert (raw["content"], raw["structuredContent"]) == (result["content"], {"rows": [1, 2]})


async def test_without_being_told_so_a_large_result_is_whole() -> None:
    async with scripted_crib({"s": answering({"content": [text(WORDS)]})}) as (crib, _):
        assert (await crib.call("s__t", {}))["content"] == [text(WORDS)]


async def test_only_whoever_made_the_call_reads_the_rest() -> None:
    async with scripted_crib({"s": answering({"content": [text(WORDS)]})}) as (crib, _):
        mine = Requester(ANN, handle="one")
        shown = await crib.call("s__t", {}, requester=mine, for_model=True)
        (uri,) = URI.findall(str(shown["content"]))
        assert await crib.read_result(uri, requester=mine) is not None
        for other in (Requester(), Requester(ANN), Requester(ANN, handle="two")):
            assert await crib.read_result(uri, requester=other) is None


async def test_a_kept_result_expires() -> None:
    limits = Limits(kept_seconds=60)
    script = answering({"content": [text(WORDS)]})
    async with scripted_crib({"s": script}, limits=limits) as (crib, _):
        shown = await crib.call("s__t", {}, for_model=True)
        (uri,) = URI.findall(str(shown["content"]))
        await anyio.sleep(59)
        assert await crib.read_result(uri) is not None
        await anyio.sleep(2)
        assert await crib.read_result(uri) is None


@pytest.mark.parametrize(
    "uri", ["", "file:///a", "toolcrib://result/", f"toolcrib://result/{'0' * 32}"]
)
async def test_nothing_is_read_under_any_other_uri(uri: str) -> None:
    async with scripted_crib({"s": answering({})}) as (crib, _):
        assert await crib.read_result(uri) is None


async def test_questions_are_not_cut_however_long_they_are() -> None:
    asked = eliciting({**FORM, "message": "why? " * 600})
    limits = Limits(clip_bytes=2_048)
    requester = Requester(capabilities={"elicitation": {"form": {}}}, takes_rounds=True)
    async with scripted_crib({"s": answering(asked)}, limits=limits) as (crib, _):
        shown = await crib.call("s__t", {}, requester=requester, for_model=True)
    assert shown["resultType"] == "input_required"
    assert shown["inputRequests"]["q"]["params"]["message"].count("why?") == 600


async def test_a_callback_answers_and_the_model_sees_what_came_of_it() -> None:
    script = ScriptedUpstream([tool("t")])

    async def answer(_: str, params: Mapping[str, Any]) -> dict[str, Any]:
        given = params.get("inputResponses")
        done = {"resultType": "complete", "content": [text(json.dumps(given))]}
        return done if given else eliciting()

    async def on_elicit(server: str, question: FormQuestion | PageQuestion) -> Said:
        assert (server, isinstance(question, FormQuestion)) == ("s", True)
        return Said("accept", {"branch": "main"})

    script.on_call = answer
    async with scripted_crib({"s": script}) as (crib, _):
        requester = Callbacks(on_elicit).requester()
        shown = await crib.call("s__t", {}, requester=requester, for_model=True)
    assert json.loads(shown["content"][0]["text"])["q"]["content"] == {"branch": "main"}
