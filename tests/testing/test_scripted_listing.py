"""Pages: every way of cutting a listing, as a client that follows cursors sees it."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.testing.scripted import tool
from toolcrib.testing.server.behaviour import Content, Cursors, Pages
from toolcrib.testing.server.listing import Lister, UnknownCursor

TOOLS = [tool(name) for name in "abcde"]


def lister(pages: Pages, content: Content | None = None) -> Lister:
    made = Lister()
    made.pages = pages
    made.content = Content(tools=TOOLS) if content is None else content
    return made


def walk(
    made: Lister, *, kind: Kind = Kind.TOOLS, limit: int = 10, modern: bool = True
) -> Iterator[dict[str, Any]]:
    """The pages of one walk, at most `limit`."""
    cursor: object = None
    for _ in range(limit):
        page = made.page(kind, made.find(kind, cursor), modern=modern)
        yield page
        if "nextCursor" not in page:
            return
        cursor = page["nextCursor"]


def names(pages: Iterator[dict[str, Any]]) -> list[list[str]]:
    return [[one["name"] for one in page["tools"]] for page in pages]


def test_without_a_size_all_is_on_one_page() -> None:
    assert names(walk(lister(Pages()))) == [["a", "b", "c", "d", "e"]]


def test_a_size_cuts_pages() -> None:
    assert names(walk(lister(Pages(size=2)))) == [["a", "b"], ["c", "d"], ["e"]]


def test_an_empty_list_is_one_empty_page() -> None:
    assert names(walk(lister(Pages(size=2), Content()))) == [[]]


@pytest.mark.parametrize("size", [0, -1])
def test_a_size_below_one_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="size"):
        Pages(size=size)


def test_the_second_page_can_have_the_empty_cursor() -> None:
    pages = list(walk(lister(Pages(size=2, cursors="empty"))))
    assert pages[0]["nextCursor"] == ""
    assert names(iter(pages)) == [["a", "b"], ["c", "d"], ["e"]]


@pytest.mark.parametrize(
    ("size", "listed"), [(None, ["abcde"] * 4), (3, ["abc", "de", "de", "de"])]
)
def test_a_cycle_repeats_the_last_page_under_its_own_cursor(
    size: int | None, listed: list[str]
) -> None:
    pages = list(walk(lister(Pages(size=size, cursors="cycle")), limit=4))
    assert ["".join(page) for page in names(iter(pages))] == listed
    assert pages[2]["nextCursor"] == pages[3]["nextCursor"]


def test_a_refill_brings_a_new_item_under_the_same_cursor() -> None:
    pages = list(walk(lister(Pages(cursors="refill")), limit=4))
    assert names(iter(pages))[1:] == [["more_1"], ["more_2"], ["more_3"]]
    assert len({page["nextCursor"] for page in pages}) == 1


def test_an_endless_listing_has_new_cursors_and_new_items_for_ever() -> None:
    pages = list(walk(lister(Pages(size=3, cursors="endless")), limit=30))
    assert len({page["nextCursor"] for page in pages}) == 30
    assert len({name for page in names(iter(pages)) for name in page}) == 5 + 28


@pytest.mark.parametrize("cursors", ["refill", "endless"])
def test_items_are_made_up_for_every_kind(cursors: Cursors) -> None:
    for kind in Kind:
        pages = list(walk(lister(Pages(cursors=cursors), Content()), kind=kind, limit=3))
        assert [page[kind.field][0][kind.key] for page in pages[1:]] == ["more_1", "more_2"]


@pytest.mark.parametrize("cursor", ["", "x", "1", 7, None])
def test_a_cursor_that_was_never_given_is_unknown(cursor: object) -> None:
    made = lister(Pages(size=2))
    if cursor is None:
        made.find(Kind.TOOLS, cursor)
        return
    with pytest.raises(UnknownCursor):
        made.find(Kind.TOOLS, cursor)


def test_hints_are_of_the_page_and_of_the_modern_era_only() -> None:
    pages = Pages(size=2, ttl_ms=[5_000, 1_000], scope=["public", "private"])
    seen = [(page["ttlMs"], page["cacheScope"]) for page in walk(lister(pages))]
    assert seen == [(5_000, "public"), (1_000, "private"), (1_000, "private")]
    for page in walk(lister(pages), modern=False):
        assert not {"ttlMs", "cacheScope", "resultType"} & set(page)


def test_members_can_be_added_replaced_and_left_out() -> None:
    pages = Pages(extra={"resultType": "weird", "more": 1}, without=("ttlMs", "tools"))
    (page,) = walk(lister(pages))
    assert page == {"resultType": "weird", "more": 1, "cacheScope": "private"}


def test_a_turning_list_has_another_order_in_each_walk_and_the_same_items() -> None:
    made = lister(Pages(size=2, turning=True))
    walks = [list(chain.from_iterable(names(walk(made)))) for _ in range(6)]
    assert walks[0] == walks[5] == ["a", "b", "c", "d", "e"]
    assert walks[1] == ["b", "c", "d", "e", "a"]
    assert {tuple(sorted(one)) for one in walks} == {("a", "b", "c", "d", "e")}


def test_replicas_that_disagree_answer_whole_walks_in_turn() -> None:
    content = Content(tools=TOOLS[:3], other_tools=TOOLS[3:])
    made = lister(Pages(size=2), content)
    assert names(walk(made)) == [["a", "b"], ["c"]]
    assert names(walk(made)) == [["d", "e"]]
    assert names(walk(made)) == [["a", "b"], ["c"]]


def test_two_walks_at_once_keep_to_their_own_replica() -> None:
    made = lister(Pages(size=1), Content(tools=TOOLS[:2], other_tools=TOOLS[3:]))
    first, second = walk(made), walk(made)
    seen = [names(iter([next(one)])) for one in (first, second, first, second)]
    assert seen == [[["a"]], [["d"]], [["b"]], [["e"]]]


def test_content_that_changes_between_pages_tears_the_listing() -> None:
    made = lister(Pages(size=2))
    pages = walk(made)
    assert names(iter([next(pages)])) == [["a", "b"]]
    made.content = Content(tools=[tool("x"), *TOOLS])
    assert names(iter([next(pages)])) == [["b", "c"]]


def test_each_page_has_its_latency() -> None:
    made = lister(Pages(size=2, latency=[0, 1.5]))
    assert [made.latency(number) for number in (1, 2, 3)] == [0, 1.5, 1.5]
    assert lister(Pages(latency=0.25)).latency(7) == 0.25


def test_pages_are_numbered_from_one_through_made_up_ones() -> None:
    made = lister(Pages(size=2, cursors="endless"))
    cursor: object = None
    numbers: list[int] = []
    for _ in range(5):
        place = made.find(Kind.TOOLS, cursor)
        numbers.append(made.number(Kind.TOOLS, place))
        cursor = made.page(Kind.TOOLS, place, modern=True)["nextCursor"]
    assert numbers == [1, 2, 3, 4, 5]


def test_items_go_out_as_they_are() -> None:
    odd: list[Any] = [None, 3, {"name": 7}, tool("a"), tool("a")]
    (page,) = walk(lister(Pages(), Content(tools=odd)))
    assert page["tools"] == odd
