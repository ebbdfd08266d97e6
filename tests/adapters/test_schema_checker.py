"""The checker of JSON Schemas: dialects, references, bounds, odd values, and its sentences."""

import math
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from toolcrib.adapters.schema import JsonSchemaChecker, explain, patterns
from toolcrib.adapters.schema import checker as checker_module
from toolcrib.adapters.schema.compiled import Compiled
from toolcrib.ports import SchemaFault, Unchecked
from toolcrib.settings import Limits

MARKS = count()
ANYTHING, NOTHING = True, False
LIMITS = Limits()


def check(
    schema: object, value: object, limits: Limits = LIMITS
) -> tuple[SchemaFault, ...] | Unchecked:
    return JsonSchemaChecker(limits).check(schema, value, mark=str(next(MARKS)))


def faults(schema: object, value: object) -> list[tuple[str, str]]:
    found = check(schema, value)
    assert not isinstance(found, Unchecked), found
    assert len(found) <= explain.MOST
    return [(one.where, one.what) for one in found]


def only(schema: object, value: object) -> tuple[str, str]:
    (fault,) = faults(schema, value)
    return fault


def unchecked(schema: object, value: object = None, limits: Limits = LIMITS) -> str:
    found = check(schema, value, limits)
    assert isinstance(found, Unchecked), found
    return found.reason


def nested(levels: int, leaf: object, key: str | None = None) -> Any:
    value: Any = leaf
    for _ in range(levels):
        value = [value] if key is None else {key: value}
    return value


# ---------------------------------------------------------------- sentences


SENTENCES: list[tuple[Any, Any, str, str]] = [
    ({"type": "string"}, 3, "", "is a number (`3`), but must be a string"),
    ({"type": "integer"}, 1.5, "", "is a number (`1.5`), but must be an integer"),
    ({"type": ["string", "null"]}, [], "", "is an array, but must be a string or null"),
    ({"type": "object"}, None, "", "is null, but must be an object"),
    ({"enum": ["open", "closed"]}, "opened", "",
     "is `opened`, but must be one of `open`, `closed` (did you mean `open`?)"),
    ({"const": 1}, True, "", "is `true`, but must be `1`"),
    ({"enum": [1, None]}, {"a": 1}, "",
     "is an object of 1 member, but must be one of `1`, `null`"),
    ({"required": ["a", "b", "c"]}, {"b": 1}, "", "lacks the required `a`, `c`"),
    ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "", "lacks the required `b`"),
    ({"properties": {"page": {}}, "additionalProperties": False}, {"pge": 1}, "",
     "has the unexpected `pge` (did you mean `page`?); it may have `page`"),
    ({"additionalProperties": False}, {"x": 1}, "",
     "has the unexpected `x`; it may have no members"),
    ({"minimum": 1}, 0, "", "is `0`, but must be at least `1`"),
    ({"maximum": 1}, 2, "", "is `2`, but must be at most `1`"),
    ({"exclusiveMinimum": 1}, 1, "", "is `1`, but must be more than `1`"),
    ({"exclusiveMaximum": 1}, 1, "", "is `1`, but must be less than `1`"),
    ({"multipleOf": 0.01}, 0.015, "", "is `0.015`, but must be a multiple of `0.01`"),
    ({"minLength": 2}, "a", "", "has 1 characters, but must have at least `2`"),
    ({"maxLength": 2}, "abc", "", "has 3 characters, but must have at most `2`"),
    ({"maxItems": 1}, [1, 2], "", "has 2 items, but must have at most `1`"),
    ({"minProperties": 1}, {}, "", "has 0 members, but must have at least `1`"),
    ({"pattern": "^a+$"}, "b", "", "is `b`, but must match the pattern `^a+$`"),
    ({"uniqueItems": True}, [1, 2, 1.0], "",
     "has equal items at 0 and 2, but each must be different"),
    ({"contains": {"type": "string"}}, [1], "",
     "has 0 items that fit `contains`, but must have at least `1`"),
    ({"contains": {}, "maxContains": 1}, [1, 2], "",
     "has 2 items that fit `contains`, but must have at most `1`"),
    ({"prefixItems": [{}], "items": False}, [1, 2], "", "has 2 items, but must have at most 1"),
    ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, "ab",
     "has a name that has 2 characters, but must have at most `1`"),
    ({"not": {"type": "string"}}, "a", "", "is what the schema excludes (`not`)"),
    ({"oneOf": [{"type": "integer"}, {"minimum": 0}]}, 1, "",
     "fits 2 alternatives at once, but must fit exactly one"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 3, "",
     "is a number (`3`), but must be a string or null"),
    ({"oneOf": [{"const": "a"}, {"const": "b"}]}, "c", "",
     "is `c`, but must be one of `a`, `b`"),
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, "",
     "lacks the required `b`"),
    ({"if": {"required": ["a"]}, "else": {"required": ["b"]}}, {}, "",
     "lacks the required `b`"),
    ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}, "", "lacks the required `b`"),
    ({"properties": {"a": False}}, {"a": 1}, "a", "is not allowed here"),
    ({"patternProperties": {"^n": {"type": "null"}}}, {"n1": 1}, "n1",
     "is a number (`1`), but must be null"),
    ({"items": {"properties": {"tags": {"items": {"type": "string"}}}}}, [{"tags": ["a", 3]}],
     "[0].tags[1]", "is a number (`3`), but must be a string"),
    ({"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "null"}}}, {"a": 1},
     "a", "is a number (`1`), but must be null"),
    ({"allOf": [{"required": ["a"]}, {"required": ["a"]}]}, {}, "", "lacks the required `a`"),
    (False, 1, "", "is not allowed here"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "where", "what"), SENTENCES)
