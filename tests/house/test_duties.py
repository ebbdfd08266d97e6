"""The duties that MCP 2026-07-28 lays on a client and gateway have tests, marked by number."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

Number = int | str

DUTIES: Mapping[Number, str] = {
    1: "every page is read, an empty cursor is a cursor, walks are bounded and whole or nothing",
    2: "a refused cursor restarts from the first page, and two generations never mix",
    3: "a change signal beats a fresh ttl, and an older walk never replaces a newer one",
    4: "a thousand readers at expiry share one walk, and who goes away takes nothing with them",
    5: "a failing refresh leaves last good, with no time to live, and the next success heals",
    6: "one private page, server or filter makes the whole listing private",
    7: "the time to live is the smallest that remains, and falls with age",
    11: "a listing is the same over connections and replicas, whatever was called before",
    13: "answers of calls and of rounds are never kept as listings are",
    14: "polling has jitter and backs off",
    15: "every request to a server carries the envelope of its era, and headers agree with it",
    16: "a refused revision is renegotiated or told, and stays evidence of the modern era",
    17: "outages are no evidence of an era, silence is, and the verdict is tried again",
    18: "parameters are mirrored into headers from the newest snapshot, whoever listed it",
    19: "a tool with bad header marks costs itself alone, and is named",
    20: "a header that contradicts the body is refused, whatever state the catalogs are in",
    21: "a broken envelope, method or revision gets its own code and status",
    22: "a foreign origin is refused on every address",
    23: "an unknown result type is refused, and its absence counts as complete, reported where the "
    "revision demands it",
    24: "a stale call is refused with the new schema, and an unknown tool by its own code",
    25: "no reference is fetched, dialects are told apart, and checks are bounded",
    26: "results are checked for every tool, and structured content of any type survives",
    27: "one tool that is newer than its host does not cost the host its list",
    28: "exposed names are injective, bounded, and lead back to the original",
    29: "a subscription is acknowledged first, honestly, and ends with its result",
    32: "nobody is asked what they did not declare",
    33: "a person sees which server asks, no link opens unasked, and secret forms are refused",
    34: "a cancelled call is cancelled at its server, by its own id, and not answered",
    35: "progress stays with its caller, grows, and ends with the answer",
    36: "no code of a server leaves that would speak about our own hop",
    38: "tokens are not asked for without PKCE, a matching issuer and safe addresses",
    39: "a lost session, a lost stream and a missing stream are made good",
    "D1": "a share of the context window decides between all definitions and meta-tools",
    "D2": "there are levels of detail, hits stand by server, and a change is searched at once",
    "D3": "a search heeds hints and signals as a listing does",
    "D4": "definitions are appended or called through one that never changes, and no connection "
    "ends in the middle",
    "D5": "servers are enabled and disabled while a conversation goes on",
    "trap 1": "what one caller enables changes no listing, and is found by no other caller",
    "trap 40": "annotations, headers and arguments are those of the tool that call_tool names",
}
"""By number; those of progressive discovery, and traps of a gateway, under their names.

Those of tenants, replicas and code mode come with what they are about.
"""


@cache
def marked() -> Mapping[Number, tuple[str, ...]]:
    """By number: the tests that are marked with it."""
    found: dict[Number, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for test in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef):
                for number in _numbers(test):
                    found[number].append(f"{path.relative_to(ROOT)}::{test.name}")
    return {number: tuple(tests) for number, tests in found.items()}


def _numbers(test: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Number]:
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.duty":
            yield from map(ast.literal_eval, decorator.args)


@pytest.mark.parametrize("number", DUTIES)
def test_every_duty_has_a_test(number: Number) -> None:
    assert marked().get(number), DUTIES[number]


def test_every_marker_names_a_duty() -> None:
    assert marked().keys() - DUTIES.keys() == set()


def test_no_test_that_proves_a_duty_is_left_out() -> None:
    left_out = {"skip", "skipif", "xfail"}
    for tests in marked().values():
        for node in tests:
            file, _, name = node.partition("::")
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            found = next(
                each
                for each in ast.walk(tree)
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name == name
            )
            marks = {
                part.split(".")[-1].split("(")[0] for part in map(ast.unparse, found.decorator_list)
            }
            assert not marks & left_out, node
