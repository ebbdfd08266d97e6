"""Imports of what is not known now, found in the text of a TypeScript program; nothing else is."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.program.tokens import lines, tokens
from toolcrib.core.program.typescript import check_typescript, imported

AWAY = {"far": "the tools of the server `far` cannot be read now: no route"}


def told(source: str) -> list[str]:
    checked = check_typescript(source, 64 * 1024, away=AWAY)
    assert checked.source == source
    return [problem.told() for problem in checked.problems]


IMPORTS = [
    'import { a } from "far"',
    "import 'far'",
    'import * as y from "far";',
    'import d, { b as c } from\n "far"',
    'import type { T } from "far"',
    'import { type T, a } from "far"',
    'import {\n a, // c "y"\n b } /* from "z" */ from "far"',
    'import{a}from"far"',
    'import x, * as y from "far"',
    'import { from } from "far"',
    'import from from "far"',
    'import { "a b" as c } from "far"',
    'const a = await import("far")',
    'const a = await import("far", {})',
    'f(() => { return import ( "far" ) })',
    'f(`${await import("far")}`)',
    '#!deno\nimport "far"',
    '\ufeffimport "far"',
    'a();import "far"',
    'function f() {} import "far"',
    '/* \n */import "far"',
    'let s = "a\\\n b";\nimport "far"',
    'const r = /["\'`[/]]/;\nimport "far"',
    'const r = /[/"]\\//g;\nimport "far"',
    'return /"/\nimport "far"',
    'if (a) /"/.test(b)\nimport "far"',
    'while (a(1)) /`/.test(b)\nimport "far"',
    'a.return / 2; "/"\nimport "far"',
    'a / b / c; "/"\nimport "far"',
    "x = (a + 1) / 2; // '\nimport 'far'",
    "x = a[1] / 2; // '\nimport 'far'",
    "x = 'a' / 2; // '\nimport 'far'",
    'const t = `a ${ {b: `c${1}`}.b } "`\nimport "far"',
    'const t = `\\` \\${ $ {`\nimport "far"',
    'class A { #x = 1; @d() y }\nimport "far"',
    'o.if(1) / 2; "/"\nimport "far"',
]


@pytest.mark.parametrize("source", IMPORTS)
def test_an_import_is_refused_with_the_reason(source: str) -> None:
    (line,) = told(source)
    assert line.startswith(f"script.ts:{lines(source).index(_line_of(source)) + 1}: {AWAY['far']}")


def _line_of(source: str) -> str:
    """The line with the import that counts: the last one that begins one."""
    return [line for line in lines(source) if "import" in line][-1]


GOOD = [
    '// import "far"',
    '/* import "far" */',
    '/*\nimport "far"\n*/',
    "\"import 'far'\"",
    '`import "far"`',
    '`\nimport "far"\n`',
    '`${a}\nimport "far"\n`',
    '`\\`\nimport "far"\n`',
    '`$\nimport "far"\n`',
    '`${"}"}\nimport "far"\n`',
    '`${ {a: 1}.a }\nimport "far"\n`',
    'const r = /import "far"/',
    'const r = /[/]import("far")/',
    'if (m) /;import "far"/.test(s)',
    'f(/import("far")/)',
    'o.import("far")',
    'o?.import("far")',
    'o.import\nfrom; "far"',
    'export { a } from "far"',
    'import x = require("far")',
    'import "f\\u0061r"',
    'import("f\\u0061r")',
    'const o = { import: "far" }',
    "import(`far`)",
    'import(n + "far")',
    'import("far" + n)',
    'import("far" as string)',
    'import.meta.url; "far"',
    'import "near"; "far"',
    'import { far } from "near"; far("far")',
    'let s = "\\\nimport \\"far\\" "',
    'f({\nimport: 1 }, "far")',
    'import { a } from "near"\nconst from = "far"',
    "import 'Far'",
    'x = y import "far"',
]
UNCLEAR = [
    'const a = "\nimport "far"',
    "const a = '\nimport 'far'",
    'const a = `\nimport "far"',
    '/*\nimport "far"',
    'const a = b!\n/ 2; /"/\nimport "far"',
    '}\nimport "far"',
    '(]\nimport "far"',
    'x = {} / 2; "/"\nimport "far"',
    'x++ / 2; "/"\nimport "far"',
    'for (x of / 2) {}\nimport "far"',
    'x = /\nimport "far"',
]


@pytest.mark.parametrize("source", GOOD)
def test_what_is_no_import_of_it_is_left_alone(source: str) -> None:
    assert told(source) == []


@pytest.mark.parametrize("source", UNCLEAR)
def test_behind_what_is_not_clear_nothing_is_refused(source: str) -> None:
    assert told(source) == []
    assert told(f'import "far"\n{source}') == [f'script.ts:1: {AWAY["far"]}\n    import "far"']


def test_each_import_is_told_once_and_of_many_the_first_ones() -> None:
    both = 'import { a } from "far"; import { b } from "far"\nconst c = await import("far")'
    assert [it.partition(":")[2][0] for it in told(both)] == ["1", "2"]
    assert len(told('import "far"\n' * 50)) == 10


def test_what_is_not_away_is_not_looked_for() -> None:
    source = 'import "near"\nimport "far"'
    assert list(imported(source)) == [(1, "near"), (2, "far")]
    assert check_typescript(source, 1_000).problems == ()


def test_lines_are_counted_as_a_runtime_counts_them() -> None:
    source = '"a\\\r\nb"\r\n`\n${1}\u2028`\r/*\n*/\nimport "far"'
    (line,) = told(source)
    assert line == f'script.ts:8: {AWAY["far"]}\n    import "far"'


def test_a_program_that_is_too_large_is_told_first() -> None:
    (problem,) = check_typescript('import "far"', 5, away=AWAY).problems
    assert "code.source_bytes allows 5" in problem.told()


PIECES = st.one_of(
    st.sampled_from(
        ["a", "f(x)", "x = a / b", "[1, 2]", "if (a) b()", "1.5 / 2", "a?.b", "`t${a}u`", "/r[/]/g"]
    ),
    st.text(st.characters(codec="utf-8"), max_size=20).map(json.dumps),
    st.text("abc'\"`/\\ import", max_size=20).map(lambda it: f"// {it}"),
    st.text("abc'\"`\n import", max_size=20).map(lambda it: f"/* {it} */"),
)


@given(st.lists(PIECES, max_size=6), st.lists(PIECES, max_size=3))
def test_an_import_is_found_wherever_it_stands(before: list[str], after: list[str]) -> None:
    source = "\n".join([*(f"{each}\n;" for each in before), 'import { a } from "far";', *after])
    assert "far" in [module for _, module in imported(source)]


@given(st.text("abc'\"`/\\${}() \nimport far;", max_size=60))
def test_nothing_in_a_string_or_a_comment_is_an_import(text: str) -> None:
    assert list(imported(json.dumps(text))) == []
    assert list(imported(f"/* {text.replace('*/', '')} */")) == []
    safe = text.replace("\\", "").replace("`", "").replace("${", "")
    assert list(imported(f"`{safe}`")) == []


@given(st.text("ab'\"`/\\${}()[]*.!+; \r\n\u2028import far#@é", max_size=80))
def test_any_text_can_be_taken_apart_in_order(source: str) -> None:
    found = list(tokens(source))
    assert all(one.line <= other.line for one, other in pairwise(found))
    assert all(1 <= token.line <= len(lines(source)) for token in found)
    for token in found:
        assert token.text == "${" or token.text.strip() in source
