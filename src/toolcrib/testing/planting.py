"""Modules made anew with a fault in one of them: whether a test notices that a rule is gone."""

import importlib.util
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest


def plant(
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    modules: Iterable[str],
    fault: Mapping[str, str] | None,
) -> None:
    """Take the place of some modules of a package, until the monkeypatch is undone.

    Args:
        monkeypatch: Puts them back.
        package: Its dotted name.
        modules: Their names in it, in the order in which they import each other.
        fault: In which `module` the text `old`, which stands there once, becomes `new`; None: they
            are as they were.
    """
    home = import_module(package)
    for name in modules:
        path = Path(str(home.__file__)).with_name(f"{name}.py")
        source = path.read_text(encoding="utf-8")
        if fault is not None and fault["module"] == name:
            assert source.count(fault["old"]) == 1, fault["name"]  # noqa: S101 - a test's own fault
            source = source.replace(fault["old"], fault["new"])
        spec = importlib.util.spec_from_file_location(f"{package}.{name}", path)
        if spec is None:
            raise ValueError(f"{path} is no module")
        module: ModuleType = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, f"{package}.{name}", module)
        monkeypatch.setattr(home, name, module, raising=False)
        exec(compile(source, str(path), "exec"), module.__dict__)  # noqa: S102 - it is our source
