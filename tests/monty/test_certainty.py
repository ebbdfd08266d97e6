"""Which findings of the type checker keep a program from running."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.adapters.monty.certainty import certain, written_keys

ARGUMENT = "invalid-argument-type"


def argument(found: str, wanted: str) -> bool:
    message = f"Argument to function `f` is incorrect: Expected `{wanted}`, found `{found}`"
    return certain(ARGUMENT, message, "a=x)", ())


FITTING = [
    ("str", 'Literal["a", "b"]'),
    ("LiteralString", 'Literal["a"] | None'),
    ("str", 'Literal["a`b | c", "]"] | float'),
    ("int", "Literal[1, 2]"),
    ("bool", "Literal[True]"),
    ("str | None", "str"),
    ('Literal["a"] | None', "str"),
    ("str | int", "int"),
    ("int | None", "float"),
    ("object", "str"),
    ("FResult", "dict[str, Any]"),
    ("FResultItem | None", "Mapping[str, str]"),
    ("list[FResultItem]", "list[dict[Unknown, Unknown]]"),
    ("list[str | None]", "ListOf[str]"),
    ("list[list[str | int]]", "ListOf[ListOf[int]]"),
    ("tuple[FResult, ...]", "list[dict[str, Any]]"),
    ("dict[str, str | int]", "Mapping[str, str]"),
    ("Settled", "dict[str, Any]"),
    ("list[Settled]", "list[dict[Unknown, Unknown]]"),
    ("str | None", "Sized"),
]


@pytest.mark.parametrize(("found", "wanted"), FITTING)
def test_a_type_of_which_some_values_fit_is_left_to_the_call(found: str, wanted: str) -> None:
    assert not argument(found, wanted)


UNFIT = [
    ("str", "int"),
    ("float", "int"),
    ("int | float", "str"),
    ("None", "str"),
    ('Literal["c"]', 'Literal["a", "b"]'),
    ('Literal["a", "c"]', 'Literal["a", "b"]'),
    ("int", 'Literal["1"]'),
    ("str", "Literal[1]"),
    ('Literal["x"]', "ListOf[str]"),
    ("str", "ListOf[Literal[1] | str]"),
    ("list[int]", "ListOf[str]"),
    ("set[str]", "ListOf[str]"),
    ("dict[str, int]", "Mapping[str, str]"),
    ("list[FResult]", "FArgs | Mapping[str, Any]"),
    ("FResult", "ListOf[Any]"),
    ("FResult", "str"),
    ("CoroutineType[Any, Any, FResult]", "Mapping[str, Any]"),
    ("CoroutineType[Any, Any, str]", "str"),
    ("str", "Sized"),
]


@pytest.mark.parametrize(("found", "wanted"), UNFIT)
def test_a_type_of_which_no_value_fits_is_told(found: str, wanted: str) -> None:
    assert argument(found, wanted)


FINDINGS: list[tuple[str, str, str, bool]] = [
    ("unknown-argument", "Argument `x` does not match any known parameter", "x=1)", True),
    ("missing-argument", f"No argument for `{'[' * 99}`", "f()", True),
    ("invalid-key", 'Unknown key "nr" for TypedDict `F`', "r['nr']", True),
    ("invalid-key", 'Unknown key "own" for TypedDict `F`', "r['own']", False),
    ("invalid-key", "TypedDict `F` can only be subscripted with a string literal key", "", False),
    (ARGUMENT, "Argument is incorrect: Expected `str`, found `int`", "**args)", False),
    (
        ARGUMENT,
        "Expected `<TypedDict with items 'a'>`, found `dict[str, bool]`",
        "r.update(",
        False,
    ),
    (
        "unresolved-attribute",
        "Attribute `x` is not defined on `None` in union `A | None`",
        "",
        False,
    ),
    ("unresolved-attribute", "Object of type `int` has no attribute `x`", "", True),
    (
        "not-subscriptable",
        "Cannot subscript object of type `None` with no `__getitem__`",
        "",
        False,
    ),
    ("not-subscriptable", "Cannot subscript object of type `int` with no `__getitem__`", "", True),
    ("not-iterable", "Object of type `str | None` may not be iterable", "", False),
    ("not-iterable", "Object of type `int` is not iterable", "", True),
    ("invalid-return-type", "expected `int`, found `None`", "", False),
    ("no-matching-overload", "No overload of function `sum` matches arguments", "", False),
    ("invalid-assignment", "Object of type `None` is not assignable to `str`", "", False),
    ("invalid-assignment", "Object of type `str` is not assignable to `int`", "", True),
    ("invalid-assignment", "Object of type `FResult` is not assignable to `dict[A, B]`", "", False),
    ("unused-awaitable", "Object of type `CoroutineType[A, B, C]` is not awaited", "f()", True),
]


@pytest.mark.parametrize(("code", "message", "text", "told"), FINDINGS)
def test_a_finding_is_told_where_it_holds_for_every_value(
    code: str,
    message: str,
    text: str,
    told: bool,  # noqa: FBT001 - pytest hands it over
) -> None:
    assert certain(code, message, text, {"own"}) is told


OPERANDS = [
    ("int", 'Literal["x"]', True),
    ("list[int]", "int", True),
    ("str | None", "str", False),
    ("object", "int", False),
    ("int | float", "str", True),
    ("list[FResultItem]", "list[dict[str, int]]", False),
    ("list[str]", "tuple[int, ...]", True),
]


@pytest.mark.parametrize(("left", "right", "told"), OPERANDS)
def test_an_operator_is_told_that_none_of_the_values_takes(
    left: str,
    right: str,
    told: bool,  # noqa: FBT001 - pytest hands it over
) -> None:
    message = f"Operator `+` is not supported between objects of type `{left}` and `{right}`"
    assert certain("unsupported-operator", message, "a + b", ()) is told
    assert not certain("unsupported-operator", message, 'stats["n"] += b', ())


def test_two_operands_of_one_type_are_looked_at_like_any() -> None:
    message = "Operator `>` is not supported between two objects of type `{}`"
    assert not certain("unsupported-operator", message.format("object"), "a > b", ())
    assert certain("unsupported-operator", message.format("dict[str, int]"), "a > b", ())


def test_members_that_a_program_writes_are_found_and_those_it_reads_are_not() -> None:
    text = """
i["a"] = 5
i['b'] += 1
i.update(c=3)
i.update({"d": 1, 'e': 2})
i |= {"f": 1}
i.setdefault("g", [])
nr = r["nr"]
if r["state"] == "x" or r["kind"] != 2: out.append({"url": r["url"]})
"""
    assert written_keys(text) == set("abcdefg")


@pytest.mark.parametrize("filler", [" ", "a", "update(", "|=", "{", "[", "['a'] ", "setdefault('"])
def test_members_are_sought_in_any_text_in_one_pass(filler: str) -> None:
    assert len(written_keys(f"i.update({filler * 200_000}")) <= 1
    assert "b" in written_keys(f'i.update({" " * 200_000}{{"b": 1}})')


@given(st.text("[]()|, `\"\\Literalstrdict'", max_size=80), st.text("[]|, \"'ab", max_size=80))
def test_any_message_is_judged(found: str, wanted: str) -> None:
    assert argument(found, wanted) in {True, False}
    assert argument(f"list[{found}]", f"list[{found}]") is False


@pytest.mark.parametrize("levels", [10, 100, 5_000])
def test_types_nested_without_end_are_judged(levels: int) -> None:
    deep = "list[" * levels + "int" + "]" * levels
    assert not argument(deep, f"ListOf[{deep}]") or levels <= 60
    assert argument("str", "int" + " " * levels)
