"""One page of a listing: one bad item never costs the page, and no page is guessed."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.core.draft import Bounds
from toolcrib.core.instant import Instant
from toolcrib.core.snapshot import Kind, Page, Scope
from toolcrib.protocol.eras import Era
from toolcrib.protocol.listing import ListingLimits, MalformedListing, parse_page

NOW = Instant(10.0, 1000.0)
HINTS = {"ttlMs": 1000, "cacheScope": "public", "resultType": "complete"}


def tool(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", **schema}}


def page_of(result: Any, kind: Kind = Kind.TOOLS, *, era: Era = "modern", **more: Any) -> Page:
    return parse_page(kind, result, era=era, received=NOW, **more)


def test_a_sound_page_is_parsed_whole() -> None:
    page = page_of({"tools": [tool("b"), tool("a")], **HINTS})
    assert [item.key for item in page.items] == ["b", "a"]
    assert page.quarantined == ()
    assert page.next_cursor is None
    assert (page.hints.ttl, page.hints.scope, page.hints.oddities) == (1.0, Scope.PUBLIC, ())
    assert page.received is NOW


@pytest.mark.duty(19)
def test_bad_tools_cost_themselves_alone() -> None:
    bad: list[Any] = [
        {"name": "bad"},
        {"name": "bad2", "inputSchema": None},
        {"name": "bad3", "inputSchema": {}},
        None,
        {"inputSchema": {"type": "object"}},
        tool("replace", properties={"path": {"type": "string"}, "type": "object"}),
        tool("nan", default=float("nan")),
    ]
    page = page_of({"tools": [tool("good"), *bad, tool("last")], **HINTS})
    assert [item.key for item in page.items] == ["good", "bad3", "last"]
    assert [(out.key, out.reason) for out in page.quarantined] == [
        ("bad", "no_input_schema"),
        ("bad2", "no_input_schema"),
        ("#4", "not_an_object"),
        ("#5", "no_name"),
        ("replace", "invalid_input_schema"),
        ("nan", "not_json"),
    ]
    assert page.items[1].notes == ('empty inputSchema repaired to {"type": "object"}',)


def test_positions_count_from_the_first_page() -> None:
    page = page_of({"tools": [None, tool("a"), 5], **HINTS}, position=40)
    assert [out.key for out in page.quarantined] == ["#40", "#42"]


def test_one_name_twice_is_for_the_walk_to_decide() -> None:
    both = [tool("get", properties={"a": {}}), tool("get", properties={"b": {}})]
    page = page_of({"tools": both, **HINTS})
    assert [item.definition for item in page.items] == both


@pytest.mark.parametrize("cursor", ["eyJvIjoyfQ==", "", "\u0000", "x" * 10_000], ids=len)
def test_any_string_continues_the_walk_and_the_empty_one_too(cursor: str) -> None:
    assert page_of({"tools": [], "nextCursor": cursor, **HINTS}).next_cursor == cursor


@pytest.mark.parametrize(
    ("cursor", "fits"),
    [
        ("x" * 65_536, True),
        ("x" * 65_537, False),
        ("é" * 32_769, False),
        ("\ud800" * 40_000, False),
    ],
    ids=["at the limit", "beyond it", "in bytes", "of surrogates"],
)
def test_a_cursor_is_bounded(cursor: str, *, fits: bool) -> None:
    result: dict[str, Any] = {"tools": [], "nextCursor": cursor, **HINTS}
    if fits:
        assert page_of(result).next_cursor == cursor
    else:
        with pytest.raises(MalformedListing, match="more than the 65,536 that a cursor may have"):
            page_of(result)


def test_the_bound_of_a_cursor_is_handed_in() -> None:
    result: dict[str, Any] = {"tools": [], "nextCursor": "12345", **HINTS}
    assert page_of(result, limits=ListingLimits(cursor_bytes=5)).next_cursor
    with pytest.raises(MalformedListing, match=r"nextCursor .* 5 bytes .* the 4"):
        page_of(result, limits=ListingLimits(cursor_bytes=4))


@pytest.mark.parametrize("more", [{}, {"nextCursor": None}], ids=str)
def test_an_absent_or_null_cursor_ends_the_walk(more: dict[str, Any]) -> None:
    assert page_of({"tools": [], **more, **HINTS}).next_cursor is None


@pytest.mark.parametrize("cursor", [0, 1, True, False, [], {}, ["c"]], ids=repr)
def test_a_cursor_of_another_type_is_no_page(cursor: Any) -> None:
    with pytest.raises(MalformedListing, match="nextCursor"):
        page_of({"tools": [], "nextCursor": cursor, **HINTS})


@pytest.mark.parametrize("result", [None, [], "x", 5, True, [tool("a")]], ids=repr)
def test_a_result_that_is_no_object_is_no_page(result: Any) -> None:
    with pytest.raises(MalformedListing, match="not an object"):
        page_of(result)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("found", [None, {}, "x", 5, True], ids=repr)
def test_a_listing_of_another_type_is_no_page(kind: Kind, found: Any) -> None:
    with pytest.raises(MalformedListing, match=kind.field):
        page_of({kind.field: found}, kind)


@pytest.mark.parametrize("kind", Kind)
def test_a_missing_listing_is_no_page(kind: Kind) -> None:
    other = next(k for k in Kind if k.field != kind.field)
    with pytest.raises(MalformedListing, match=f"{kind.field} .* missing"):
        page_of({other.field: []}, kind)


@pytest.mark.duty(23)
@pytest.mark.parametrize("found", ["input_required", "weird", "", None, 5, True], ids=repr)
def test_an_incomplete_or_unknown_result_is_no_page_in_the_modern_era(found: Any) -> None:
    result: dict[str, Any] = {"tools": [], "resultType": found}
    with pytest.raises(MalformedListing, match="resultType"):
        page_of(result)
    assert page_of(result, era="handshake").items == ()


def test_an_absent_result_type_counts_as_complete_and_is_noted() -> None:
    bare = {"tools": [tool("a")], "ttlMs": 0, "cacheScope": "private"}
    page = page_of(bare)
    assert page.items
    assert page.hints.oddities == ("resultType is missing",)
    assert page_of(bare, era="handshake").hints.oddities == ()


@pytest.mark.parametrize("era", ["modern", "handshake"])
@pytest.mark.parametrize(
    ("meta", "digest"),
    [
        ({"dev.toolcrib/digest": "d"}, "d"),
        ({"dev.toolcrib/digest": 3}, ""),
        ({"dev.toolcrib/digest": "x" * 257}, ""),
        ({"dev.toolcrib/other": "d"}, ""),
        ("text", ""),
        (None, ""),
    ],
)
def test_the_digest_of_a_peer_is_kept(era: Era, meta: object, digest: str) -> None:
    page = page_of({"tools": [], "_meta": meta}, era=era)
    assert page.hints.peer_digest == digest
    assert page_of({"tools": []}, era=era).hints.peer_digest == ""


def test_an_absence_of_hints_is_normal_in_the_handshake_era() -> None:
    page = page_of({"tools": []}, era="handshake")
    assert (page.hints.ttl, page.hints.scope, page.hints.oddities) == (0.0, Scope.PRIVATE, ())


TT2: list[dict[str, Any]] = [
    *({}, {"ttlMs": 0}, {"ttlMs": -5}, {"ttlMs": 10**12}, {"ttlMs": 1.5}, {"ttlMs": "60"}),
    {"ttlMs": 60_000, "cacheScope": "tenant"},
]


@pytest.mark.parametrize("hints", TT2, ids=str)
def test_the_listing_survives_every_hint(hints: dict[str, Any]) -> None:
    page = page_of({"tools": [tool("a")], "resultType": "complete", **hints})
    assert [item.key for item in page.items] == ["a"]
    assert page.hints.oddities


@pytest.mark.duty(19)
def test_a_wrong_header_annotation_costs_its_tool_in_the_modern_era_alone() -> None:
    bad = tool("bad", properties={"a": {"type": "number", "x-mcp-header": "A"}})
    result = {"tools": [tool("good"), bad], **HINTS}
    modern = page_of(result)
    assert [item.key for item in modern.items] == ["good"]
    assert modern.quarantined[0].reason == "invalid_header_annotation"
    assert [item.key for item in page_of(result, era="handshake").items] == ["good", "bad"]


def test_limits_are_handed_in() -> None:
    limits = ListingLimits(Bounds(schema_bytes=100), ttl_clamp=0.5)
    page = page_of({"tools": [tool("a", description="x" * 200)], **HINTS}, limits=limits)
    assert page.quarantined[0].reason == "too_large"
    assert page.hints.ttl == 0.5


def test_the_size_is_handed_in_or_counted() -> None:
    result = {"tools": [tool("a"), tool("b")], **HINTS}
    assert page_of(result, size=12_345).size == 12_345
    assert page_of(result, size=0).size == 0
    both = 2 * len('{"inputSchema":{"type":"object"},"name":"a"}')
    assert page_of(result).size == both
    assert page_of({**result, "nextCursor": "é" * 1_000}).size == both + 2_000


def test_every_kind_is_parsed_from_its_own_member() -> None:
    entry = {"name": "n", "uri": "a:b", "uriTemplate": "a:{b}", "inputSchema": {"type": "object"}}
    for kind in Kind:
        page = page_of({kind.field: [entry], **HINTS}, kind)
        assert [item.key for item in page.items] == [entry[kind.key]]


def test_what_is_known_is_taken_over_as_it_is() -> None:
    result = {"tools": [tool("a"), tool("b")], **HINTS}
    first = page_of(result)
    known = {item.fingerprint: item for item in first.items}
    changed = {"tools": [tool("a"), tool("b", maxProperties=1)], **HINTS}
    again = page_of(changed, known=known)
    assert again.items[0] is first.items[0]
    assert again.items[1].contract != first.items[1].contract


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["tools", "name", "inputSchema", "type", "nextCursor", "resultType"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@settings(deadline=None, max_examples=500)
@given(JUNK | st.fixed_dictionaries({"tools": st.lists(JUNK)}), st.booleans())
def test_anything_is_a_page_or_malformed_and_every_item_is_accounted_for(
    result: Any, modern: Any
) -> None:
    try:
        page = page_of(result, era="modern" if modern else "handshake")
    except MalformedListing:
        return
    assert len(page.items) + len(page.quarantined) == len(result["tools"])
