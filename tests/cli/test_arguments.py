"""Arguments of a call on a command line."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.cli.arguments import parse_arguments
from toolcrib.cli.exits import Exit, UsageError, exit_of

SINGLE: list[tuple[list[str], dict[str, Any]]] = [
    ([], {}),
    (["path=/tmp/x"], {"path": "/tmp/x"}),  # noqa: S108 - no file of ours
    (["n=3", "f=1.5", "on=true", "none=null"], {"n": 3, "f": 1.5, "on": True, "none": None}),
    (["ids=[1, 2]", 'o={"a": {"b": 1}}'], {"ids": [1, 2], "o": {"a": {"b": 1}}}),
    (['quoted="3"', 'id:="3"'], {"quoted": "3", "id": "3"}),
    (
        ["empty=", "equals=a=b", "url=http://h/?a=b"],
        {"empty": "", "equals": "a=b", "url": "http://h/?a=b"},
    ),
    (
        ["zip=01234", "version=1.2.3", "word=truely"],
        {"zip": "01234", "version": "1.2.3", "word": "truely"},
    ),
    (["big=123456789012345678901234567890"], {"big": 123456789012345678901234567890}),
    (["x=NaN", "y=Infinity", "z=-Infinity"], {"x": "NaN", "y": "Infinity", "z": "-Infinity"}),
    (["deep:=[[]]"], {"deep": [[]]}),
    (["a.b.c=1", "a.b.d=x", "a.e=2"], {"a": {"b": {"c": 1, "d": "x"}, "e": 2}}),
    ([r"a\.b=1", r"c.d\.e=2"], {"a.b": 1, "c": {"d.e": 2}}),
    (["a={}", "a.b=1"], {"a": {"b": 1}}),
    (["a.b:=[1]"], {"a": {"b": [1]}}),
    (["text=a b\nc", "ünï=ö"], {"text": "a b\nc", "ünï": "ö"}),
]


@pytest.mark.parametrize(("pairs", "arguments"), SINGLE)
def test_single_arguments(pairs: list[str], arguments: dict[str, Any]) -> None:
    assert parse_arguments(pairs) == arguments


@pytest.mark.parametrize(
    ("pairs", "message", "remedy"),
    [
        (["path"], "'path' has no value", "name=value"),
        (["=x"], "empty name", "name=value"),
        ([":=1"], "empty name", "name=value"),
        (["a..b=1"], "empty name", "outer.inner"),
        ([".a=1"], "empty name", "outer.inner"),
        (["n:=x"], "the value of argument n is no JSON (line 1, column 1)", "quote it"),
        (["n:="], "the value of argument n is no JSON", "instead of :="),
        (["n:=NaN"], "the value of argument n is no JSON", "quote it"),
        (["n:=" + "[" * 100_000], "the value of argument n is no JSON", "quote it"),
        (["a=1", "a=2"], "argument a is given twice", "keep one"),
        (["a.b=1", "a.b:=2"], "argument a.b is given twice", "keep one"),
        (["a=1", "a.b=2"], "argument a.b is inside a, which is no object", "leave out a"),
        (["a.b=1", "a.b.c.d=2"], "argument a.b.c.d is inside a.b, which", "leave out a.b"),
    ],
)
def test_what_cannot_be_understood_is_told_with_a_remedy(
    pairs: list[str], message: str, remedy: str
) -> None:
    with pytest.raises(UsageError) as caught:
        parse_arguments(pairs)
    assert message in caught.value.message
    assert remedy in (caught.value.remedy or "")
    assert exit_of(caught.value) is Exit.USAGE


def test_all_arguments_at_once_and_single_ones_on_top(tmp_path: Path) -> None:
    text = '{"a": {"b": 1, "c": 2}, "d": 3}'
    file = tmp_path / "args.json"
    file.write_text(f"\ufeff{text}", encoding="utf-8")
    expected = {"a": {"b": 9, "c": 2}, "d": 3}
    assert parse_arguments(["a.b=9"], text) == expected
    assert parse_arguments(["a.b=9"], f"@{file}") == expected
    assert parse_arguments(["a.b=9"], "-", io.StringIO(text)) == expected
    assert parse_arguments([], "{}") == {}


@pytest.mark.parametrize(
    ("whole", "message", "remedy"),
    [
        ("{", "--args is no JSON (line 1, column 2)", "one JSON object"),
        ("", "--args is no JSON", "quote it for the shell"),
        ("[1]", "--args is JSON, but no object", '{"name": value}'),
        ('"x"', "--args is JSON, but no object", '{"name": value}'),
        ("@/no/such/file", "cannot read /no/such/file: No such file", "check the path"),
        ("-", "there is no standard input", "@file"),
    ],
)
def test_a_whole_that_is_unusable_is_told_with_a_remedy(
    whole: str, message: str, remedy: str
) -> None:
    with pytest.raises(UsageError) as caught:
        parse_arguments([], whole)
    assert message in caught.value.message
    assert remedy in (caught.value.remedy or "")


def test_files_and_input_that_are_no_text_are_told(tmp_path: Path) -> None:
    file = tmp_path / "args.json"
    file.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(UsageError, match="no UTF-8 text"):
        parse_arguments([], f"@{file}")
    stdin = io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="utf-8")
    with pytest.raises(UsageError, match="standard input is no UTF-8"):
        parse_arguments([], "-", stdin)
    with pytest.raises(UsageError, match=r"standard input is no JSON \(line 2, column 1\)"):
        parse_arguments([], "-", io.StringIO("\n]"))


@pytest.mark.parametrize("pairs", [["token:=canary"], ["token=canary", "token=canary"]])
def test_values_never_show_in_an_error(pairs: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse_arguments(pairs)
    assert "canary" not in f"{caught.value} {caught.value!r} {caught.value.for_operator()}"


NAMES = st.text(alphabet="abcü", min_size=1, max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(NAMES, JSON, max_size=4))
def test_any_json_object_can_be_written_by_single_arguments(arguments: dict[str, Any]) -> None:
    pairs = [f"{name}:={json.dumps(value)}" for name, value in arguments.items()]
    assert parse_arguments(pairs) == arguments
    assert parse_arguments([], json.dumps(arguments)) == arguments


@pytest.mark.parametrize(
    ("pairs", "arguments"),
    [
        (['{"a": 1}'], {"a": 1}),
        (["b=2", '{"a": 1, "b": 1}', "c.d=3"], {"a": 1, "b": 2, "c": {"d": 3}}),
        (["-", "b=2"], {"read": True, "b": 2}),
        ([" {}"], {}),
    ],
)
def test_all_at_once_may_stand_among_single_ones(
    pairs: list[str], arguments: dict[str, Any]
) -> None:
    assert parse_arguments(pairs, stdin=io.StringIO('{"read": true}')) == arguments


def test_a_file_may_stand_among_single_ones(tmp_path: Path) -> None:
    path = tmp_path / "all=of=them.json"
    path.write_text('{"a": {"b": 1}}')
    assert parse_arguments(["a.c=2", f"@{path}"]) == {"a": {"b": 1, "c": 2}}


@pytest.mark.parametrize(
    ("pairs", "whole", "message"),
    [
        (['{"a":1}', '{"b":1}'], None, "given twice"),
        (["-"], "{}", "given twice"),
        (["@x", "-"], None, "given twice"),
        (['{"a"'], None, "{…} is no JSON"),
        (["{a}=1"], None, "{…} is no JSON"),
        (["@"], None, "cannot read"),
    ],
)
def test_all_at_once_is_given_once_and_whole(
    pairs: list[str], whole: str | None, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        parse_arguments(pairs, whole, io.StringIO("{}"))
    assert message in caught.value.message