def test_a_fault_says_where_what_and_what_is_allowed(
    schema: object, value: object, where: str, what: str
) -> None:
    assert only(schema, value) == (where, what)


def test_a_null_among_alternatives_is_no_reason_to_speak_of_alternatives() -> None:
    schema = {"anyOf": [{"type": "string", "enum": ["asc", "desc"]}, {"type": "null"}]}
    assert only(schema, "up") == ("", "is `up`, but must be one of `asc`, `desc`")


def test_alternatives_with_a_tag_are_told_by_the_tag() -> None:
    circle = {
        "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}},
        "required": ["kind", "r"],
    }
    square = {
        "properties": {
            "kind": {"const": "square"},
            "a": {"type": "number"},
            "b": {"type": "number"},
        },
        "required": ["kind", "a"],
    }
    schema = {"oneOf": [circle, square]}
    assert only(schema, {"kind": "line"}) == (
        "kind",
        "is `line`, but must be one of `circle`, `square`",
    )
    assert {where for where, _ in faults(schema, {"kind": "square", "r": 1, "a": "", "b": ""})} == {
        "a",
        "b",
    }
    where, what = only(schema, {"kind": "square", "a": "1"})
    assert where == "a"
    assert what.startswith("is a string (`1`), but must be a number")


def test_of_many_faults_the_first_eight_are_told() -> None:
    found = faults({"items": {"type": "string"}}, list(range(1_000)))
    assert [where for where, _ in found] == [f"[{at}]" for at in range(explain.MOST)]


def test_a_list_of_values_is_shown_up_to_forty() -> None:
    _, what = only({"enum": list(range(100, 200))}, 0)
    assert "`139`" in what
    assert "`140`" not in what
    assert what.endswith("`139` and 60 more")
    assert " more" not in only({"enum": list(range(40))}, -1)[1]


def test_sentences_and_places_are_short_whatever_they_are_about() -> None:
    long = "x" * 100_000
    for schema, value in (
        ({"const": long}, long + "y"),
        ({"enum": [long, long + "z"]}, long + "y"),
        ({"required": [f"{long}{n}" for n in range(3)]}, {}),
        ({"additionalProperties": False}, {f"{long}{n}": 1 for n in range(50)}),
        ({"pattern": f"^a{long}$"}, "b"),
        ({"additionalProperties": {"additionalProperties": {"type": "null"}}}, {long: {long: 1}}),
        ({"minimum": 10**4_000}, 1),
        ({"maximum": 1}, 10**4_000),
        ({"const": {"a": [long]}}, 1),
    ):
        for where, what in faults(schema, value):
            assert len(where) <= 190
            assert len(what) <= 800
            assert "\n" not in where + what


