"""Run tests against a heart with one fault in it; each fault gets a process of its own.

As a program it reads names of faults, a line each, and answers each with a line of JSON: what came
of the tests that are named to catch it. The name `none` runs all named tests against the heart as
it is.
"""

import json
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

import hypothesis
import pytest
import trio.testing
from faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[3]
NONE = "none"
PRELOADED = (hypothesis, pytest, trio.testing)
"""Foreign modules that the tests import: loaded once, before the processes part."""


class _Planted(SourceFileLoader):
    """Compiles the source of a module with the fault in it, and never takes cached bytecode."""

    def __init__(self, path: str, fault: Fault) -> None:
        super().__init__(fault.module, path)
        self._fault = fault

    def get_code(self, fullname: str) -> CodeType:
        source = self._fault.planted(Path(self.path).read_text(encoding="utf-8"))
        return compile(source, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Finds the one faulty module; all others are found as usual."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target)
        if fullname != self._fault.module or spec is None or spec.origin is None:
            return None
        spec.loader = _Planted(spec.origin, self._fault)
        return spec


class _Recorder:
    """Notes which tests ran, and which failed in their own body."""

    def __init__(self) -> None:
        self.ran: set[str] = set()
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the outcome under the test's name without its parameters."""
        if report.when == "call":
            name = report.nodeid.partition("[")[0].rpartition("/")[2]
            self.ran.add(name)
            if report.failed:
                self.failed.add(name)


def _run(fault: Fault | None, nodes: Sequence[str]) -> dict[str, object]:
    if fault is not None:
        sys.meta_path.insert(0, _Finder(fault))
    recorder = _Recorder()
    ids = [str(ROOT / "tests/core/freshness" / node) for node in nodes]
    options = ["-q", "-p", "no:cacheprovider", "--tb", "no", "--no-summary"]
    options += [] if fault is None else ["--timeout", "10"]  # an endless loop is caught, too
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of PRELOADED
    code = pytest.main([*options, *ids], plugins=[recorder])
    return {
        "code": int(code),
        "ran": sorted(recorder.ran),
        "failed": sorted(recorder.failed),
    }


def _in_a_process(fault: Fault | None, nodes: Sequence[str]) -> str:
    """Return what `_run` does, as JSON; nothing, where the process ended before it was done."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as answer:
            said = answer.read()
        os.waitpid(child, 0)
        return said
    try:
        with Path(os.devnull).open("w", encoding="utf-8") as quiet:
            os.dup2(quiet.fileno(), 1)
            os.dup2(quiet.fileno(), 2)
        with os.fdopen(writing, "w", encoding="utf-8") as answer:
            answer.write(json.dumps(_run(fault, nodes)))
    finally:
        os._exit(0)


def main() -> None:
    """Plant each fault that is asked for, in turn."""
    os.chdir(ROOT)
    by_name: dict[str, Fault | None] = {fault.name: fault for fault in FAULTS}
    by_name[NONE] = None
    named = sorted({node for fault in FAULTS for node in fault.caught_by})
    for line in sys.stdin:
        name = line.strip()
        fault = by_name[name]
        said = _in_a_process(fault, named if fault is None else fault.caught_by)
        print(json.dumps({"name": name, **json.loads(said or "{}")}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
