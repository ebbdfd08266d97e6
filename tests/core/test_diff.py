"""What changed between two snapshots, in items and in words."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.core import schema_diff
from toolcrib.core.diff import CatalogDiff, diff
from toolcrib.core.fingerprint import contract, digest
from toolcrib.core.quarantine import judge
from toolcrib.core.schema_diff import schema_changes
from toolcrib.core.schema_words import same
from toolcrib.core.snapshot import Item, Kind, Snapshot

relaxed = settings(deadline=None, max_examples=300)


def snapshot(*raws: dict[str, Any], kind: Kind = Kind.TOOLS) -> Snapshot:
    verdicts = [judge(kind, raw).verdict for raw in raws]
    assert all(isinstance(verdict, Item) for verdict in verdicts), verdicts
    items = sorted((item for item in verdicts if isinstance(item, Item)), key=lambda i: i.key)
    return Snapshot(kind, tuple(items), digest(kind, items))


def tool(name: str = "t", /, **properties: Any) -> dict[str, Any]:
    description = properties.pop("says", "")
    required = properties.pop("required", [])
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": description, "inputSchema": schema}


def only_change(before: dict[str, Any], after: dict[str, Any]) -> tuple[bool, tuple[str, ...]]:
    found = diff(snapshot(before), snapshot(after))
    assert (found.added, found.removed) == ((), ())
    (changed,) = found.changed
    return changed.contract_changed, changed.in_words()


def keys(items: Any) -> list[str]:
    return [item.key for item in items]


RAWS = st.dictionaries(
    st.sampled_from("abcde"), st.sampled_from(["one", "two", "three"]), max_size=5
).map(lambda found: [tool(name, says=text) for name, text in found.items()])


@relaxed
@given(RAWS, RAWS)
def test_a_diff_applied_to_the_old_items_gives_the_new(
    old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> None:
    before, after = snapshot(*old), snapshot(*new)
    found = diff(before, after)
    result = {item.key: item for item in before.items}
    for item in found.removed:
        del result[item.key]
    result |= {item.key: item for item in found.added}
    result |= {changed.after.key: changed.after for changed in found.changed}
    assert sorted(result.values(), key=lambda item: item.key) == list(after.items)
    assert bool(found) == (before.digest != after.digest)
    assert all(changed.before.fingerprint != changed.after.fingerprint for changed in found.changed)


def test_nothing_before_is_all_added_and_nothing_after_is_all_removed() -> None:
    one = snapshot(tool("a"), tool("b"))
    assert keys(diff(None, one).added) == ["a", "b"]
    assert keys(diff(one, None).removed) == ["a", "b"]
    assert diff(one, one) == CatalogDiff()
    assert not diff(None, None)


def test_an_equal_listing_is_compared_without_looking_into_definitions() -> None:
    class Untouchable(dict[str, Any]):
        def get(self, *_: object) -> object:
            raise AssertionError("looked into an unchanged definition")

    items = tuple(Item(f"t{n}", Untouchable(), f"{n}", "") for n in range(100))
    one = Snapshot(Kind.TOOLS, items, "d")
    assert not diff(one, Snapshot(Kind.TOOLS, items, "d"))


def test_a_change_of_words_alone_is_told_apart() -> None:
    in_contract, words = only_change(tool(says="a"), tool(says="b"))
    assert not in_contract
    assert words == ("other `description`",)
    in_contract, words = only_change(
        tool(a={"description": "x"}), tool(a={"description": "y", "title": "A"})
    )
    assert not in_contract
    assert words == ("only words inside its schemas changed",)


def test_changed_annotations_are_told() -> None:
    safe = {**tool(), "annotations": {"destructiveHint": False}}
    assert only_change(safe, {**tool(), "annotations": {"destructiveHint": True}}) == (
        False,
        ("other `annotations`",),
    )
    assert only_change(safe, tool()) == (False, ("other `annotations`",))


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (tool(p={}), tool(p={}, required=["p"]), "`p` is now required"),
        (tool(p={}, required=["p"]), tool(p={}), "`p` is no longer required"),
        (tool(), tool(p={"type": "string"}), "`p` is new (optional, string)"),
        (tool(), tool(p={"enum": ["a"]}, required=["p"]), "`p` is new (required, one of `a`)"),
        (tool(p={}), tool(), "`p` was removed"),
        (
            tool(limit={"type": "string"}),
            tool(limit={"type": "integer"}),
            "`limit`: integer, was string",
        ),
        (
            tool(p={"type": ["string", "null"]}),
            tool(p={"type": "string"}),
            "`p`: string, was string or null",
        ),
        (
            tool(unit={"enum": ["celsius", "kelvin", "fahrenheit"]}),
            tool(unit={"enum": ["celsius", "fahrenheit"]}),
            "`unit` no longer accepts `kelvin` (allowed: `celsius`, `fahrenheit`)",
        ),
        (tool(u={"enum": ["a"]}), tool(u={"enum": ["a", "b"]}), "`u` also accepts `b`"),
        (tool(u={"enum": [1]}), tool(u={"enum": [1, True]}), "`u` also accepts `true`"),
        (tool(u={}), tool(u={"enum": ["a", 1]}), "`u` accepts only `a`, `1`"),
        (tool(u={"const": 1}), tool(u={}), "`u` is no longer limited to listed values"),
        (tool(n={"maximum": 100}), tool(n={"maximum": 10}), "`n`: maximum `10`, was `100`"),
        (tool(n={}), tool(n={"pattern": "^a"}), "`n`: pattern `^a`, was not set"),
        (tool(n={"format": "date"}), tool(n={}), "`n`: no format any more, was `date`"),
        (tool(n={"default": 1}), tool(n={"default": True}), "`n`: default `true`, was `1`"),
        (
            tool(filter={"type": "object", "properties": {"state": {"type": "string"}}}),
            tool(filter={"type": "object", "properties": {"state": {"type": "integer"}}}),
            "`filter.state`: integer, was string",
        ),
        (
            tool(tags={"type": "array", "items": {"type": "string"}}),
            tool(tags={"type": "array", "items": {"type": "number"}}),
            "`tags[]`: number, was string",
        ),
        (
            tool(tags={"items": {"properties": {"x": {}}}}),
            tool(tags={"items": {"properties": {}}}),
            "`tags[].x` was removed",
        ),
        (
            tool(f={"oneOf": [{"type": "string"}]}),
            tool(f={"oneOf": [{"type": "integer"}]}),
            "`f` has other rules (oneOf)",
        ),
        (tool(p=True), tool(p=False), "`p` accepts nothing any more"),
        (tool(p={"type": "string"}), tool(p=True), "`p` accepts anything now"),
        (
            tool(f={}),
            tool(f={"additionalProperties": False}),
            "`f` no longer accepts members that it does not name",
        ),
    ],
    ids=str,
)
def test_a_change_of_the_contract_is_told_in_words(
    before: dict[str, Any], after: dict[str, Any], words: str
) -> None:
    assert only_change(before, after) == (True, (words,))


def test_what_breaks_calls_is_told_first() -> None:
    before = tool(gone={}, kept={"type": "string"}, other={})
    after = tool(a={}, kept={"type": "integer"}, other={}, z={}, required=["other", "z"])
    assert only_change(before, after)[1] == (
        "`gone` was removed",
        "`z` is new (required, any type)",
        "`kept`: integer, was string",
        "`other` is now required",
        "`a` is new (optional, any type)",
    )


def test_a_changed_result_is_told_as_such() -> None:
    result: dict[str, Any] = {"type": "object", "properties": {"a": {}}}
    before = {**tool(), "outputSchema": result}
    emptied: dict[str, Any] = {"type": "object", "properties": {}}
    after = {**tool(), "outputSchema": emptied}
    assert only_change(before, after) == (True, ("`a` was removed",))
    assert only_change(tool(), after)[1] == ("the result has another shape",)
    assert only_change(after, tool())[1] == ("the result accepts anything now",)


def node(**value: Any) -> dict[str, Any]:
    inner = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "value": value}}
    schema = {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "$defs": {"node": inner},
    }
    return {"name": "t", "inputSchema": schema}


def test_a_change_behind_a_reference_is_told_once_where_it_is_reached() -> None:
    assert only_change(node(type="string"), node(type="integer")) == (
        True,
        ("`root.value`: integer, was string",),
    )


def test_an_unused_definition_still_says_that_something_changed() -> None:
    before, after = tool(), tool()
    before["inputSchema"]["$defs"] = {"a": {"type": "string"}}
    after["inputSchema"]["$defs"] = {"a": {"type": "integer"}}
    in_contract, words = only_change(before, after)
    assert in_contract
    assert words == ("the argument object changed in a way that has no short description",)


def test_an_inlined_reference_changes_nothing_for_a_caller() -> None:
    defs = {"$defs": {"u": {"type": "string"}}}
    before = {"type": "object", "properties": {"u": {"$ref": "#/$defs/u"}}, **defs}
    after = {"type": "object", "properties": {"u": {"type": "string"}}, **defs}
    (words,) = schema_changes(before, after)
    assert "no short description" in words


def test_sentences_are_bounded_in_number_and_length() -> None:
    before = tool(**{f"p{n}" * 30: {} for n in range(500)})
    words = only_change(before, tool())[1]
    assert len(words) == 13
    assert words[-1] == "and 100 or more further changes"
    assert max(map(len, words)) < 200
    values = {"enum": [f"value number {n}" for n in range(6000)]}
    (sentence,) = only_change(tool(u=values), tool(u={"enum": ["a", *values["enum"][1:]]}))[1][:1]
    assert len(sentence) < 700
    assert "more" in sentence


def braided(length: int, kind: str) -> dict[str, Any]:
    """A schema whose references go in a circle of this length, with two ways on from each node."""

    def on(n: int) -> dict[str, Any]:
        return {"$ref": f"#/$defs/n{n % length}"}

    nodes: dict[str, Any] = {
        f"n{n}": {"type": "object", "properties": {"a": on(n + 1), "b": on(3 * n + 2), "c": on(n)}}
        for n in range(length)
    }
    return {"name": "t", "inputSchema": {"type": "object", "x": kind, "$defs": nodes, **on(0)}}


def test_schemas_that_refer_in_circles_are_compared_in_bounded_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[object] = []

    def counted(old: object, new: object) -> bool:
        compared.append(old)
        return same(old, new)

    monkeypatch.setattr(schema_diff, "same", counted)
    before, after = (
        braided(length, kind)["inputSchema"] for length, kind in ((997, "x"), (991, "y"))
    )
    words = schema_changes(before, after, limit=2000)
    assert words[-1].startswith("and perhaps more")
    assert 100 < len(compared) < 5000


def test_deep_changes_end_in_a_general_sentence() -> None:
    def deep(kind: str) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": kind}
        for _ in range(25):
            schema = {"type": "object", "properties": {"a": schema}}
        return {"name": "t", "inputSchema": schema}

    (sentence,) = only_change(deep("string"), deep("integer"))[1]
    assert "has another shape" in sentence


JUNK = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.5, "", "a", "string", "#", "#/$defs/a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "a",
                    "b",
                    "items",
                    "$ref",
                    "$defs",
                    "enum",
                    "required",
                    "additionalProperties",
                    "const",
                    "title",
                    "oneOf",
                    "minimum",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=1500)
@given(JUNK, JUNK)
def test_any_two_values_are_compared_and_silence_means_equal_contracts(old: Any, new: Any) -> None:
    words = schema_changes(old, new)
    equal = contract({"name": "t", "inputSchema": old}) == contract(
        {"name": "t", "inputSchema": new}
    )
    assert bool(words) != equal
    assert len(words) <= 13
    assert all(0 < len(sentence) < 1000 and "\n" not in sentence for sentence in words)


# --------------------------------------------------------------------------- renamed, other kinds


def test_a_renamed_tool_is_guessed_and_stays_among_added_and_removed() -> None:
    found = diff(
        snapshot(tool("find", q={"type": "string"}), tool("x")),
        snapshot(tool("search", q={"type": "string", "title": "Q"}), tool("x")),
    )
    ((guess,), (added,), (removed,)) = found.renamed, found.added, found.removed
    assert (guess.before, guess.after) == (removed, added)
    assert found.in_words() == ("`find` is now `search`, it seems",)


def test_a_guess_needs_one_candidate_on_each_side() -> None:
    parameter = {"q": {"type": "string"}}
    before = snapshot(tool("a", **parameter), tool("b", **parameter))
    assert diff(before, snapshot(tool("c", **parameter))).renamed == ()
    assert diff(snapshot(tool("a", **parameter)), snapshot(tool("c", r={}))).renamed == ()


def test_tools_without_parameters_are_paired_by_their_words() -> None:
    before = snapshot(tool("stop", says="Ends."), tool("go", says="Starts."))
    after = snapshot(tool("halt", says="Ends."), tool("sing", says="La."))
    assert [(g.before.key, g.after.key) for g in diff(before, after).renamed] == [("stop", "halt")]


def test_lines_about_a_listing_are_bounded() -> None:
    found = diff(snapshot(tool("old")), snapshot(*(tool(f"t{n:03}", p={}) for n in range(50))))
    lines = found.in_words(5)
    assert len(lines) == 6
    assert lines[0] == "`old` was removed"
    assert lines[-1] == "and 46 further items"
    assert len(found.in_words(51)) == 51
    assert found.in_words(50)[-1] == "and 1 further items"


def test_prompts_and_resources_are_compared_as_well() -> None:
    old = {"name": "p", "arguments": [{"name": "a"}]}
    new = {"name": "p", "arguments": [{"name": "a", "required": True}, {"name": "b"}]}
    (changed,) = diff(snapshot(old, kind=Kind.PROMPTS), snapshot(new, kind=Kind.PROMPTS)).changed
    assert changed.contract_changed
    assert changed.in_words() == ("`a` is now required", "`b` is new (optional, any type)")
    uri = {"uri": "a:b", "name": "n"}
    (changed,) = diff(
        snapshot(uri, kind=Kind.RESOURCES),
        snapshot({**uri, "mimeType": "x", "name": "m"}, kind=Kind.RESOURCES),
    ).changed
    assert changed.in_words() == ("other `mimeType`, `name`",)