def test_what_a_server_writes_cannot_break_out_of_a_sentence() -> None:
    where, what = only({"properties": {"a`\n": {"enum": ["b`\nc"]}}}, {"a`\n": "d"})
    assert (where, what) == ("a' ", "is `d`, but must be `b' c`")


def test_a_rule_without_a_sentence_still_gives_a_fault() -> None:
    schema: dict[str, Any] = {"properties": {"a": {}}, "unevaluatedProperties": False}
    where, what = only(schema, {"b": 1})
    assert where == ""
    assert what.startswith("breaks a rule of the schema that has no short description")
    assert "`unevaluatedProperties`" in what


def test_what_cannot_be_told_inside_a_condition_is_not_guessed() -> None:
    closed: dict[str, Any] = {"properties": {"a": {}}, "unevaluatedProperties": False}
    schemas: tuple[dict[str, Any], ...] = (
        {"not": {"not": closed}},
        {"if": closed, "else": {"required": ["z"]}},
        {"anyOf": [closed, {"required": ["z"]}]},
        {"oneOf": [closed, {"type": "object"}, {"minProperties": 1}]},
        {"contains": closed},
    )
    for schema in schemas:
        value: object = [{"b": 1}] if "contains" in schema else {"b": 1}
        ((_, what),) = faults(schema, value)
        assert what.startswith(("breaks a rule", "lacks the required `z`", "fits 2"))


def test_the_search_for_reasons_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "_STEPS", 50)
    value = [*range(1_000), "a"]
    assert only({"items": {"type": "integer"}}, value)[1].startswith("breaks a rule")


# ---------------------------------------------------------------- dialects


@pytest.mark.duty(25)
def test_a_schema_is_read_by_the_dialect_that_it_declares() -> None:
    def fits(dialect: str, schema: dict[str, Any], value: object) -> bool:
        return not faults({"$schema": dialect, **schema}, value)

    four = "http://json-schema.org/draft-04/schema#"
    six = "http://json-schema.org/draft-06/schema#"
    seven = "http://json-schema.org/draft-07/schema#"
    nineteen = "https://json-schema.org/draft/2019-09/schema"
    newest = "https://json-schema.org/draft/2020-12/schema"
    exclusive = {"minimum": 1, "exclusiveMinimum": True}
    assert not fits(four, exclusive, 1)
    assert isinstance(check({"$schema": six, **exclusive}, 1), Unchecked)
    assert not fits(four, {"type": "integer"}, 1.0)
    assert fits(six, {"type": "integer"}, 1.0)
    assert fits(four, {"const": 1}, 2)
    assert not fits(six, {"const": 1}, 2)
    assert fits(six, {"if": {}, "then": False}, 2)
    assert not fits(seven, {"if": {}, "then": False}, 2)
    assert fits(seven, {"dependentRequired": {"a": ["b"]}}, {"a": 1})
    assert not fits(nineteen, {"dependentRequired": {"a": ["b"]}}, {"a": 1})
    assert not fits(nineteen, {"items": [{"type": "null"}]}, [1])
    assert fits(nineteen, {"prefixItems": [{"type": "null"}]}, [1])
    assert not fits(newest, {"prefixItems": [{"type": "null"}]}, [1])
    assert not faults({"items": {}}, [1])
    assert faults({"prefixItems": [{"type": "null"}]}, [1])


