"""Tools are found by a pattern in their names and texts."""

import re
from collections.abc import Callable

from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.regex import matching
from toolcrib.core.search.segment import Doc, Segment
from toolcrib.testing.store_rig import item_of, snapshot_of


def docs(server: str, **descriptions: object) -> tuple[Doc, ...]:
    items = [item_of({"name": name, "description": it}) for name, it in descriptions.items()]
    return Segment.build(server, snapshot_of(*items), Lexicon(str)).docs


def occurs(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.search(text) is not None


TOOLS = docs("b", list_pods="Pods.", get_pod="One.", status="Says whether a pod runs.", n=3)


def test_a_match_in_the_name_comes_before_one_in_the_texts() -> None:
    assert matching(TOOLS, occurs("pod"), 9) == [
        (("b", "get_pod"), 2.0),
        (("b", "list_pods"), 2.0),
        (("b", "status"), 1.0),
    ]


def test_anchors_hold_for_the_name_alone() -> None:
    assert [tool for tool, _ in matching(TOOLS, occurs("^get_pod$"), 9)] == [("b", "get_pod")]


def test_equal_matches_are_ordered_by_server_and_name_and_cut_to_the_number_wanted() -> None:
    both = (*TOOLS, *docs("a", z_pod="", y_pod=""))
    found = [tool for tool, _ in matching(both, occurs("_pod"), 3)]
    assert found == [("a", "y_pod"), ("a", "z_pod"), ("b", "get_pod")]


def test_titles_are_looked_at_and_long_texts_in_part_only() -> None:
    items = [
        item_of({"name": "a", "title": "Needle here", "description": None}),
        item_of({"name": "b", "description": "x" * 2_000 + "Needle"}),
    ]
    found = Segment.build("s", snapshot_of(*items), Lexicon(str)).docs
    assert [tool for tool, _ in matching(found, occurs("Needle"), 9)] == [("s", "a")]


def test_nothing_matches_nothing() -> None:
    assert matching(TOOLS, occurs("zzz"), 9) == []
    assert matching((), occurs(""), 9) == []
