"""One malformed definition costs itself: what is kept, repaired, noted and kept out."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.core.draft import Bounds
from toolcrib.core.fingerprint import fingerprint
from toolcrib.core.quarantine import judge
from toolcrib.core.snapshot import Item, Kind, Quarantined

relaxed = settings(deadline=None, max_examples=300)


def kept(raw: Any, kind: Kind = Kind.TOOLS, **more: Any) -> Item:
    verdict = judge(kind, raw, **more).verdict
    assert isinstance(verdict, Item), verdict
    return verdict


def refused(raw: Any, kind: Kind = Kind.TOOLS, **more: Any) -> Quarantined:
    verdict = judge(kind, raw, **more).verdict
    assert isinstance(verdict, Quarantined), verdict
    return verdict


def tool(**schema: Any) -> dict[str, Any]:
    return {"name": "t", "inputSchema": {"type": "object", **schema}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "uri", "uriTemplate", "inputSchema", "type", "properties"])
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@relaxed
@given(st.sampled_from(Kind), JSON, st.booleans())
def test_anything_at_all_gets_a_verdict_and_is_left_alone(
    kind: Kind, raw: Any, header_rules: Any
) -> None:
    before = copy.deepcopy(raw)
    judged = judge(kind, raw, position=7, header_rules=header_rules)
    assert repr(raw) == repr(before)
    verdict = judged.verdict
    assert len(verdict.fingerprint) == 64
    if isinstance(verdict, Item):
        assert verdict.key == raw[kind.key]
        assert verdict.fingerprint == fingerprint(raw)
        json.dumps(verdict.definition, allow_nan=False)
    else:
        assert verdict.key
        assert verdict.detail


@relaxed
@given(JSON)
def test_a_repaired_definition_needs_no_second_repair(raw: Any) -> None:
    verdict = judge(Kind.TOOLS, raw).verdict
    if isinstance(verdict, Item):
        again = kept(dict(verdict.definition))
        assert again.definition == verdict.definition
        assert again.contract == verdict.contract


# --------------------------------------------------------------------------- input schemas


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({"name": "t"}, "no_input_schema"),
        ({"name": "t", "inputSchema": None}, "no_input_schema"),
        ({"name": "t", "inputSchema": True}, "input_schema_not_an_object"),
        ({"name": "t", "inputSchema": []}, "input_schema_not_an_object"),
        ({"name": "t", "inputSchema": "object"}, "input_schema_not_an_object"),
        ({"name": "t", "inputSchema": {"type": "string"}}, "wrong_root_type"),
        ({"name": "t", "inputSchema": {"type": None}}, "wrong_root_type"),
        ({"name": "t", "inputSchema": {"type": ["string", "null"]}}, "wrong_root_type"),
        (tool(properties={"path": {"type": "string"}, "type": "object"}), "invalid_input_schema"),
        (tool(properties=[]), "invalid_input_schema"),
        (tool(properties={"a": None}), "invalid_input_schema"),
        (tool(required="a"), "invalid_input_schema"),
        (tool(required=[1]), "invalid_input_schema"),
        (tool(properties={"a": {"properties": {"b": {"type": "text"}}}}), "invalid_input_schema"),
        (tool(**{"$defs": {"a": 5}}), "invalid_input_schema"),
        (tool(anyOf=[]), "invalid_input_schema"),
        ({**tool(), "outputSchema": True}, "invalid_output_schema"),
        ({**tool(), "outputSchema": []}, "invalid_output_schema"),
        ({**tool(), "outputSchema": {"properties": {"a": 5}}}, "invalid_output_schema"),
    ],
    ids=str,
)
def test_a_tool_with_an_unusable_schema_is_kept_out(raw: dict[str, Any], reason: str) -> None:
    found = refused(raw)
    assert (found.key, found.reason) == ("t", reason)
    assert found.fingerprint == fingerprint(raw)
    assert "Schema" in found.detail


@pytest.mark.parametrize(
    ("schema", "repaired", "note"),
    [
        ({}, {"type": "object"}, 'empty inputSchema repaired to {"type": "object"}'),
        (
            {"properties": {"a": {}}},
            {"type": "object", "properties": {"a": {}}},
            'inputSchema completed with "type": "object"',
        ),
        ({"type": ["null", "object"]}, {"type": "object"}, "narrowed"),
    ],
)
def test_a_root_that_forgot_to_be_an_object_is_completed(
    schema: Any, repaired: Any, note: str
) -> None:
    raw = {"name": "t", "inputSchema": schema}
    item = kept(raw)
    assert item.definition["inputSchema"] == repaired
    assert note in item.notes[0]
    assert item.fingerprint == fingerprint(raw)
    assert item.contract == kept({"name": "t", "inputSchema": repaired}).contract
    assert raw["inputSchema"] is schema


USABLE: list[dict[str, Any]] = [
    {"properties": {"payload": True, "never": False}},
    {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}]},
    {"x-vendor": {"type": 5}, "default": {"properties": 5}},
    {"properties": {"inputSchema": {"type": "object"}, "required": {"type": "string"}}},
]


@pytest.mark.parametrize("schema", USABLE, ids=str)
def test_a_usable_tool_is_kept_as_received(schema: Any) -> None:
    raw = {**tool(**schema), "x-vendor": [1], "annotations": {"vendorHint": True}}
    item = kept(raw)
    assert item.definition is raw
    assert item.notes == ()


def test_an_output_schema_may_describe_anything() -> None:
    raw = {**tool(), "outputSchema": {"type": "array", "items": {"type": "string"}}}
    assert kept(raw).definition is raw


def test_a_recursive_schema_is_no_trouble() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    raw = tool(properties={"root": {"$ref": "#/$defs/node"}}, **{"$defs": {"node": node}})
    assert kept(raw).notes == ()


def test_remote_references_leave_the_tool_in_place_with_a_note() -> None:
    raw = tool(
        properties={
            "a": {"$ref": "http://169.254.169.254/latest/meta-data/"},
            "b": {"$ref": "file:///etc/hostname"},
            "c": {"$ref": "#/$defs/K"},
        }
    )
    item = kept(raw)
    assert item.definition is raw
    outside, broken = item.notes
    assert "never followed" in outside
    assert "169.254.169.254" in outside
    assert "file:///etc/hostname" in outside
    assert broken == "inputSchema has references that point nowhere: `#/$defs/K`"


def test_an_unknown_dialect_is_noted() -> None:
    (note,) = kept(tool(**{"$schema": "https://example.com/dialect"})).notes
    assert "unknown dialect" in note


# --------------------------------------------------------------------------- keys

ODD_NAMES = [
    "admin.tools.list",
    "user-profile/update",
    "find tool",
    "日本語",
    "x" * 129,
    " ",
    "a\nb",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_name_of_any_characters_is_kept(name: str) -> None:
    assert kept({**tool(), "name": name}).key == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (None, "no_name"),
        (5, "no_name"),
        (["a"], "no_name"),
        ("", "no_name"),
        ("x" * 1025, "bad_name"),
        ("a\ud800", "bad_name"),
    ],
    ids=repr,
)
def test_a_tool_that_nobody_could_call_is_kept_out(name: Any, reason: str) -> None:
    assert refused({**tool(), "name": name}).reason == reason


def test_a_definition_without_a_key_is_reported_by_its_position() -> None:
    assert refused({"inputSchema": {}}, position=12).key == "#12"
    assert refused({"name": "", "inputSchema": {}}, position=3).key == "#3"
    assert refused({"name": "a\ud800"}, position=4).key == "#4"
    assert refused("text", position=5).key == "#5"


@pytest.mark.parametrize("raw", [None, True, 5, 1.5, "tool", [], [{"name": "t"}]], ids=repr)
def test_what_is_no_object_is_kept_out(raw: Any) -> None:
    assert refused(raw).reason == "not_an_object"


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 10**5000], ids=["nan", "inf", "long"])
def test_what_has_no_canonical_form_is_kept_out(bad: Any) -> None:
    found = judge(Kind.TOOLS, tool(default=bad))
    assert isinstance(found.verdict, Quarantined)
    assert (found.verdict.key, found.verdict.reason, found.size) == ("t", "not_json", 0)


# --------------------------------------------------------------------------- bounds


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels - 1):
        schema = {"type": "object", "additionalProperties": schema}
    return schema


@pytest.mark.parametrize(("levels", "fits"), [(63, True), (64, True), (65, False), (900, False)])
def test_depth_is_bounded_by_its_limit(levels: int, *, fits: bool) -> None:
    raw = {"name": "t", "inputSchema": nested(levels)}
    verdict = judge(Kind.TOOLS, raw).verdict
    assert isinstance(verdict, Item) == fits
    if isinstance(verdict, Quarantined):
        assert verdict.reason == "too_deep"
        assert "schema_depth" in verdict.detail
    assert isinstance(judge(Kind.TOOLS, raw, bounds=Bounds(schema_depth=1000)).verdict, Item)


def test_depth_beside_the_schemas_is_bounded_as_well() -> None:
    assert refused({**tool(), "_meta": nested(70)}).reason == "too_deep"
    assert refused({"name": "p", "_meta": nested(70)}, Kind.PROMPTS).reason == "too_deep"


def test_arrays_are_levels_as_well() -> None:
    value: Any = 1
    for _ in range(70):
        value = [value]
    assert refused(tool(default=value)).reason == "too_deep"
    assert kept(tool(default=value), bounds=Bounds(schema_depth=72))


def test_breadth_is_not_depth() -> None:
    assert kept(tool(properties={str(i): {"enum": [[], {}]} for i in range(300)}))


@pytest.mark.parametrize("member", ["inputSchema", "outputSchema"])
def test_bytes_of_a_schema_are_bounded_by_its_limit(member: str) -> None:
    schema = {"type": "object", "description": "x" * 1000}
    raw = {**tool(), member: schema}
    found = refused(raw, bounds=Bounds(schema_bytes=1000))
    assert found.reason == "too_large"
    assert member in found.detail
    assert "schema_bytes" in found.detail
    assert kept(raw, bounds=Bounds(schema_bytes=1100))


@pytest.mark.parametrize("kind", Kind)
def test_bytes_of_a_whole_definition_are_bounded_by_their_limit(kind: Kind) -> None:
    raw = {**tool(), "uri": "a:b", "uriTemplate": "a:{b}", "description": "x" * 1024 * 1024}
    found = refused(raw, kind)
    assert (found.key, found.reason) == (raw[kind.key], "too_large")
    assert "definition_bytes" in found.detail
    size = judge(kind, raw).size
    assert kept(raw, kind, bounds=Bounds(definition_bytes=size))
    assert refused(raw, kind, bounds=Bounds(definition_bytes=size - 1)).reason == "too_large"


def test_a_long_description_does_not_count_as_schema() -> None:
    assert kept({**tool(), "description": "x" * 5000}, bounds=Bounds(schema_bytes=1000))


def test_the_size_is_that_of_the_canonical_form() -> None:
    assert judge(Kind.TOOLS, {"name": "é", "inputSchema": {}}).size == 30


# --------------------------------------------------------------------------- optional members


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("member", ["title", "description", "icons", "_meta"])
@pytest.mark.parametrize("value", [None, 5, True], ids=repr)
def test_an_optional_member_of_the_wrong_type_is_dropped_with_a_note(
    kind: Kind, member: str, value: Any
) -> None:
    raw = {**tool(), "uri": "a:b", "uriTemplate": "a:{b}", member: value}
    item = kept(raw, kind)
    assert member not in item.definition
    assert any(note.startswith(f"{member} dropped") for note in item.notes)
    assert item.fingerprint == fingerprint(raw)
    assert member in raw


def test_a_null_output_schema_stands_for_none() -> None:
    item = kept({**tool(), "outputSchema": None})
    assert "outputSchema" not in item.definition
    assert item.contract == kept(tool()).contract


def test_unknown_members_of_any_shape_are_kept() -> None:
    raw = {**tool(), "x-vendor": None, "size": "big", "mimeType": 5}
    assert kept(raw).definition is raw


# --------------------------------------------------------------------------- header annotations


def with_header(header: Any) -> dict[str, Any]:
    return tool(properties={"region": {"type": "string", "x-mcp-header": header}})


def test_an_invalid_header_annotation_costs_the_tool_where_the_revision_has_them() -> None:
    found = refused(with_header("two words"), header_rules=True)
    assert (found.key, found.reason) == ("t", "invalid_header_annotation")
    assert "properties.region" in found.detail
    assert kept(with_header("two words"), header_rules=False)


def test_a_valid_header_annotation_costs_nothing() -> None:
    assert kept(with_header("Region"), header_rules=True)


# --------------------------------------------------------------------------- hidden characters


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\u200bb", "U+200B"),
        ("a\u202eb", "U+202E"),
        ("a\u2066b", "U+2066"),
        ("a\u200db", "U+200D"),
        ("\u200cé", "U+200C"),
        ("é\u200d\u200cé", "U+200C, U+200D"),
        ("a\U000e0041b", "U+E0041"),
        ("a\ufeffb", "U+FEFF"),
        ("a\u00adb", "U+00AD"),
        ("a\x1b[31mb", "U+001B"),
        ("a\x7fb", "U+007F"),
        ("a\x85b", "U+0085"),
        ("x\ufe0f\ufe0f", "U+FE0F"),
        ("x\U000e0101", "U+E0101"),
    ],
)
def test_hidden_characters_are_noted_with_their_place(text: str, code: str) -> None:
    for raw in (
        {**tool(), "description": text},
        tool(properties={"a": {"description": text}}),
        tool(properties={text: {}}),
        tool(properties={"a": {"enum": ["x", [text]]}}),
    ):
        item = kept(raw)
        assert item.definition is raw
        (note,) = item.notes
        assert code in note
        assert ("inputSchema" in note) != ("description" in raw)


def test_many_hidden_characters_make_one_short_note() -> None:
    text = "".join(f"a{chr(code)}" for code in range(0xE0020, 0xE0060))
    (note,) = kept({**tool(), "description": text}).notes
    assert len(note) < 200
    assert note.count("U+") == 8
    assert "…" in note


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "tab\tand\nline\r",
        "naïve café",
        "می‌خواهم",
        "👨‍👩‍👧 family",
        "warning ⚠️ sign",
        "日本語",
        '\\u200b "q"',
    ],
)
def test_ordinary_writing_is_not_noted(text: str) -> None:
    assert kept({**tool(), "description": text}).notes == ()


# --------------------------------------------------------------------------- other kinds


UNUSABLE: list[Any] = ["x", {}, [5], [{}], [{"name": ""}], [{"name": 5}]]


@pytest.mark.parametrize("arguments", UNUSABLE, ids=str)
def test_a_prompt_with_unusable_arguments_is_kept_out(arguments: Any) -> None:
    found = refused({"name": "p", "arguments": arguments}, Kind.PROMPTS)
    assert (found.key, found.reason) == ("p", "invalid_arguments")


def test_the_unusable_argument_is_named() -> None:
    arguments = [{"name": "a"}, {"name": "b", "required": "yes"}]
    found = refused({"name": "p", "arguments": arguments}, Kind.PROMPTS)
    assert found.detail.startswith("arguments[1] (b) says required: a string")


def test_a_prompt_is_kept_as_received() -> None:
    raw = {"name": "p", "arguments": [{"name": "a", "required": True, "description": "d"}]}
    item = kept(raw, Kind.PROMPTS)
    assert item.definition is raw
    assert item.contract == item.fingerprint
    assert kept({"name": "p"}, Kind.PROMPTS).notes == ()


def test_nulls_in_a_prompt_are_dropped_with_a_note() -> None:
    raw = {
        "name": "p",
        "arguments": [{"name": "a", "required": None, "description": None, "x": None}],
    }
    item = kept(raw, Kind.PROMPTS)
    assert item.definition["arguments"] == [{"name": "a", "x": None}]
    assert item.notes
    assert "arguments" not in kept({"name": "p", "arguments": None}, Kind.PROMPTS).definition


@pytest.mark.parametrize(
    ("kind", "raw", "reason"),
    [
        (Kind.RESOURCES, {"name": "r"}, "no_uri"),
        (Kind.RESOURCES, {"name": "r", "uri": 5}, "no_uri"),
        (Kind.RESOURCES, {"name": "r", "uri": ""}, "no_uri"),
        (Kind.RESOURCES, {"name": "r", "uri": "x" * 8193}, "bad_uri"),
        (Kind.RESOURCES, {"uri": "a:b"}, "no_name"),
        (Kind.RESOURCES, {"uri": "a:b", "name": None}, "no_name"),
        (Kind.TEMPLATES, {"name": "r"}, "no_uri_template"),
        (Kind.TEMPLATES, {"name": "r", "uriTemplate": {}}, "no_uri_template"),
        (Kind.TEMPLATES, {"uriTemplate": "a:{b}"}, "no_name"),
        (Kind.PROMPTS, {"title": "p"}, "no_name"),
    ],
    ids=str,
)
def test_a_definition_without_its_key_is_kept_out(kind: Kind, raw: Any, reason: str) -> None:
    assert refused(raw, kind).reason == reason


def test_resources_and_templates_are_kept_as_received() -> None:
    resource = {"uri": "file:///a", "name": "a", "size": 5, "mimeType": "text/plain"}
    template: dict[str, Any] = {"uriTemplate": "file:///{a}", "name": "a", "annotations": {}}
    assert kept(resource, Kind.RESOURCES).definition is resource
    assert kept(template, Kind.TEMPLATES).key == "file:///{a}"
    assert kept({**resource, "size": "5"}, Kind.RESOURCES).notes


# --------------------------------------------------------------------------- what is known


def test_a_definition_known_by_its_fingerprint_is_not_judged_again() -> None:
    item = kept(tool(properties={"a": {}}))
    known = {item.fingerprint: item}
    assert kept(copy.deepcopy(dict(item.definition)), known=known) is item
    assert kept({**item.definition, "description": "new"}, known=known) is not item