def test_the_sentences_follow_the_dialect_too() -> None:
    four = {"$schema": "http://json-schema.org/draft-04/schema#"}
    seven = {"$schema": "http://json-schema.org/draft-07/schema#"}
    assert only({**four, "minimum": 3, "exclusiveMinimum": True}, 3) == (
        "",
        "is `3`, but must be more than `3`",
    )
    assert (
        only({**four, "type": "integer"}, 1.0)[1] == "is a number (`1.0`), but must be an integer"
    )
    tuple_items = {**seven, "items": [{"type": "null"}], "additionalItems": {"type": "string"}}
    assert [where for where, _ in faults(tuple_items, [1, 2])] == ["[0]", "[1]"]
    beside = {
        **seven,
        "definitions": {"n": {"type": "null"}},
        "properties": {"a": {"$ref": "#/definitions/n", "const": 1}},
    }
    assert only(beside, {"a": 2}) == ("a", "is a number (`2`), but must be null")
    assert not faults(beside, {"a": None})
    dependent = {**seven, "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}
    assert faults(dependent, {"a": 1, "c": 1}) == [
        ("", "lacks the required `b`"),
        ("", "lacks the required `d`"),
    ]


@pytest.mark.parametrize("dialect", ["urn:mine", "http://json-schema.org/draft-03/schema#", "", 5])
def test_an_unknown_dialect_is_left_to_the_server(dialect: object) -> None:
    assert "unknown dialect" in unchecked({"$schema": dialect, "type": "string"}, 1)


@pytest.mark.parametrize(
    "dialect",
    [
        *(
            f"http://json-schema.org/{draft}/schema#"
            for draft in ("draft-04", "draft-06", "draft-07")
        ),
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ],
)
def test_formats_are_annotations_in_every_dialect(dialect: str) -> None:
    assert faults({"$schema": dialect, "format": "email"}, "no mail address") == []


@pytest.mark.parametrize("schema", [None, 5, "string", [], [{}]])
def test_what_is_no_schema_is_left_to_the_server(schema: object) -> None:
    assert unchecked(schema, 1) == "the schema is neither an object nor a boolean"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strin"},
        {"properties": {"a": {"required": "x"}}},
        {"minLength": -1},
        {"multipleOf": 0},
        {"maximum": math.inf},
        {"enum": [math.nan]},
        {"const": {1: 2}},
        {"pattern": "("},
        {"patternProperties": {"[": {}}},
        {"pattern": "^(?<n>a)\\k<n>$"},
    ],
)
def test_a_broken_schema_is_left_to_the_server(schema: object) -> None:
    assert unchecked(schema, "a").startswith(
        ("the schema is no valid", "the schema holds", "a pattern in the schema")
    )


def test_boolean_schemas_accept_everything_and_nothing() -> None:
    values: list[Any] = [None, 1, "a", [], {}]
    for value in values:
        assert faults(ANYTHING, value) == []
        assert faults(NOTHING, value)


# ---------------------------------------------------------------- references


@pytest.mark.duty(25)
@pytest.mark.parametrize(
    "reference",
    [
        "http://127.0.0.1:9/schema.json",
        "https://example.com/schema.json#/x",
        "file:///etc/hostname",
        "other.json",
        "urn:some:thing",
        "#/$defs/missing",
        "#missing",
        "//127.0.0.1/x",
        "http://[bad",
    ],
)
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_reference_that_leads_nowhere_is_left_to_the_server_and_never_fetched(
    reference: str, keyword: str
) -> None:
    for schema in ({keyword: reference}, {"properties": {"a": {keyword: reference}}}):
        found = check(schema, {"a": 1})
        assert isinstance(found, Unchecked)
    based = {"$id": "http://127.0.0.1:9/base/", "items": {keyword: reference}}
    assert isinstance(check(based, [1]), Unchecked)


