"""What a program comes to that ends with an assignment, and programs in a newer grammar."""

import ast
from pathlib import Path

import pytest

from toolcrib.core.program.newer import TYPE_STATEMENT, older, parsed
from toolcrib.core.program.python import Bounds, check_python

BOUNDS = Bounds(64 * 1024, 200)


@pytest.mark.parametrize(
    ("source", "added"),
    [
        ("x = 1", "x"),
        ("x = 1\n\n# done\n", "x"),
        ("x: int = 1", "x"),
        ("x += 1", "x"),
        ("x = '''a\n'''", "x"),
        ("x, y = 1, 2", "(x, y)"),
        ("[x, *y] = 1, 2", "(x, y)"),
        ("(x, (y, z)) = f()", "(x, (y, z))"),
        ("x = y = 3", "x"),
        ("a.b = y = 3", "y"),
        ("d = {}\nd['a'] = 1", "d"),
        ("d['a'][0] = 1", "d"),
        ("if a:\n  return 1\nx = 1", "x"),
        ("def f():\n  return 1\nx = f()", "x"),
        ("if a:\n  x = 1\nelse:\n  x = 2", "x"),
        ("if a:\n  x = 1\nelif b:\n  x = 2\nelse:\n  x = 3", "x"),
        ("x = 0\nif a:\n  x = 1", "x"),
        ("x = 0\nif a:\n  y = 1\n  x = y", "x"),
        ("x = 0\nif a:\n  pass\nelse:\n  x += 1", "x"),
        ("if a:\n  return 1\nelse:\n  x = 2", "x"),
        ("if a:\n  x, y = 1, 2\nelse:\n  x, y = 3, 4", "(x, y)"),
        ("with a:\n  x = 1", "x"),
        ("try:\n  x = 1\nexcept E:\n  x = 2", "x"),
        ("try:\n  x = 1\nexcept E:\n  raise", "x"),
        ("try:\n  f()\nexcept E:\n  x = 1\nelse:\n  x = 2", "x"),
        ("x = 0\ntry:\n  x = 1\nexcept E:\n  pass", "x"),
        ("match a:\n  case 1:\n    x = 1\n  case _:\n    x = 2", "x"),
        ("x = 0\nmatch a:\n  case 1:\n    x = 1", "x"),
        ("x", None),
        ("x = 1\nprint(x)", None),
        ("x.y = 1", None),
        ("f().x, y = 1, 2", None),
        ("f()['a'] = 1", None),
        ("x: int", None),
        ("if a:\n  x = 1", None),
        ("if a:\n  x = 1\nelse:\n  y = 1", None),
        ("x = 0\nif a:\n  x = 1\nelse:\n  print(x)", None),
        ("if a:\n  return 1\nelse:\n  return 2", None),
        ("try:\n  x = 1\nexcept E:\n  pass", None),
        ("match a:\n  case 1:\n    x = 1", None),
        ("for x in y:\n  z = x", None),
        ("while a:\n  x = 1", None),
    ],
)
def test_the_value_of_a_program_that_ends_with_an_assignment_is_what_it_assigned(
    source: str, added: str | None
) -> None:
    checked = check_python(source, BOUNDS)
    if added is None:
        assert checked.source == source
        return
    assert checked.source.startswith(f"{source.rstrip()}\n")
    assert ast.unparse(ast.parse(checked.source).body[-1]) == added


NEWER = [
    'r = {"a": 1}\nx = f"{r["a"]}"',
    "x = f\"{'\\n'.join(y)}\"",
    'x = f"{f"{f"{1}"}"!r:>{w["a"]}} {a=} {{}} {b:%Y}"',
    'x = "a" f"{y["b"]}" \'c\'',
    'x = f"{y != "a"}" if y == "b" else f""',
    'x = rf"\\d{y["a"]}{{"',
    'x = f"\\N{DASH}{y["a"]}"',
    'f"""\n{\n1 # a } in a comment\n}\n"""\nx = f"{y["a"]}"',
    "def f[T: (int, str)](y: T) -> T:\n  return y\nx = f(1)",
    "class A[\n  T\n]:\n  pass\nx = A()",
    "try:\n  f()\nexcept A, b.C:\n  raise\nx = 1",
    'type = 1\ntype == 2\ntype.a\nprint(type)\nx = f"{y["a"]}"',
]


@pytest.mark.parametrize("source", NEWER)
def test_a_program_in_a_newer_grammar_has_its_value_and_is_looked_through(source: str) -> None:
    checked = check_python(f"import zzz\n{source}", BOUNDS, modules={"github": ()})
    assert [problem.line for problem in checked.problems] == [1]
    assert checked.source == f"import zzz\n{source}\nx\n"


def test_what_is_lacking_is_found_within_an_f_string_of_a_newer_grammar_in_its_line() -> None:
    source = 'a = 1\nx = f"""\n{r["a"]}\n{next(y for y in z)}"""'
    [problem] = check_python(source, BOUNDS, lacking=["next(generator)"]).problems
    assert (problem.line, problem.kind) == (4, "unsupported")


@pytest.mark.parametrize("source", ["type X = int\nf()", "a = 1; type X[T] = list[T]\nf()"])
def test_a_type_statement_is_told_where_it_is_lacking(source: str) -> None:
    [problem] = check_python(source, BOUNDS, lacking=[TYPE_STATEMENT]).problems
    assert problem.message.startswith("this Python has no type statement: ")
    assert problem.line == 1
    assert check_python(source, BOUNDS).problems == ()


@pytest.mark.parametrize("source", ['f"' + "{f'" * 20_000, 'f"{"' * 15_000, "def f[" * 9_000])
def test_a_text_without_an_end_is_left_to_the_runtime_or_is_too_deep(source: str) -> None:
    assert len(check_python(source, BOUNDS).problems) <= 1


def test_what_is_written_in_both_grammars_is_the_same_in_the_older_one() -> None:
    """Every file of the package, as a text that has to keep its lines."""
    for path in Path(check_python.__code__.co_filename).parents[2].rglob("*.py"):
        source = path.read_text()
        written = ast.parse(older(source)[0])
        tree, aliases = parsed(source)
        assert [node.lineno for node in written.body] == [node.lineno for node in tree.body]
        assert not aliases
