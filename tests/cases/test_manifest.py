"""Every known fault and every sequence has tests, and every test that is named exists."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from runpy import run_path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
CASES: Mapping[str, tuple[str, tuple[str, ...]]] = run_path(str(HERE / "manifest.py"))["CASES"]
SEQUENCES: Mapping[int, tuple[str, tuple[str, ...]]] = run_path(str(HERE / "sequences.py"))[
    "SEQUENCES"
]
ENTRIES = {**CASES, **{f"sequence {number}": entry for number, entry in SEQUENCES.items()}}

GROUPS: Mapping[str, tuple[int, ...]] = {
    "PG": (1, 2, 3, 4, 8),
    "FR": (1, 2, 3, 5, 6, 7, 8, 10, 14),
    "RC": (1, 3, 5, 6),
    "NM": (1, 2, 4, 6, 7),
    "SC": (1, 2, 3, 5, 6, 8, 9, 10, 12, 13),
    "TN": (1, 2, 4, 8),
    "RS": (1, 2, 3, 6, 8, 10),
    "TT": (1, 2),
    "CF": (1, 2, 3, 6),
    "ST": (1, 2, 3, 5, 7),
    "GW": (1,),
    "PC": (1, 2),
    "MG": (1, 2, 4, 5),
    "SR": (1, 2, 4),
    "CM": (1, 3, 4, 6),
}
ASKED_FOR = [f"{group}{number}" for group, numbers in GROUPS.items() for number in numbers]
ELSEWHERE = {19}
"""Sequences that need identities."""


@cache
def found_in(path: Path) -> dict[str, tuple[str, ...]]:
    """The tests of a file, with the names of their markers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        test.name: tuple(ast.unparse(marker) for marker in test.decorator_list)
        for test in ast.walk(tree)
        if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef)
        and test.name.startswith("test_")
    }


def named() -> Iterator[tuple[str, str, str]]:
    """Entry, file and test of everything that the manifest names."""
    for entry, (_, tests) in ENTRIES.items():
        for node in tests:
            file, _, test = node.partition("::")
            yield entry, file, test


def markers(file: str, test: str) -> tuple[str, ...] | None:
    """The markers of a test; None if there is no such test."""
    path = ROOT / file
    return found_in(path).get(test) if path.is_file() else None


def test_every_known_fault_is_in_the_manifest_and_no_other() -> None:
    assert sorted(CASES) == sorted(ASKED_FOR)
    assert len(ASKED_FOR) == len(set(ASKED_FOR)) == 68


def test_every_sequence_is_in_the_manifest_but_those_of_later_work() -> None:
    assert sorted(SEQUENCES) == sorted(set(range(1, 31)) - ELSEWHERE)


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_is_one_sentence_and_has_tests(entry: str) -> None:
    sentence, tests = ENTRIES[entry]
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert tests
    assert len(set(tests)) == len(tests)


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_named_test_exists(entry: str) -> None:
    mine = [(file, test) for who, file, test in named() if who == entry]
    missing = [f"{file}::{test}" for file, test in mine if markers(file, test) is None]
    assert missing == []


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_has_a_test_that_must_pass_and_takes_more_than_one_input(entry: str) -> None:
    kept = [markers(file, test) or () for who, file, test in named() if who == entry]
    passing = [each for each in kept if not any("xfail" in one or "skip" in one for one in each)]
    assert passing
    several = [each for each in passing if any("parametrize" in m or "given" in m for m in each)]
    assert len(passing) > 1 or several


def test_every_test_beside_the_manifest_is_named_by_it() -> None:
    known = {(file, test) for _, file, test in named()}
    here = {
        (str(path.relative_to(ROOT)), test)
        for path in HERE.glob("test_*.py")
        if path != Path(__file__)
        for test in found_in(path)
    }
    assert sorted(here - known) == []


def test_no_two_entries_say_the_same() -> None:
    sentences = Counter(sentence for sentence, _ in ENTRIES.values())
    assert [sentence for sentence, times in sentences.items() if times > 1] == []