GUARDED = """
import ctypes, platform, socket, struct, sys
from toolcrib.adapters.schema import JsonSchemaChecker
from toolcrib.ports import Unchecked
from toolcrib.settings import Limits

SOCKET = {"x86_64": 41, "aarch64": 198}[platform.machine()]
LOAD, EQUAL, RETURN, KILL, ALLOW = 0x20, 0x15, 0x06, 0x80000000, 0x7FFF0000
steps = [(LOAD, 0, 0, 0), (EQUAL, 0, 1, SOCKET), (RETURN, 0, 0, KILL), (RETURN, 0, 0, ALLOW)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit("no guard here")
if sys.argv[1] == "try the guard":
    socket.socket()
checker = JsonSchemaChecker(Limits())
for at, reference in enumerate(sys.argv[1:]):
    for keyword in ("$ref", "$schema", "$id", "$dynamicRef"):
        schema = {keyword: reference, "properties": {"a": {"$ref": "x"}}}
        assert isinstance(checker.check(schema, {"a": 1}, mark=f"{at} {keyword}"), Unchecked)
print("nothing fetched")
"""
"""A process that the kernel ends as soon as it makes a socket, in Python or below it."""


def guarded(*references: str) -> tuple[int, str]:
    run = subprocess.run(
        [sys.executable, "-c", GUARDED, *references],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    if "no guard here" in run.stderr:
        pytest.skip("the kernel lets no process restrict itself here")
    return run.returncode, run.stdout.strip() or run.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="the guard is one of Linux")
def test_no_reference_makes_a_socket() -> None:
    assert guarded("try the guard")[0] == -signal.SIGSYS
    assert guarded(
        "http://127.0.0.1:9/schema.json", "https://example.com/s.json", "//example.com/s", "x.json"
    ) == (0, "nothing fetched")


def test_a_file_that_a_reference_names_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "null.json").write_text('{"type": "null"}', encoding="utf-8")
    uri = (tmp_path / "null.json").as_uri()
    assert isinstance(check({"$ref": uri}, 1), Unchecked)
    assert isinstance(check({"$id": tmp_path.as_uri() + "/", "$ref": "null.json"}, 1), Unchecked)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/n", "$defs": {"n": {"type": "null"}}},
        {"$ref": "#n", "$defs": {"x": {"$anchor": "n", "type": "null"}}},
        {"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"type": "null"}}},
        {"$id": "https://example.com/s", "$ref": "#/$defs/n", "$defs": {"n": {"type": "null"}}},
        {"$id": "https://example.com/s", "$ref": "n", "$defs": {"n": {"$id": "n", "type": "null"}}},
        {"$ref": "https://example.com/n",
         "$defs": {"n": {"$id": "https://example.com/n", "type": "null"}}},
        {"$id": "urn:a", "$ref": "urn:n",
         "$defs": {"n": {"$id": "urn:n", "$ref": "#/x", "x": {"type": "null"}}}},
        {"$dynamicRef": "#n", "$defs": {"n": {"$dynamicAnchor": "n", "type": "null"}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "allOf": [{"$ref": "#n"}],
         "definitions": {"n": {"id": "#n", "type": "null"}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "allOf": [{"$ref": "#n"}],
         "definitions": {"n": {"$id": "#n", "type": "null"}}},
    ],
)  # fmt: skip
def test_references_inside_a_schema_are_followed(schema: dict[str, Any]) -> None:
    assert faults(schema, None) == []
    (_, what), *_ = faults(schema, 1)
    assert what == "is a number (`1`), but must be null" or "$dynamicRef" in schema


def test_a_recursive_schema_is_followed_as_deep_as_the_value() -> None:
    tree = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "below": {"items": {"$ref": "#"}}},
        "required": ["name"],
    }
    nameless: dict[str, Any] = {}
    assert faults(tree, {"name": "a", "below": [{"name": "b", "below": [{"name": "c"}]}]}) == []
    assert only(tree, {"name": "a", "below": [{"name": "b", "below": [nameless]}]}) == (
        "below[0].below[0]",
        "lacks the required `name`",
    )


# ---------------------------------------------------------------- odd values


@pytest.mark.parametrize("schema", [True, {}, {"type": "number"}, {"$ref": "urn:x"}, None])
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_in_json_never_passes(schema: object, number: float) -> None:
    assert only(schema, number) == ("", f"is {number!r}, which is no number in JSON")
    assert only(schema, {"a": [1, {"b": number}]})[0] == "a[1].b"
    assert only(schema, nested(5_000, number))[0].startswith("…[0][0]")


