"""TOML with places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.config.document import BrokenDocument, Node
from toolcrib.config.toml_document import LONGEST_STATEMENT, parse

TEXT = '''# comment
top = 1

[servers."a.b".waits] # dotted
list_wait = 2
text = """
[not.a.header]
x = 1"""

[servers.c]
tools.deny = [
  "x*", # one
  "[y]",
]
tools.allow = ["z"]
env = { A = "1", B = "2" }
'''


def lines_of(node: Node) -> dict[str, int]:
    found = {node.path: node.line}
    members = node.value if isinstance(node.value, list) else node.table.values()
    for member in members:
        found |= lines_of(member)
    return found


def test_every_value_knows_its_line() -> None:
    assert lines_of(parse(TEXT)) == {
        "": 1,
        "top": 2,
        "servers": 4,
        'servers["a.b"]': 4,
        'servers["a.b"].waits': 4,
        'servers["a.b"].waits.list_wait': 5,
        'servers["a.b"].waits.text': 6,
        "servers.c": 10,
        "servers.c.tools": 11,
        "servers.c.tools.deny": 11,
        "servers.c.tools.deny[0]": 11,
        "servers.c.tools.deny[1]": 11,
        "servers.c.tools.allow": 15,
        "servers.c.tools.allow[0]": 15,
        "servers.c.env": 16,
        "servers.c.env.A": 16,
        "servers.c.env.B": 16,
    }


def test_line_ends_of_windows_count_once() -> None:
    root = parse("a = 1\r\n[b]\r\nc = 2\r\n")
    assert lines_of(root) == {"": 1, "a": 1, "b": 2, "b.c": 3}


def test_dates_become_text_and_numbers_stay_numbers() -> None:
    root = parse("d = 2026-07-28\nt = 07:30:00\nn = 1.5\nb = true")
    assert {key: node.value for key, node in root.table.items()} == {
        "d": "2026-07-28",
        "t": "07:30:00",
        "n": 1.5,
        "b": True,
    }


def test_after_a_very_long_statement_values_stand_where_their_table_stands() -> None:
    long = "x = [\n" + "1,\n" * (LONGEST_STATEMENT + 5) + "]\ny = 1\n"
    assert parse(long).table["y"].line == 1


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a = 1\nb = \n", 2, 5),
        ("a = 1\na = 2\n", 2, 6),
        ("[a]\n[a]\n", 2, 3),
        ('a = "x', 1, 7),
        ("a = [1,\n2", 2, 1),
    ],
)
def test_broken_toml_says_where(text: str, line: int, column: int) -> None:
    with pytest.raises(BrokenDocument) as caught:
        parse(text)
    assert caught.value.line == line
    assert "no TOML" in caught.value.message
    assert "toml.io" in caught.value.hint
    assert column  # tomllib counts columns in its own way; lines are what people need


def test_toml_that_is_nested_too_deep_is_broken_and_not_a_crash() -> None:
    with pytest.raises(BrokenDocument, match=r"nested|no TOML"):
        parse("a = " + "[" * 100_000)


def outcome(text: str) -> BrokenDocument | Node:
    try:
        return parse(text)
    except BrokenDocument as error:
        return error


@given(st.text(alphabet="[]=\"'#ab.\n {},1", max_size=40))
def test_garbage_is_a_document_or_broken(text: str) -> None:
    assert outcome(text).line >= 1
