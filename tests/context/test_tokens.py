"""What definitions cost: estimates that are near exact counts, counted once."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from toolcrib.adapters.quicktok_counter import QuicktokCounter
from toolcrib.context.tokens import Costs, FactoredCounter, HeuristicCounter, counted_text
from toolcrib.core.quarantine import judge
from toolcrib.core.snapshot import Item, Kind

ENGLISH = (
    "Creates an issue in a repository. The title is required; labels and assignees are optional, "
    "and unknown labels are created. Returns the number and the address of the new issue."
)
CHINESE = (
    "\u5728\u4ed3\u5e93\u4e2d\u521b\u5efa\u4e00\u4e2a\u65b0\u7684\u95ee\u9898"
    "\uff0c\u5e76\u8fd4\u56de\u5176\u7f16\u53f7\u548c\u5730\u5740\u3002"
)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "repositoryOwner": {"type": "string", "description": "The account owner (e.g. `octo`)."},
        "issue_number": {"type": "integer", "minimum": 1, "maximum": 100_000},
        "state": {"type": "string", "enum": ["open", "closed", "all"], "default": "open"},
        "perPage": {"type": "number", "description": "Results per page (1-100)"},
        "since": {"type": "string", "format": "date-time"},
    },
    "required": ["repositoryOwner", "issue_number"],
    "additionalProperties": False,
    "$schema": "http://json-schema.org/draft-07/schema#",
}


@dataclass
class Counting:
    """Counts characters, and how often it was asked."""

    name: str = "characters"
    exact: bool = False
    asked: list[str] = field(default_factory=list[str])

    def count(self, text: str) -> int:
        self.asked.append(text)
        return len(text)


def tool(name: str, **members: Any) -> Item:
    found = judge(Kind.TOOLS, {"name": name, "inputSchema": {"type": "object"}, **members}).verdict
    assert isinstance(found, Item)
    return found


@pytest.mark.parametrize(
    ("text", "most_off"),
    [
        (ENGLISH, 0.15),
        (json.dumps(SCHEMA, separators=(",", ":")), 0.12),
        (
            json.dumps({"name": "create_issue", "description": ENGLISH, "input_schema": SCHEMA}),
            0.15,
        ),
        (CHINESE * 4, 0.35),
        ("\n".join(f"{n}: 10.0.{n}.1, 2026-07-28T10:00:00Z" for n in range(100, 160)), 0.35),
    ],
    ids=["english", "schema", "definition", "chinese", "numbers"],
)
def test_the_estimate_is_near_the_exact_count(text: str, most_off: float) -> None:
    exact = QuicktokCounter().count(text)
    assert abs(HeuristicCounter().count(text) - exact) <= most_off * exact


def test_only_the_empty_text_costs_nothing() -> None:
    for counter in (HeuristicCounter(), QuicktokCounter()):
        assert counter.count("") == 0
        for text in (" ", "a", ".", "\u00e9", "\u540d", "\ud800", "7", "<|endoftext|>"):
            assert counter.count(text) >= 1


def test_a_count_grows_with_its_text() -> None:
    counter = HeuristicCounter()
    counts = [counter.count(ENGLISH[:size]) for size in range(0, len(ENGLISH), 20)]
    assert counts == sorted(counts)


def test_a_factor_scales_a_count_and_rounds_it_up() -> None:
    counter = FactoredCounter(Counting(), 1.25)
    assert (counter.count("abc"), counter.count("")) == (4, 0)
    assert (counter.name, counter.exact) == ("characters x 1.25", False)


@pytest.mark.parametrize("factor", [0, -1, float("nan")])
def test_a_factor_that_counts_nothing_is_refused(factor: float) -> None:
    with pytest.raises(ValueError, match="use one above 0"):
        FactoredCounter(Counting(), factor)


def test_name_description_and_whole_input_schema_are_counted() -> None:
    values = [f"v{n}" for n in range(6_000)]
    schema = {"type": "object", "properties": {"it": {"enum": values}}}
    definition = {"name": "x", "title": "T", "description": "D", "inputSchema": schema}
    assert json.loads(counted_text("s__x", {**definition, "outputSchema": schema})) == {
        "name": "s__x",
        "description": "D",
        "input_schema": schema,
    }


def test_the_order_of_members_does_not_matter() -> None:
    one: dict[str, Any] = {"name": "x", "inputSchema": {"type": "object", "properties": {}}}
    other: dict[str, Any] = {"inputSchema": {"properties": {}, "type": "object"}, "name": "x"}
    assert counted_text("x", one) == counted_text("x", other)


def test_a_tool_is_counted_once_for_each_name_and_content() -> None:
    counter = Counting()
    costs = Costs(counter)
    first = costs.of("s__a", tool("a"))
    assert [costs.of("s__a", tool("a")) for _ in range(3)] == [first] * 3
    assert len(counter.asked) == 1
    costs.of("other__a", tool("a"))
    costs.of("s__a", tool("a", description="new"))
    assert len(counter.asked) == 3


def test_the_counts_that_were_used_least_lately_are_forgotten() -> None:
    counter = Counting()
    costs = Costs(counter, most_kept=2)
    for name in ("a", "b", "a", "c", "a", "b"):
        costs.of(name, tool(name))
    assert len(counter.asked) == 4  # b was forgotten for c
