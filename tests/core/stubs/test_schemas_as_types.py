"""What becomes of a JSON Schema, as Python declarations show it."""

from typing import Any

import pytest

from toolcrib.core.stubs.python_text import python_declarations
from toolcrib.core.stubs.signature import Signature, signature


def read(properties: dict[str, Any], **more: Any) -> Signature:
    schema = {"type": "object", "properties": properties, **more}
    return signature("f", {"name": "f", "inputSchema": schema}, "F")


def argument(schema: Any, **more: Any) -> str:
    """The annotation of one required argument."""
    head = python_declarations(read({"a": schema}, required=["a"], **more)).split("async def ")[1]
    return head.removeprefix("f(*, a: ").rpartition(") -> Any:")[0]


def result(schema: Any) -> str:
    definition: dict[str, Any] = {
        "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": schema,
    }
    return python_declarations(signature("f", definition, "F"))


TYPES: list[tuple[Any, str]] = [
    ({"type": "string"}, "str"),
    ({"type": "integer"}, "int"),
    ({"type": "number"}, "float"),
    ({"type": "boolean"}, "bool"),
    ({"type": "null"}, "None"),
    ({"type": "strnig"}, "Any"),
    ({}, "Any"),
    (True, "Any"),
    (False, "Never"),
    (7, "Any"),
    ({"type": ["null", "string"]}, "str | None"),
    ({"type": ["string", "integer"]}, "str | int"),
    ({"minLength": 2}, "Any"),
    ({"const": 3}, "float"),
    ({"const": None}, "None"),
    ({"enum": ["a", 1, True, None]}, 'Literal["a", True] | float | None'),
    ({"enum": [1, True, 1.0]}, "Literal[True] | float"),
    ({"type": "string", "enum": ["a", None]}, 'Literal["a"]'),
    ({"enum": [0.5, 2**60, [], {}]}, "float | int | ListOf[Any] | Mapping[str, Any]"),
    ({"enum": ["x" * 201]}, "str"),
    ({"enum": ["\ud800"]}, "str"),
    ({"enum": [10**400, float("nan"), float("inf")]}, "int | float"),
    ({"enum": list(range(41))}, "int"),
    ({"enum": [*map(str, range(50)), None]}, "str | None"),
    ({"type": "array"}, "ListOf[Any]"),
    ({"type": "array", "items": {"type": "string"}}, "ListOf[str]"),
    ({"items": {"type": "integer"}}, "ListOf[int]"),
    ({"type": "array", "items": [{"type": "string"}]}, "ListOf[Any]"),
    (
        {
            "type": "array",
            "prefixItems": [{"type": "string"}, {"type": "integer"}],
            "items": False,
        },
        "ListOf[str | int]",
    ),
    ({"type": "array", "items": {"enum": ["a"]}}, 'ListOf[Literal["a"] | str]'),
    ({"type": "array", "items": {"enum": ["a", 1]}}, 'ListOf[Literal["a"] | str | float]'),
    ({"type": "object"}, "Mapping[str, Any]"),
    ({"type": "object", "properties": {}}, "Mapping[str, Any]"),
    ({"additionalProperties": {"type": "integer"}}, "Mapping[str, int]"),
    ({"patternProperties": {"^a": {"type": "string"}}}, "Mapping[str, str]"),
    ({"type": "object", "additionalProperties": False}, "Mapping[str, Never]"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "str | None"),
    ({"oneOf": [{"const": "a"}, {"const": "b"}]}, 'Literal["a", "b"]'),
    ({"type": "string", "anyOf": [{"minLength": 1}, {"pattern": "a"}]}, "str"),
    ({"anyOf": [{"type": "string"}, {}]}, "Any"),
    ({"anyOf": []}, "Any"),
    ({"allOf": [{"type": ["string", "null"]}, {"type": "string"}]}, "str"),
    ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "Never"),
    ({"allOf": [{"type": "number"}, {"type": "integer"}]}, "int"),
    ({"allOf": [{"enum": ["a", "b"]}, {"enum": ["a"]}]}, 'Literal["a"]'),
    ({"not": {"type": "string"}}, "Any"),
    ({"type": "string", "nullable": True}, "str"),
    ({"$ref": "#/$defs/name"}, "str"),
    ({"$ref": "#/definitions/a~1b~0c"}, "int"),
    ({"$ref": "#/$defs/gone"}, "Any"),
    ({"$ref": "#name"}, "Any"),
    ({"$ref": "https://example.org/s.json"}, "Any"),
    ({"$dynamicRef": "#x"}, "Any"),
    ({"$ref": "#/$defs/loop"}, "Any"),
    ({"$ref": "#/$defs/tree"}, "str | ListOf[Any]"),
]


