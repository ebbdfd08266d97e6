"""JSON with comments and trailing commas, and what is said where it is broken."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.config.document import (
    LARGEST,
    BrokenDocument,
    Node,
    decoded,
    repeated_keys,
    step_into,
)
from toolcrib.config.jsonc import DEEPEST, parse


def plain(node: Node) -> Any:
    """The tree without its places."""
    if isinstance(node.value, dict):
        return {key: plain(member) for key, member in node.value.items()}
    if isinstance(node.value, list):
        return [plain(member) for member in node.value]
    return node.value


def at(root: Node, *way: str | int) -> Node:
    for step in way:
        root = root.value[step]  # type: ignore[index, call-overload]  # the test knows the shape
    return root


def broken(text: str) -> BrokenDocument:
    with pytest.raises(BrokenDocument) as caught:
        parse(text)
    return caught.value


def outcome(text: str) -> BrokenDocument | None:
    try:
        parse(text)
    except BrokenDocument as error:
        return error
    return None


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.sampled_from([None, 0, 2]))
def test_strict_json_is_read_as_the_standard_library_reads_it(value: Any, indent: int) -> None:
    assert plain(parse(json.dumps(value, indent=indent))) == value


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_comments_and_trailing_commas_anywhere_change_nothing(value: dict[str, Any]) -> None:
    text = json.dumps(value, indent=1)
    lines = [f'{line} // }} ] " /*' for line in text.splitlines()]
    commented = "/* { */\n" + "\n".join(lines)
    assert plain(parse(commented)) == value
    trailing = json.dumps(value, separators=(",", ":"))
    if value:
        assert plain(parse(f"{trailing[:-1]} , /* last */ }}")) == value


@given(st.text(alphabet="{}[]\":,/*\\ \n\t'ae1-.tnf#“", max_size=40))
def test_garbage_is_a_document_or_broken_at_a_place_inside_it(text: str) -> None:
    error = outcome(text)
    if error is not None:
        lines = text.split("\n")
        assert 1 <= error.line <= len(lines)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1
        assert error.message
        assert error.hint


@pytest.mark.parametrize(
    "text",
    [
        '{"u": "https://host//path", "w": "C:\\\\x // y", "c": "/* no */"}',
        '{"u": "https://host//path", // gone: "x"\n "w": "C:\\\\x // y", "c": "/* no */",}',
    ],
)
def test_slashes_inside_strings_are_no_comments(text: str) -> None:
    assert plain(parse(text)) == {"u": "https://host//path", "w": "C:\\x // y", "c": "/* no */"}


def test_every_value_stands_where_its_key_stands() -> None:
    root = parse('\n{\n  "a": /* x\n y */ {"b":\n   [1,\n 2]},\r\n\t"c d": null\r}', "f.json")
    assert (at(root, "a").line, at(root, "a").column) == (3, 3)
    assert (at(root, "a", "b").line, at(root, "a", "b").column) == (4, 8)
    assert (at(root, "a", "b", 1).line, at(root, "a", "b", 1).column) == (6, 2)
    assert (at(root, "c d").line, at(root, "c d").column) == (7, 2)
    assert at(root, "a", "b", 1).path == "a.b[1]"
    assert at(root, "c d").path == '["c d"]'
    assert at(root, "a").place == "f.json:3"


def test_paths_quote_the_keys_that_hold_dots_or_spaces() -> None:
    assert step_into("mcpServers", "my.server") == 'mcpServers["my.server"]'
    assert step_into("", "a") == "a"
    assert step_into("args", 2) == "args[2]"


def test_a_key_written_twice_is_known_and_the_last_one_counts() -> None:
    root = parse('{"a": 1, "x": [{"b": 1,\n "b": 2}],\n "a": 3}')
    assert plain(root) == {"x": [{"b": 2}], "a": 3}
    assert [(node.path, node.line) for node in repeated_keys(root)] == [("a", 1), ("x[0].b", 1)]


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "hint"),
    [
        ("", 1, 1, "empty", "mcpServers"),
        ("// only this\n", 2, 1, "empty", "mcpServers"),
        ('{"a": 1\n "b": 2}', 2, 2, "comma between", "line 1"),
        ('{"a": [1 2]}', 1, 10, "comma between", "line 1"),
        ('{"a": {"b": 1}', 1, 15, "opened on line 1, column 1", "}"),
        ('{"a": [1,\n 2}', 2, 3, "opened on line 1, column 7", "]"),
        ('{"a": 1]', 1, 8, "opened on line 1, column 1", "}"),
        ('{"a": 1}\n}', 2, 1, "goes on after its end", "one object"),
        ('"a": {}', 1, 4, "goes on after its end", "brace"),
        ('{"a" 1}', 1, 6, "colon", ":"),
        ('{"a"="b"}', 1, 5, "colon", ":"),
        ('{"a":}', 1, 6, "lacks a value", "write the value"),
        ('{"a":', 1, 6, "ends where a value", "close what is open"),
        ('{"a": 1,, "b": 2}', 1, 9, "comma with nothing before", "remove"),
        ("[,]", 1, 2, "comma with nothing before", "remove"),
        ("{'a': 1}", 1, 2, "key", "double quotes"),
        ("{\"a\": 'b'}", 1, 7, "value", "double quotes"),
        ("{a: 1}", 1, 2, "key", "double quotes"),
        ('{"a": b}', 1, 7, "value", "double quotes"),
        ('{"a": True}', 1, 7, "spells otherwise", "write true"),
        ('{"a": None}', 1, 7, "spells otherwise", "write null"),
        ('{"a": \u201cb\u201d}', 1, 7, "value", "straight"),
        ("{# no\n}", 1, 2, "key", "//"),
        ('{"a": "C:\\Users"}', 1, 10, "escape", "\\\\"),
        ('{"a": "\\u12"}', 1, 9, "escape", "\\\\"),
        ('{"a": "b\nc"}', 1, 7, "not closed on its line", "\\n"),
        ('{"a": "b', 1, 7, "not closed on its line", '"'),
        ('{"a": 1 /* b }', 1, 9, "comment that is never closed", "*/"),
        ('{"a": 1e999}', 1, 12, "number", "infinity"),
        ('{"a": -}', 1, 7, "number", "digits"),
        ('{"a": NaN}', 1, 7, "value", "double quotes"),
        ('{"a": 01}', 1, 8, "comma", "line 1"),
        ("[" * (DEEPEST + 1), 1, DEEPEST + 1, "nested deeper", "meant"),
    ],
)
def test_a_broken_document_says_where_and_what_to_do(
    text: str, line: int, column: int, message: str, hint: str
) -> None:
    error = broken(text)
    assert (error.line, error.column) == (line, column)
    assert message in error.message
    assert hint in error.hint


def test_a_broken_document_tells_nothing_of_its_content() -> None:
    error = broken('{"token": "canary-value" "other": 1}')
    assert "canary" not in f"{error!r} {error} {error.message} {error.hint} {vars(error)}"
    assert "canary" not in repr(parse('{"token": "canary-value"}'))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_no_content(encoding: str) -> None:
    assert plain(parse(decoded('{"ä": 1}'.encode(encoding)))) == {"ä": 1}


def test_bytes_that_are_no_text_are_reported_where_they_stand() -> None:
    with pytest.raises(BrokenDocument) as caught:
        decoded(b'{\n "a": "\xff"}')
    assert (caught.value.line, caught.value.column) == (2, 8)
    assert "UTF-8" in caught.value.hint


def test_a_file_that_is_far_too_large_is_not_parsed() -> None:
    with pytest.raises(BrokenDocument, match=str(LARGEST)):
        decoded(b" " * (LARGEST + 1))
