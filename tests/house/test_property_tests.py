"""Property tests try the same examples each time, and never fail because a machine is busy."""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def own_settings(module: ModuleType) -> Iterator[tuple[str, settings]]:
    """The settings of each property and each state machine that stands in a module."""
    members: dict[str, object] = vars(module)
    for name, value in members.items():
        for where in ("settings", "_hypothesis_internal_use_settings"):
            if isinstance(found := getattr(value, where, None), settings):
                yield f"{module.__name__}.{name}", found


@pytest.fixture(autouse=True)
def profile_as_it_was() -> Iterator[None]:
    before = settings.get_current_profile_name()
    yield
    settings.load_profile(before)


@pytest.fixture
def module_of_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[str]]:
    """Loads a module of ours that is new, and returns the words in it."""

    def load() -> set[str]:
        words = {f"word {number}" for number in range(1_000)}
        (tmp_path / "of_words.py").write_text(f"WORDS = {words!r}\n")
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        monkeypatch.setitem(sys.modules, "of_words", import_module("of_words"))
        return words

    return load


def texts_tried() -> list[str]:
    tried: list[str] = []

    @settings(max_examples=300)
    @given(st.text(max_size=20))
    def property_of_text(text: str) -> None:
        tried.append(text)

    property_of_text()
    return tried


def test_each_property_tries_the_same_examples_however_busy_the_machine(
    request: pytest.FixtureRequest,
) -> None:
    modules = [it.module for it in request.session.items if isinstance(it, pytest.Function)]
    found = dict(its for module in modules if module for its in own_settings(module))
    sought = settings.get_current_profile_name() == "seek"
    slow = HealthCheck.too_slow
    assert [name for name, its in found.items() if its.derandomize == sought] == []
    assert [name for name, its in found.items() if its.deadline is not None] == []
    assert [name for name, its in found.items() if slow not in its.suppress_health_check] == []


def test_examples_do_not_depend_on_the_modules_that_are_loaded(
    module_of_words: Callable[[], set[str]],
) -> None:
    settings.load_profile("house")
    before = texts_tried()
    assert module_of_words().isdisjoint(before)
    assert texts_tried() == before


def test_where_new_examples_are_sought_words_of_ours_are_among_them(
    module_of_words: Callable[[], set[str]],
) -> None:
    words = module_of_words()
    settings.load_profile("seek")
    assert any(not words.isdisjoint(texts_tried()) for _ in range(20)), "they are drawn by chance"
