"""Each rule of the search by words is held by a test: with it removed, the named test fails."""

import importlib.util
import runpy
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import toolcrib.core.search

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[2] / "src" / "toolcrib" / "core" / "search"
MODULES = (
    "words",
    "lexicon",
    "weights",
    "segment",
    "scoring",
    "merged",
    "diversity",
)
"""In the order in which they import each other."""

FAULTS: list[dict[str, str]] = tomllib.loads(
    (HERE / "search_faults.toml").read_text(encoding="utf-8")
)["fault"]


def planted_tests(monkeypatch: pytest.MonkeyPatch, fault: dict[str, str] | None) -> dict[str, Any]:
    """The tests of `test_lexical_search.py` over fresh modules, one of them with the fault."""
    for name in MODULES:
        path = SOURCE / f"{name}.py"
        source = path.read_text(encoding="utf-8")
        if fault is not None and fault["module"] == name:
            assert source.count(fault["old"]) == 1, fault["name"]
            source = source.replace(fault["old"], fault["new"])
        spec = importlib.util.spec_from_file_location(f"toolcrib.core.search.{name}", path)
        assert spec is not None
        module: ModuleType = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, f"toolcrib.core.search.{name}", module)
        monkeypatch.setattr(toolcrib.core.search, name, module, raising=False)
        exec(compile(source, str(path), "exec"), module.__dict__)  # noqa: S102 - it is our source
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