@pytest.mark.parametrize("value", [{1: 2}, {"a": {None: 1}}, {"a": [{True: 1}]}])
def test_keys_that_are_no_strings_never_pass(value: object) -> None:
    assert "keys must be strings" in only({}, value)[1]


@pytest.mark.parametrize("value", [b"a", (1,), {1}, object(), 1j, {"a": bytearray()}])
def test_what_json_has_not_never_passes(value: object) -> None:
    assert "no JSON value" in only(ANYTHING, value)[1]


def test_big_integers_are_compared_exactly() -> None:
    assert faults({"type": "integer", "minimum": 2**64}, 10**400) == []
    assert faults({"const": 10**40}, 10**40 + 1)
    assert faults({"maximum": 2**64}, 2**64 + 1)
    assert faults({"multipleOf": 3}, 3 * 10**30 + 1)
    assert faults({"multipleOf": 3}, 3 * 10**30) == []
    assert "no JSON encoder" in only(ANYTHING, 10**5_000)[1]
    assert faults({"type": "integer"}, 10**4_100) == []


def test_unpaired_surrogates_are_checked_like_other_characters() -> None:
    assert faults({"type": "string", "minLength": 1, "maxLength": 1}, "\ud800") == []
    assert faults({"enum": ["\ud800"]}, "\ud800") == []
    assert faults({"enum": ["\ud800"]}, "\ud801") == [("", "is `\ufffd`, but must be `\ufffd`")]
    assert faults({"required": ["\udfff"]}, {"\udfff": 1}) == []
    assert faults({"required": ["\udfff"]}, {"\udffe": 1})
    assert faults({"properties": {"\ud800": {"type": "null"}}}, {"a": [{"\ud800": "\udc00"}]}) == []
    where, what = only({"properties": {"\ud800": {"type": "null"}}}, {"\ud800": "\udc00"})
    assert (where + what).encode()
    value = {"a": ["\ud800"]}
    assert faults({}, value) == []
    assert value == {"a": ["\ud800"]}


# ---------------------------------------------------------------- bounds


