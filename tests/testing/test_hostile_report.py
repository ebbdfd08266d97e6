"""What is told of hostile programs at the end of a run, and how what they take is seen."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from toolcrib.testing.gauged import Taken, gauged
from toolcrib.testing.hostile_report import record, told

ROOT = Path(__file__).resolve().parents[2]
MIB = 1024 * 1024
STEPS = """
import sys
before = bytearray(60 * 2**20)
del before
print('begun', flush=True)
for line in sys.stdin:
    held = bytearray(int(line))
    del held
    print('taken', flush=True)
"""


def report(language: str, name: str, taken: Taken, seconds: float, **others: Any) -> Any:
    properties: list[tuple[str, object]] = [("other", 1)]
    record(lambda key, value: properties.append((key, value)), language, name, taken, seconds)
    return SimpleNamespace(when="call", passed=True, user_properties=properties, **others)


def test_a_line_for_each_language_has_the_count_and_whoever_took_most() -> None:
    reports: list[Any] = [
        report("python", "joins", Taken(90 * MIB, 1 * MIB), 0.2),
        report("python", "loops", Taken(10 * MIB, 9 * MIB), 1.26),
        report("deno", "clones", Taken(200 * MIB, 0), 0.5),
        SimpleNamespace(when="setup", passed=True, user_properties=[("hostile program", [])]),
        SimpleNamespace(when="call", passed=True, user_properties=[("other", 1)]),
        "a warning",
    ]
    reports[1].passed = False
    assert told(reports) == [
        (
            "deno: 1 of 1 contained; peak of a worker 200 MiB (clones), "
            "growth of the host 0 MiB (clones), longest 0.5 s (clones)"
        ),
        (
            "python: 1 of 2 contained; peak of a worker 90 MiB (joins), "
            "growth of the host 9 MiB (loops), longest 1.3 s (loops)"
        ),
    ]


def test_without_hostile_programs_nothing_is_told() -> None:
    assert told(["a warning", SimpleNamespace(when="call", passed=True, user_properties=[])]) == []


def test_counts_and_peaks_are_printed_also_where_several_processes_share_the_tests() -> None:
    file = "tests/hostile/test_contained_programs.py"
    options = ["-q", "-n2", "-k", "reads_a_file", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, file],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    lines = [line for line in done.stdout.splitlines() if " contained; peak of a worker " in line]
    assert [line.partition(" contained")[0] for line in lines] == [
        "python: 1 of 1",
        "typescript: 1 of 1",
    ], done.stdout


@contextmanager
def worker(tmp_path: Path) -> Generator["subprocess.Popen[str]"]:
    """A process that is called as a worker is, has taken 60 MiB, and takes what it is told to."""
    program = tmp_path / "monty"
    program.symlink_to(sys.executable)
    with subprocess.Popen(
        [program, "-c", STEPS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            yield process
        finally:
            process.kill()


def take(process: "subprocess.Popen[str]", size: int) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{size}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "taken\n"


def test_what_a_worker_took_between_two_looks_counts_and_what_it_took_before_does_not(
    tmp_path: Path,
) -> None:
    with worker(tmp_path) as process:
        with gauged(60) as little:
            take(process, 1 * MIB)
        with gauged(60) as much:
            take(process, 100 * MIB)
        assert 0 < little.peak < 50 * MIB
        assert 100 * MIB <= much.peak < 150 * MIB
        assert (little.looks, much.looks) == (1, 1)


def test_growth_of_this_process_counts_and_other_children_do_not(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.symlink_to(sys.executable)
    with gauged() as taken:
        held = bytearray(os.urandom(1) * 40 * MIB)
        code = "x = bytearray(80 * 2**20)"
        subprocess.run([other, "-c", code], check=True, timeout=60)
    assert len(held) == 40 * MIB
    assert taken.host >= 35 * MIB
    assert (taken.peak, taken.looks) == (0, 0)