@pytest.mark.parametrize(("schema", "shown"), TYPES)
def test_a_schema_has_this_type_as_an_argument(schema: Any, shown: str) -> None:
    tree = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/tree"}}]}
    more = {
        "$defs": {"name": {"type": "string"}, "loop": {"$ref": "#/$defs/loop"}, "tree": tree},
        "definitions": {"a/b~c": {"type": "integer"}},
    }
    assert argument(schema, **more) == shown


def test_optional_is_not_nullable_and_nullable_is_not_optional() -> None:
    it = read({"a": {"type": "string"}, "b": {"type": ["string", "null"]}}, required=["b"])
    assert "f(*, b: str | None, a: str = ...) -> Any" in python_declarations(it)


def test_objects_become_records_named_after_tool_and_place() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}
    text = python_declarations(read({"a-x": {"type": "array", "items": inner}}))
    assert "class FAXItem(TypedDict):\n    b: int\n" in text
    assert "a_x: ListOf[FAXItem | Mapping[str, Any]] = ..." in text


def test_that_objects_may_be_any_is_said_once_in_a_union() -> None:
    records = [{"properties": {name: {"type": "string"}}} for name in "xy"]
    assert argument({"anyOf": [*records, {"type": "null"}]}) == (
        "FA | FA2 | None | Mapping[str, Any]"
    )


def test_results_are_exact() -> None:
    schema = {
        "type": "object",
        "properties": {
            "rows": {"type": "array", "items": {"properties": {"id": {"type": "integer"}}}},
            "kinds": {"type": "array", "items": {"enum": ["a"]}},
            "by": {"additionalProperties": {"type": "number"}},
        },
        "required": ["rows"],
    }
    assert result(schema) == (
        "class FResult(TypedDict):\n"
        "    rows: list[FResultRowsItem]\n"
        "    by: NotRequired[dict[str, float]]\n"
        '    kinds: NotRequired[list[Literal["a"]]]\n'
        "class FResultRowsItem(TypedDict):\n"
        "    id: NotRequired[int]\n"
        "async def f() -> FResult: ...\n"
    )


def test_numbers_that_a_schema_lists_are_any_number_as_arguments() -> None:
    assert argument({"type": "number", "enum": [1.0, 2.0]}) == "float"
    assert "v: Literal[1, 2]\n" in result(
        {"properties": {"v": {"enum": [1, 2.0]}}, "required": ["v"]}
    )


@pytest.mark.parametrize(
    ("others", "written"),
    [
        ({}, "FResult(TypedDict):"),
        ({"additionalProperties": False}, "FResult(TypedDict):"),
        ({"additionalProperties": True}, "FResult(TypedDict, extra_items=Any):"),
        ({"additionalProperties": {"type": "string"}}, "FResult(TypedDict, extra_items=Any):"),
        ({"patternProperties": {"^x": {}}}, "FResult(TypedDict, extra_items=Any):"),
        ({"allOf": [{"$ref": "#/$defs/gone"}]}, "FResult(TypedDict, extra_items=Any):"),
    ],
)
def test_a_result_is_open_where_its_schema_speaks_of_other_members(
    others: dict[str, Any], written: str
) -> None:
    assert f"class {written}\n    a: int\n" in result(
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], **others}
    )


def test_members_that_no_schema_names_can_be_read_where_it_speaks_of_them() -> None:
    plain: dict[str, Any] = {"properties": {"a": {}}, "additionalProperties": True}
    assert "class FResult(TypedDict, extra_items=Any):" in result(plain)
    keyed: dict[str, Any] = {"properties": {"a-b": {}}, "additionalProperties": True}
    assert '{"a-b": NotRequired[Any]}, extra_items=Any)\n' in result(keyed)


