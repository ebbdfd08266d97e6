"""Fingerprints, contracts and digests: what they notice, and what they must not."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.core.fingerprint import (
    WORDS,
    contract,
    digest,
    exposed_digest,
    fingerprint,
    shape,
    wordless,
)
from toolcrib.core.quarantine import judge
from toolcrib.core.schema import LISTED, NAMED, ONE
from toolcrib.core.snapshot import Item, Kind, Quarantined

relaxed = settings(deadline=None, max_examples=200)

TOOL: dict[str, Any] = {
    "name": "search",
    "title": "Search",
    "description": "Find things.",
    "inputSchema": {
        "type": "object",
        "properties": {"title": {"type": "string"}, "q": {"type": "string"}},
        "required": ["q"],
    },
    "outputSchema": {"type": "object"},
}


def with_input(**changes: Any) -> dict[str, Any]:
    return {**TOOL, "inputSchema": {**TOOL["inputSchema"], **changes}}


def test_words_at_schema_positions_leave_the_contract_alone_and_move_the_fingerprint() -> None:
    for word in WORDS:
        worded = with_input(**{word: "words"})
        assert contract(worded) == contract(TOOL)
        assert fingerprint(worded) != fingerprint(TOOL)


@pytest.mark.parametrize("member", ["title", "description", "annotations", "icons", "_meta"])
def test_members_beside_the_schemas_leave_the_contract_alone(member: str) -> None:
    worded = {**TOOL, member: {"any": "thing"}}
    assert contract(worded) == contract(TOOL)
    assert fingerprint(worded) != fingerprint(TOOL)


@pytest.mark.parametrize("word", sorted(WORDS))
@pytest.mark.parametrize("keyword", sorted(NAMED))
def test_a_property_named_like_a_word_is_a_property(keyword: str, word: str) -> None:
    before = with_input(**{keyword: {word: {"type": "string"}, "q": {}}})
    without = with_input(**{keyword: {"q": {}}})
    other = with_input(**{keyword: {word: {"type": "integer"}, "q": {}}})
    assert len({contract(before), contract(without), contract(other)}) == 3


@pytest.mark.parametrize("keyword", ["const", "default", "enum", "x-vendor", "$vocabulary"])
def test_words_inside_data_are_data(keyword: str) -> None:
    one, other = ([{"title": text, "description": text}] for text in "ab")
    assert contract(with_input(**{keyword: one})) != contract(with_input(**{keyword: other}))


def test_examples_are_dropped_whole() -> None:
    assert contract(with_input(examples=[{"type": "x"}])) == contract(TOOL)


@pytest.mark.parametrize("keyword", sorted(ONE))
def test_words_are_dropped_below_a_keyword_with_one_schema(keyword: str) -> None:
    bare, worded = {"type": "string"}, {"type": "string", "description": "a", "title": "b"}
    assert wordless({keyword: {"not": worded}}) == {keyword: {"not": bare}}


@pytest.mark.parametrize("keyword", sorted(LISTED))
def test_words_are_dropped_below_a_keyword_with_a_list_of_schemas(keyword: str) -> None:
    assert wordless({keyword: [{"title": "a"}, True]}) == {keyword: [{}, True]}


@pytest.mark.parametrize("keyword", sorted(NAMED))
def test_words_are_dropped_below_a_keyword_with_named_schemas(keyword: str) -> None:
    assert wordless({keyword: {"title": {"title": "a"}}}) == {keyword: {"title": {}}}


def test_names_in_dependencies_are_kept() -> None:
    schema = {"dependencies": {"a": ["title"], "b": {"title": "x"}}}
    assert wordless(schema) == {"dependencies": {"a": ["title"], "b": {}}}


def test_words_are_dropped_from_a_schema_without_touching_it() -> None:
    schema = {"properties": {"a": {"title": "t", "items": {"description": "d"}}}, "title": "t"}
    before = copy.deepcopy(schema)
    assert wordless(schema) == {"properties": {"a": {"items": {}}}}
    assert schema == before


@pytest.mark.parametrize("schema", [None, True, "x", 3, []])
def test_what_is_no_schema_is_kept_as_it_is(schema: Any) -> None:
    assert wordless(schema) is schema


def test_a_schema_deeper_than_any_stack_is_no_trouble() -> None:
    schema: dict[str, Any] = {"title": "x"}
    for _ in range(3000):
        schema = {"title": "x", "items": schema}
    assert isinstance(contract({"name": "a", "inputSchema": schema}), str)


def test_every_part_of_the_contract_counts() -> None:
    others = [
        {**TOOL, "name": "Search"},
        with_input(required=["q", "title"]),
        with_input(additionalProperties=False),
        with_input(maxProperties=True),
        with_input(maxProperties=1),
        {**TOOL, "outputSchema": {"type": "array"}},
        {key: value for key, value in TOOL.items() if key != "outputSchema"},
    ]
    assert len({contract(tool) for tool in (TOOL, *others)}) == len(others) + 1


def test_a_renamed_tool_keeps_its_shape() -> None:
    assert shape({**TOOL, "name": "find"}) == shape(TOOL)
    assert shape(with_input(required=[])) != shape(TOOL)


def test_spelling_moves_nothing() -> None:
    respelled = dict(reversed(TOOL.items()))
    respelled["inputSchema"] = dict(reversed(TOOL["inputSchema"].items()))
    assert fingerprint(respelled) == fingerprint(TOOL)
    assert fingerprint({"a": 1.0}) == fingerprint({"a": 1})
    assert fingerprint({"a": True}) != fingerprint({"a": 1})


def test_hashes_are_whole() -> None:
    hashes = [
        fingerprint(TOOL),
        contract(TOOL),
        digest(Kind.TOOLS, ()),
        exposed_digest(Kind.TOOLS, ()),
    ]
    assert {len(found) for found in hashes} == {64}


def item(key: str) -> Item:
    return Item(key, {"name": key}, fingerprint(key), contract({"name": key}))


def out(key: str) -> Quarantined:
    return Quarantined(key, "no_name", "", fingerprint(key))


KEYS = st.lists(st.sampled_from("abcdef"), unique=True)


@relaxed
@given(KEYS, KEYS, st.randoms(use_true_random=False))
def test_the_order_received_does_not_move_the_digest(
    served: list[str], kept_out: list[str], lots: Any
) -> None:
    items, quarantined = [item(key) for key in served], [out(key) for key in kept_out]
    before = digest(Kind.TOOLS, items, quarantined)
    lots.shuffle(items)
    lots.shuffle(quarantined)
    assert digest(Kind.TOOLS, items, quarantined) == before


@relaxed
@given(st.sampled_from(Kind), KEYS, KEYS, st.sampled_from(Kind), KEYS, KEYS)
def test_digests_are_equal_only_for_equal_content(
    kind: Kind, a: list[str], a_out: list[str], other: Kind, b: list[str], b_out: list[str]
) -> None:
    one = digest(kind, map(item, a), map(out, a_out))
    two = digest(other, map(item, b), map(out, b_out))
    assert (one == two) == ((kind, set(a), set(a_out)) == (other, set(b), set(b_out)))


def test_the_digest_says_which_of_two_claimants_is_served() -> None:
    first, second = item("a"), Quarantined("a", "duplicate_name", "", fingerprint("b"))
    swapped = Item("a", {}, second.fingerprint, "c"), Quarantined("a", "x", "", first.fingerprint)
    assert digest(Kind.TOOLS, [first], [second]) != digest(Kind.TOOLS, [swapped[0]], [swapped[1]])


def test_an_exposed_digest_depends_on_names_and_content_and_not_on_order() -> None:
    pairs = [("a__x", "1"), ("b__x", "2")]
    found = exposed_digest(Kind.TOOLS, pairs)
    assert exposed_digest(Kind.TOOLS, reversed(pairs)) == found
    assert exposed_digest(Kind.PROMPTS, pairs) != found
    assert exposed_digest(Kind.TOOLS, [("a__y", "1"), ("b__x", "2")]) != found
    assert exposed_digest(Kind.TOOLS, [("a__x", "2"), ("b__x", "1")]) != found


def test_the_same_listing_on_another_day_has_the_same_digest() -> None:
    raws = [{**TOOL, "name": name} for name in "abc"]
    items = [judge(Kind.TOOLS, raw).verdict for raw in raws]
    again = [judge(Kind.TOOLS, copy.deepcopy(raw)).verdict for raw in reversed(raws)]
    assert digest(Kind.TOOLS, [x for x in items if isinstance(x, Item)]) == digest(
        Kind.TOOLS, [x for x in again if isinstance(x, Item)]
    )
