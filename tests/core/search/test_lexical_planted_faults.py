"""Each rule of the search by words is held by a test: with it removed, the named test fails."""

import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

from toolcrib.testing.planting import plant

HERE = Path(__file__).resolve().parent
MODULES = (
    "words",
    "best",
    "short_names",
    "lexicon",
    "weights",
    "rarity",
    "segment",
    "sums",
    "scoring",
    "term",
    "view",
    "walks",
    "merged",
    "diversity",
)
"""In the order in which they import each other."""

FAULTS: list[dict[str, str]] = tomllib.loads(
    (HERE / "search_faults.toml").read_text(encoding="utf-8")
)["fault"]


def planted_tests(monkeypatch: pytest.MonkeyPatch, fault: dict[str, str] | None) -> dict[str, Any]:
    """The tests of `test_lexical_search.py` over fresh modules, one of them with the fault."""
    plant(monkeypatch, "toolcrib.core.search", MODULES, fault)
    return runpy.run_path(str(HERE / "test_lexical_search.py"))


def test_the_faults_have_names_of_their_own_and_are_at_least_twenty() -> None:
    assert len({fault["name"] for fault in FAULTS}) == len(FAULTS) >= 20


def test_without_a_fault_all_named_tests_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = planted_tests(monkeypatch, None)
    for name in sorted({fault["caught_by"] for fault in FAULTS}):
        tests[name]()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault["name"])
def test_a_planted_fault_is_caught_by_the_test_that_is_named_for_it(
    fault: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    caught = planted_tests(monkeypatch, fault)[fault["caught_by"]]
    with pytest.raises((AssertionError, IndexError)):
        caught()
