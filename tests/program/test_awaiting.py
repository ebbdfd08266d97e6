"""Which calls of a program its text is not seen to wait for."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.program.awaiting import unawaited


def missed(source: str) -> set[str]:
    """The functions among `f` to `i` that nothing is seen to wait for."""
    return {name for name in unawaited(source).functions if name in {"f", "g", "h", "i"}}


WAITED = [
    "await f()",
    "x = await f()",
    "return [await f() for n in ns]",
    "await gather(f(), g(1), *[h(n) for n in ns])",
    "t = f()\nawait t",
    "ts = [f(n) for n in ns]\nawait gather(*ts)",
    "ts = []\nfor n in ns:\n    ts.append(f(n))\nfor t in ts:\n    await t",
    "ts = {}\nts['a'] = f()\nfor k, t in ts.items():\n    r[k] = await t",
    "ts = {n: f(n) for n in ns}\nr = {k: await t for k, t in ts.items()}",
    "a, b = f(), g()\nawait a\nawait b",
    "pair = (f(), g())\na, b = pair\nawait a",
    "if (t := f()):\n    await t",
    "ts: list = [f()]\nts += [g()]\nawait gather(*ts)",
    "x.jobs = [f()]\nawait gather(*x.jobs)",
    "async def main():\n    await f()\nasyncio.run(main())",
    "async def main():\n    pass\nasyncio.run(f())",
    "await map_limit(lambda n: f(n=n), ns, 3)",
    "do = lambda n: f(n=n)\nawait map_limit(do, ns, 3)",
    "def do(n):\n    return f(n)\nawait map_limit(do, ns, 3)",
    "print(await f(g()))",
]


@pytest.mark.parametrize("source", WAITED)
def test_what_is_waited_for_in_any_usual_way_is_not_missed(source: str) -> None:
    ast.parse(source)
    assert missed(source) == set()


MISSED = [
    ("f()", {"f"}),
    ("ts = [f(n) for n in ns]\nawait sleep(1)", {"f"}),
    ("t = f()\nawait g()", {"f"}),
    ("return {'a': [f()]}", {"f"}),
    ("async def main():\n    return f()\nawait main()", {"f"}),
    ("for n in ns:\n    f(n)\nawait g()", {"f"}),
    ("ts = []\nts.append(f())\nus = [g()]\nawait gather(*us)", {"f"}),
    ("def do(n):\n    f(n)\n    return g(n)\nawait do(1)", {"f"}),
]


@pytest.mark.parametrize(("source", "names"), MISSED)
def test_what_nothing_waits_for_is_seen(source: str, names: set[str]) -> None:
    ast.parse(source)
    assert missed(source) == names


def test_places_are_counted_in_characters_from_one() -> None:
    found = unawaited("é = '😀'; f(1)\nx = [\n    s.g(\n        2)]\n")
    assert found.places == {(1, 10), (3, 5)}
    assert found.functions == {"f": 1, "s.g": 3}


def test_the_first_line_of_a_function_counts() -> None:
    assert unawaited("x = 1\nf()\nf()\n").functions["f"] == 2


@pytest.mark.parametrize("source", ["", "x = (", "(" * 5_000, "x = '\x00'", "await", "\ud800()"])
def test_nothing_is_seen_in_what_is_no_program(source: str) -> None:
    assert unawaited(source).places == frozenset()


def test_a_long_chain_of_names_is_followed_to_its_end() -> None:
    links = "\n".join(f"a{at + 1} = a{at}" for at in range(20_000))
    assert missed(f"a0 = f()\nb = g()\n{links}\nawait a20000") == {"g"}


STATEMENTS = st.lists(st.sampled_from([*WAITED, *(source for source, _ in MISSED)]), max_size=4)


@given(STATEMENTS)
def test_every_place_is_that_of_a_call(parts: list[str]) -> None:
    source = "\n".join(parts)
    calls = {
        (it.lineno, it.col_offset + 1)
        for it in ast.walk(ast.parse(source))
        if isinstance(it, ast.Call)
    }
    found = unawaited(source)
    assert found.places <= calls
    assert set(found.functions.values()) <= {line for line, _ in found.places}