def doubling(levels: int, keyword: str = "allOf") -> dict[str, Any]:
    definitions: dict[str, Any] = {
        f"d{at}": {keyword: [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(levels)
    }
    definitions[f"d{levels}"] = {"type": "string"}
    return {"$ref": "#/$defs/d0", "$defs": definitions}


def looked_back(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return schema


TWICE = {
    "anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}],
    "$defs": {"n": {"properties": {"a": {"$ref": "#"}}}},
}


@pytest.mark.duty(25)
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (doubling(60), "a"),
        (doubling(140), "a"),
        (doubling(60, "anyOf"), 1),
        (doubling(60, "oneOf"), "a"),
        (looked_back(30), {}),
        (TWICE, nested(60, 1, "a")),
        ({"items": {"type": "string"}}, ["a"] * 200_000),
        ({"enum": list(range(100_001))}, 1),
        ({"pattern": "[ab]*a[ab]{1000}c"}, "ab" * 500_000),
        ({"pattern": "([ab]*a[ab]{30}){30}c"}, "ab" * 500_000),
        ({"additionalProperties": {"uniqueItems": True,
                                   "items": {"$ref": "#/additionalProperties"}}},
         {"a": nested(100, [0] * 2_000)}),
        ({"properties": {"a": {"pattern": "^(?!b)"}}}, {"b": ["x"] * 3_000}),
        ({"propertyNames": {"pattern": "[ab]*a[ab]{1000}c"}}, {"ab" * 300_000: 1}),
        ({"patternProperties": {"[ab]*a[ab]{1000}c": {}}}, {"ab" * 300_000: 1}),
    ],
)  # fmt: skip
def test_a_check_of_too_many_steps_is_left_to_the_server(schema: object, value: object) -> None:
    assert "schema_work" in unchecked(schema, value)


def test_the_limit_of_steps_is_the_one_that_is_set() -> None:
    schema, value = {"items": {"type": "string"}}, ["a"] * 100
    assert check(schema, value, replace(LIMITS, schema_work=1_000)) == ()
    assert "50 steps" in unchecked(schema, value, replace(LIMITS, schema_work=50))


def test_schemas_that_only_look_dangerous_are_checked() -> None:
    assert faults(doubling(8), "a") == []
    assert faults(looked_back(4), {}) == []
    assert faults({"pattern": "^[a-z]+$"}, "ab" * 400_000) == []
    assert faults({"items": {"type": "integer"}, "uniqueItems": True}, list(range(20_000))) == []
    assert faults({"$ref": "#/$defs/0", "$defs": {
        **{str(at): {"$ref": f"#/$defs/{at + 1}"} for at in range(200)}, "200": {"type": "null"}
    }}, None) == []  # fmt: skip


@pytest.mark.parametrize(
    "schema", [{"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, {"$ref": "#"}, {"not": {"$ref": "#"}}]
)
def test_a_schema_that_applies_itself_for_ever_is_left_to_the_server(schema: object) -> None:
    assert "applies itself" in unchecked(schema, 1)


@pytest.mark.duty(25)
@pytest.mark.parametrize("pattern", ["^((?=a)a+)+$", r"(x+x+)+\1y", "^(?:(?=a)(?:a|aa))+$"])
def test_a_pattern_that_runs_out_of_steps_is_never_taken_for_one_that_does_not_match(
    pattern: str,
) -> None:
    text = ("x" if "x" in pattern else "a") * 60 + "!"
    for schema, value in (
        ({"pattern": pattern}, text),
        ({"not": {"pattern": pattern}}, text),
        ({"patternProperties": {pattern: False}}, {text: 1}),
        ({"if": {"items": {"pattern": pattern}}, "else": False}, [text]),
        ({"anyOf": [{"pattern": pattern}, {"type": "string"}]}, text),
    ):
        assert "takes too many steps" in unchecked(schema, value)


def test_patterns_that_look_around_are_matched() -> None:
    assert faults({"pattern": "^(?!test)[a-z]+$"}, "production") == []
    assert only({"pattern": "^(?!test)[a-z]+$"}, "testing")[1].startswith("is `testing`, but must")
    assert faults({"patternProperties": {"^(?=x)": {"type": "null"}}}, {"x1": None, "y": 1}) == []
    assert only({"patternProperties": {"^(?=x)": {"type": "null"}}}, {"x1": 1})[0] == "x1"


@pytest.mark.parametrize(
    ("pattern", "states"),
    [
        ("abc", 3),
        ("[a-z0-9]{64}", 64),
        (r"^\d{4}-\d{2}-\d{2}$", 12),
        ("(ab){10}", 30),
        ("((a{10}){10}){10}", 1_110),
        ("a{2,}", 3),
        ("a{2,5}", 5),
        (r"[\]{9}]{3}", 3),
        ("a{x}", 4),
        ("(", 0),
        (")", 1),
        ("\\", 1),
        ("[", 1),
        ("a{999999999}{999999999}", 1_000_000_000),
    ],
)
def test_the_size_of_a_pattern_counts_its_repetitions(pattern: str, states: int) -> None:
    assert patterns.states(pattern) == states


def test_patterns_too_large_to_compile_are_left_to_the_server() -> None:
    assert "too large" in unchecked({"pattern": "(a{1000}){1000}"}, "a")
    many = {"properties": {str(at): {"pattern": "^[a-z]{5000}$"} for at in range(300)}}
    assert "too large" in unchecked(many, {})


def test_a_schema_beyond_depth_or_size_is_left_to_the_server() -> None:
    assert "schema_depth" in unchecked(nested(100_000, ANYTHING, "not"), 1)
    assert "schema_depth" in unchecked({"const": nested(100, 1)}, 1)
    assert faults(nested(60, ANYTHING, "not"), 1) == []
    assert "schema_bytes" in unchecked({"const": "a" * 20_000_000}, 1)


DEEP = """
import sys, threading
from toolcrib.adapters.schema import JsonSchemaChecker
from toolcrib.settings import Limits

def nested(levels, leaf, key):
    for _ in range(levels):
        leaf = [leaf] if key is None else {key: leaf}
    return leaf

def work():
    checker = JsonSchemaChecker(Limits())
    schemas = [{"items": {"$ref": "#"}, "additionalProperties": {"$ref": "#"}}, True, {"const": 1},
               {"uniqueItems": True}, {"anyOf": [{"items": {"$ref": "#"}}, {"type": "null"}]}]
    for key in (None, "a"):
        for levels in (1, 100, 128, 129, 1_000, 100_000):
            for at, schema in enumerate(schemas):
                checker.check(schema, nested(levels, 1, key), mark=str(at))
        checker.check(nested(100_000, True, key or "not"), 1, mark=f"deep {key}")
        checker.check({"enum": [nested(60, 1, key)]}, nested(128, 1, key), mark=f"enum {key}")
    print("alive")

threading.stack_size(1024 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_nothing_that_is_deep_crashes_the_process_even_on_a_small_stack() -> None:
    run = subprocess.run(
        [sys.executable, "-c", DEEP], capture_output=True, check=False, text=True, timeout=60
    )
    assert (run.returncode, run.stdout.strip()) == (0, "alive"), run.stderr


def test_a_value_that_contains_itself_gets_an_answer() -> None:
    ring: list[object] = []
    ring.append(ring)
    assert "levels deep" in unchecked({}, ring)


def test_a_deep_value_is_left_to_the_server() -> None:
    assert faults({"items": {"$ref": "#"}}, nested(128, 1)) == []
    assert "128 levels" in unchecked({"items": {"$ref": "#"}}, nested(129, 1))


# ---------------------------------------------------------------- what is kept


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The schemas that were compiled, in order."""
    schemas: list[object] = []
    real = checker_module.compiled

    def noted(schema: object, limits: Limits) -> Compiled | Unchecked:
        schemas.append(schema)
        return real(schema, limits)

    monkeypatch.setattr(checker_module, "compiled", noted)
    return schemas


def test_a_schema_is_compiled_once_for_its_mark(compiled: list[object]) -> None:
    checker = JsonSchemaChecker(LIMITS)
    for _ in range(3):
        assert checker.check({"type": "null"}, None, mark="a") == ()
        assert isinstance(checker.check({"$ref": "urn:x"}, None, mark="b"), Unchecked)
    assert len(compiled) == 2
    assert checker.check({"type": "string"}, None, mark="c") != ()


def test_what_was_not_used_for_longest_is_dropped(
    monkeypatch: pytest.MonkeyPatch, compiled: list[object]
) -> None:
    monkeypatch.setattr(checker_module, "_MOST_KEPT", 2)
    checker = JsonSchemaChecker(LIMITS)
    for mark in ("a", "b", "a", "c", "a", "c"):
        checker.check({"const": mark}, mark, mark=mark)
    assert compiled == [{"const": "a"}, {"const": "b"}, {"const": "c"}]
    checker.check({"const": "b"}, 1, mark="b")
    assert len(compiled) == 4


def test_large_schemas_drop_others_and_are_kept_alone(
    monkeypatch: pytest.MonkeyPatch, compiled: list[object]
) -> None:
    monkeypatch.setattr(checker_module, "_MOST_WEIGHT", 50)
    checker = JsonSchemaChecker(LIMITS)
    small, large = {"type": "null"}, {"enum": list(range(100))}

    def compiles(schema: object, mark: str) -> int:
        before = len(compiled)
        checker.check(schema, None, mark=mark)
        return len(compiled) - before

    assert [compiles(small, mark) for mark in "abab"] == [1, 1, 0, 0]
    assert [compiles(large, mark) for mark in "cc"] == [1, 0]
    assert [compiles(small, mark) for mark in "aba"] == [1, 1, 0]
    assert compiles(large, "c") == 1