def test_a_result_that_contains_itself_through_definitions_ends_in_a_name() -> None:
    node = {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "below": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        },
    }
    schema = {
        "type": "object",
        "properties": {"top": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": node},
    }
    assert result(schema) == (
        "class FResult(TypedDict):\n"
        "    top: NotRequired[FResultNode]\n"
        "class FResultNode(TypedDict):\n"
        "    below: NotRequired[list[FResultNode]]\n"
        "    id: NotRequired[str]\n"
        "async def f() -> FResult: ...\n"
    )


def test_an_argument_that_contains_itself_ends_in_a_name() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    wrapped = {"allOf": [{"$ref": "#/$defs/node"}], "description": "One of them"}
    it = read({"a": wrapped, "b": {"$ref": "#/$defs/node"}}, **{"$defs": {"node": node}})
    assert [record.name for record in it.given] == ["FNode"]
    assert "next: NotRequired[FNode | Mapping[str, Any]]" in python_declarations(it)


def test_the_root_can_contain_itself() -> None:
    it = read({"a": {"$ref": "#"}, "b": {"type": "string"}})
    assert [[field.key for field in record.fields] for record in it.given] == [["a", "b"]]


def test_references_to_outside_are_any() -> None:
    it = read(
        {
            "a": {"$ref": "http://169.254.169.254/latest/"},
            "b": {"$ref": "file:///etc/hostname"},
            "c": {"$ref": "#/$defs/K"},
        }
    )
    text = python_declarations(it)
    assert "f(*, a: Any = ..., b: Any = ..., c: Any = ...)" in text


def test_an_object_with_a_reference_to_outside_may_have_more_members() -> None:
    outside = {"$ref": "http://169.254.169.254/latest/", "properties": {"x": {"type": "string"}}}
    closed: dict[str, Any] = {"allOf": [outside], "additionalProperties": False}
    alone: dict[str, Any] = {
        "type": "object",
        "properties": {"x": {}},
        "additionalProperties": False,
    }
    assert not signature("f", {"inputSchema": {"type": "object", **alone}}, "F").open
    assert signature("f", {"inputSchema": {"type": "object", **closed}}, "F").open


def test_all_of_is_merged() -> None:
    base = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    more = {"properties": {"id": {"minimum": 1}, "name": {"type": "string"}}}
    text = python_declarations(
        read({"a": {"allOf": [{"$ref": "#/$defs/b"}, more]}}, **{"$defs": {"b": base}})
    )
    assert "class FA(TypedDict):\n    id: int\n    name: NotRequired[str]\n" in text


def test_alternatives_that_only_demand_members_are_ignored() -> None:
    schema = {
        "type": "object",
        "properties": {"x": {"type": "string"}, "y": {"type": "string"}},
        "anyOf": [{"required": ["x"]}, {"required": ["y"]}],
    }
    it = signature("f", {"inputSchema": schema}, "F")
    assert "f(*, x: str = ..., y: str = ...) -> Any" in python_declarations(it)


def test_alternatives_that_only_demand_members_say_nothing() -> None:
    inner = {"type": "object", "anyOf": [{"required": ["x"]}, {"required": ["y"]}]}
    it = read({"a": inner}, anyOf=[{"required": ["a"]}, {"required": ["b"]}])
    assert "f(*, a: Mapping[str, Any] = ...)" in python_declarations(it)
    assert not it.open
    unsaid = {"type": "object", "oneOf": [{"required": ["x"]}, {"required": ["y"]}]}
    assert signature("f", {"inputSchema": unsaid}, "F").open


def test_alternatives_at_the_root_are_joined() -> None:
    schema = {
        "type": "object",
        "properties": {"kind": {"type": "string"}},
        "oneOf": [
            {
                "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}},
                "required": ["kind"],
            },
            {"properties": {"kind": {"const": "b"}, "n": {"type": "string"}}, "required": ["kind"]},
        ],
    }
    text = python_declarations(signature("f", {"inputSchema": schema}, "F"))
    assert "n: int | str = ..." in text
    assert "f(*, kind: " in text


@pytest.mark.parametrize(
    ("schema", "is_open"),
    [
        ({"type": "object"}, True),
        ({"type": "object", "properties": {}}, False),
        ({"type": "object", "additionalProperties": False}, False),
        ({"type": "object", "properties": {}, "additionalProperties": True}, True),
        ({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}, True),
        ({"type": "object", "properties": {}, "patternProperties": {"a": {}}}, True),
        ({"properties": {}, "then": {"properties": {"x": {}}}}, True),
        ({"properties": {}, "allOf": [{"$ref": "https://example.org/x"}]}, True),
        (None, True),
        ([], True),
    ],
)
def test_other_arguments_are_taken_where_the_schema_speaks_of_them(
    schema: Any,
    is_open: bool,  # noqa: FBT001 - pytest hands it over
) -> None:
    it = signature("f", {"inputSchema": schema}, "F")
    assert it.open is is_open
    assert ("**extra: Any" in python_declarations(it)) is is_open


def deep(levels: int, keyword: str) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        inner: Any = schema
        schema = {
            "properties": {"properties": {"a": inner}},
            "items": {"type": "array", "items": inner},
            "anyOf": {"anyOf": [inner, {"type": "null"}]},
            "allOf": {"allOf": [inner, {"description": "x"}]},
            "additionalProperties": {"additionalProperties": inner},
        }[keyword]
    return schema


@pytest.mark.parametrize(
    "keyword", ["properties", "items", "anyOf", "allOf", "additionalProperties"]
)
@pytest.mark.parametrize("levels", [7, 100, 65_000])
def test_depth_ends(keyword: str, levels: int) -> None:
    schema = deep(levels, keyword)
    it = read({"a": schema})
    text = python_declarations(it)
    compile(text.replace(" = ...", " = 0"), "stub", "exec")
    assert len(text) < 2_000
    while isinstance(schema, dict):  # level by level, or freeing it would recurse
        [inner] = list[Any](schema.values())[-1:]  # pyright: ignore[reportUnknownArgumentType,reportUnknownMemberType] - nested
        schema.clear()  # pyright: ignore[reportUnknownMemberType] - as above
        schema = inner[0] if isinstance(inner, list) else inner  # pyright: ignore[reportUnknownVariableType] - as above


def test_width_ends() -> None:
    wide: dict[str, Any] = {
        f"p{number}": {"type": "object", "properties": {"x": {}}} for number in range(100_000)
    }
    it = read({"must": {"type": "string"}, **wide}, required=["must"])
    assert len(it.parameters) == 200
    assert it.parameters[0].name == "must"
    assert it.open
    assert len(it.given) <= 200


def test_references_that_multiply_end() -> None:
    defs = {
        f"d{number}": {
            "anyOf": [
                {"type": "array", "items": {"$ref": f"#/$defs/d{number + 1}"}},
                {"additionalProperties": {"$ref": f"#/$defs/d{number + 1}"}},
            ]
        }
        for number in range(60)
    }
    it = read({name: {"$ref": f"#/$defs/{name}"} for name in defs}, **{"$defs": defs})
    assert len(python_declarations(it)) < 200_000


def test_a_chain_of_five_thousand_references_ends() -> None:
    defs: dict[str, Any] = {
        f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(5_000)
    }
    assert argument({"$ref": "#/$defs/d0"}, **{"$defs": defs}) == "Any"
    assert argument(
        {"$ref": "#/$defs/d4990"}, **{"$defs": {**defs, "d5000": {"type": "null"}}}
    ) == ("None")


def test_records_in_a_chain_of_references_end_at_two_hundred() -> None:
    defs: dict[str, Any] = {
        f"d{number}": {"properties": {"x": {"$ref": f"#/$defs/d{number + 1}"}}}
        for number in range(1_000)
    }
    assert len(read({"a": {"$ref": "#/$defs/d0"}}, **{"$defs": defs}).given) < 200


def test_a_name_of_a_member_that_no_text_can_hold_leaves_the_object_open() -> None:
    it = read({"k" * 201: {}, "\ud800": {}, "fine": {}})
    assert [parameter.name for parameter in it.parameters] == ["fine"]
    assert it.open
