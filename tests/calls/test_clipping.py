"""What a model is shown of a large result, and where it is told to find the rest."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.calls.results.clipping import SMALLEST, clip
from toolcrib.calls.results.cutting import cut_json, cut_text, written
from toolcrib.calls.results.encoding import encode
from toolcrib.core.jsontypes import is_array, is_object

MEGABYTES = 5 * 1024 * 1024


class Shelf:
    """Keeps what was cut."""

    def __init__(self, *, full: bool = False) -> None:
        self.kept: list[tuple[bytes, str]] = []
        self._full = full

    async def keep(self, content: bytes, mime: str) -> str | None:
        if self._full:
            return None
        self.kept.append((content, mime))
        return f"toolcrib://result/{len(self.kept)}"


def texts(result: dict[str, Any]) -> list[str]:
    return [block["text"] for block in result["content"]]


def block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


async def test_what_fits_passes_as_it_is() -> None:
    shelf = Shelf()
    result = {"content": [block("x" * 1_000)], "structuredContent": {"a": 1}, "isError": True}
    assert await clip(result, 65_536, shelf.keep) == result
    assert shelf.kept == []


async def test_a_long_text_is_cut_with_its_size_and_a_handle() -> None:
    shelf = Shelf()
    words = "lorem ipsum " * (MEGABYTES // 12)
    result = {"content": [block(words)], "isError": True, "_meta": {"a": 1}}
    told = await clip(result, 65_536, shelf.keep)
    assert written(told) <= 65_536
    assert (told["isError"], told["_meta"]) == (True, {"a": 1})
    shown, note = texts(told)
    assert words.startswith(shown)
    assert len(shown) > 60_000
    assert f"{len(words):,} bytes" in note
    assert "toolcrib://result/1" in note
    assert shelf.kept == [(words.encode(), "text/plain")]


async def test_long_json_is_cut_to_json() -> None:
    shelf = Shelf()
    rows = [{"id": 10**18 + number, "name": "é" * 20} for number in range(20_000)]
    whole = json.dumps(rows, ensure_ascii=False)
    told = await clip({"content": [block(whole)]}, 65_536, shelf.keep)
    assert written(told) <= 65_536
    shown = json.loads(texts(told)[0])
    assert len(shown) > 200
    assert shown[:-1] == rows[: len(shown) - 1]
    assert "cut to valid JSON" in texts(told)[1]
    assert shelf.kept == [(whole.encode(), "application/json")]


async def test_large_structured_content_goes_on_as_json_text() -> None:
    shelf = Shelf()
    rows: dict[str, Any] = {
        "total": 3,
        "rows": [{"id": number} for number in range(50_000)],
        "next": None,
    }
    told = await clip({"content": [], "structuredContent": rows}, 65_536, shelf.keep)
    assert "structuredContent" not in told
    shown = json.loads(texts(told)[0])
    assert (shown["total"], shown["next"]) == (3, None)
    assert shown["rows"] == rows["rows"][: len(shown["rows"])]
    assert json.loads(shelf.kept[0][0]) == rows


async def test_a_twin_is_not_told_twice() -> None:
    shelf = Shelf()
    rows = [{"id": number} for number in range(3_000)]
    result = {"content": [block(json.dumps(rows, indent=8))], "structuredContent": rows}
    told = await clip(result, 65_536, shelf.keep)
    assert json.loads(texts(told)[0]) == rows
    assert "structuredContent" not in told
    assert shelf.kept == []


@pytest.mark.parametrize("kind", ["image", "audio"])
async def test_what_cannot_be_cut_is_left_out_with_a_note(kind: str) -> None:
    shelf = Shelf()
    picture = {"type": kind, "data": "A" * MEGABYTES, "mimeType": "image/png"}
    told = await clip({"content": [block("see:"), picture]}, 65_536, shelf.keep)
    assert texts(told)[0] == "see:"
    assert kind in texts(told)[1]
    assert "toolcrib://result/1" in texts(told)[1]
    assert json.loads(shelf.kept[0][0]) == picture


async def test_very_many_blocks_are_cut_and_counted() -> None:
    shelf = Shelf()
    told = await clip({"content": [block(str(n)) for n in range(100_000)]}, 65_536, shelf.keep)
    assert written(told) <= 65_536
    assert texts(told)[:3] == ["0", "1", "2"]
    shown = len(told["content"]) - 1
    assert f"{100_000 - shown} content blocks" in texts(told)[-1]


async def test_a_large_member_is_left_out_and_small_ones_stay() -> None:
    shelf = Shelf()
    result = {"content": [block("hi")], "_meta": {"x": "y" * MEGABYTES}, "vendor": 1}
    told = await clip(result, 65_536, shelf.keep)
    assert "_meta" not in told
    assert told["vendor"] == 1
    assert texts(told)[0] == "hi"
    assert "_meta" in texts(told)[1]


async def test_a_rest_that_cannot_be_kept_is_said_to_be_lost() -> None:
    told = await clip({"content": [block("x" * MEGABYTES)]}, 65_536, Shelf(full=True).keep)
    assert "was not kept" in texts(told)[1]


async def test_lone_surrogates_are_kept_as_escapes() -> None:
    shelf = Shelf()
    told = await clip({"content": [block("\ud83d " * 100_000)]}, 65_536, shelf.keep)
    assert written(told) <= 65_536
    assert shelf.kept[0][0].startswith(b'"\\ud83d ')


@pytest.mark.parametrize("around", range(30))
def test_no_text_ends_inside_a_number(around: int) -> None:
    text = "the number is 1915883588174806058 and more"
    shown = cut_text(text, around + 2)
    assert text.startswith(shown)
    assert shown.count("1") in {0, 2}, shown


def test_a_text_that_is_one_number_is_not_shown_in_part() -> None:
    assert cut_text("9" * 10_000, 1_000) == ""


@pytest.mark.parametrize("end", range(2, 12))
def test_no_text_ends_inside_a_pair_of_surrogates(end: int) -> None:
    text = "\ud83d\ude00" * 3
    shown = cut_text(text, end * 6 + 2)
    assert len(shown) % 2 == 0


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=20), inner),
    max_leaves=60,
)


@given(JSON, st.integers(0, 2_000))
def test_json_cut_to_any_room_is_a_part_of_itself(value: object, room: int) -> None:
    cut = cut_json(value, room)
    if cut is None:
        return
    assert written(cut) <= max(room, min(written(value), room))
    assert is_part(cut, value)


def is_part(cut: object, whole: object) -> bool:
    if isinstance(whole, str):
        return isinstance(cut, str) and whole.startswith(cut)
    if is_array(whole):
        return (
            is_array(cut)
            and len(cut) <= len(whole)
            and all(is_part(a, b) for a, b in zip(cut, whole, strict=False))
        )
    if is_object(whole):
        return is_object(cut) and all(is_part(cut[key], whole[key]) for key in cut)
    return cut == whole and type(cut) is type(whole)


BLOCK = st.one_of(
    st.text(max_size=4_000).map(block),
    JSON.map(lambda value: block(json.dumps(value))),
    st.just({"type": "image", "data": "A" * 3_000, "mimeType": "image/png"}),
    st.just({"type": "from the future", "x": ["y" * 500]}),
)


@given(
    st.lists(BLOCK, max_size=30),
    st.one_of(st.just(...), JSON),
    st.integers(SMALLEST, 8_000),
    st.booleans(),
)
async def test_whatever_comes_is_a_result_within_the_limit(
    content: list[dict[str, Any]], structured: object, limit: int, failed: Any
) -> None:
    result: dict[str, Any] = {"content": content, "isError": failed}
    if structured is not ...:
        result["structuredContent"] = structured
    told = await clip(result, limit, Shelf().keep)
    assert len(encode(told)) <= limit
    assert told["isError"] is failed
    assert all(isinstance(each["type"], str) for each in told["content"])
