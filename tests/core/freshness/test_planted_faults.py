"""Each rule of the heart is held by a test: with the rule removed, the named tests fail."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from faults import Fault

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[2] / "src"
FAULTS = cast("tuple[Fault, ...]", runpy.run_path(str(HERE / "faults.py"))["FAULTS"])

SEQUENCES = {*range(1, 19), 20, 21, *range(24, 30)}
"""The sequences that concern the heart: 19, 22, 23 and 30 are promises of other rooms."""

RELATIVES = {
    "epochlate",
    "lenient-revoke-failover",
    "localgen",
    "losesheard",
    "noepoch",
    "nodirtylimit",
    "nofence",
    "noflush",
    "nohi",
    "noinc-empty",
    "noinc-failover",
    "noinc-fences",
    "nolookonreconnect",
    "noreinvalidate-split",
    "norevguard",
    "quietstart",
    "revokekeepswalks",
    "stormputs",
    "weakfence",
}
"""The naive relatives of the protocol between replicas. That a hint is believed cannot be planted:
a hint has no content to believe."""

CLASSICS = {
    "TTL of the last page only",
    "failure drops the snapshot",
    "first page published",
    "invalidation ignored",
    "no dirty re-check",
    "no single-flight",
    "reply of an abandoned walk accepted",
}


def cited(pattern: str) -> set[str]:
    return {found for fault in FAULTS for found in re.findall(pattern, fault.rule)}


@pytest.fixture(scope="session")
def outcomes() -> dict[str, dict[str, list[str] | int]]:
    """What came of the named tests, by the fault that was planted."""
    run = subprocess.run(
        [sys.executable, str(HERE / "planting.py")],
        capture_output=True,
        check=False,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_the_table_covers_every_sequence_and_every_naive_relative() -> None:
    assert {int(number) for number in cited(r"sequence (\d+)")} == SEQUENCES
    assert cited(r"REPLICAS: ([\w-]+)") == RELATIVES
    assert cited(r"STYLE: ([^;)]+)") == CLASSICS
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_fits_its_module_and_names_its_tests(fault: "Fault") -> None:
    path = SOURCE / f"{fault.module.replace('.', '/')}.py"
    compile(fault.planted(path.read_text(encoding="utf-8")), str(path), "exec")
    assert 1 <= len(fault.caught_by) <= 3


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_without_a_fault_all_named_tests_pass(
    outcomes: dict[str, dict[str, list[str] | int]],
) -> None:
    assert outcomes["none"]["code"] == pytest.ExitCode.OK
    named = {node for fault in FAULTS for node in fault.caught_by}
    assert outcomes["none"]["ran"] == sorted(named)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught_by_each_test_that_is_named_for_it(
    fault: "Fault", outcomes: dict[str, dict[str, list[str] | int]]
) -> None:
    outcome = outcomes[fault.name]
    assert outcome["code"] == pytest.ExitCode.TESTS_FAILED, fault.rule
    assert outcome["failed"] == sorted(fault.caught_by), fault.rule


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_number_of_faults_that_are_caught_is_told(
    outcomes: dict[str, dict[str, list[str] | int]], capsys: pytest.CaptureFixture[str]
) -> None:
    caught = [fault for fault in FAULTS if outcomes[fault.name]["failed"]]
    with capsys.disabled():
        print(f"\n{len(caught)} of {len(FAULTS)} planted faults caught")  # noqa: T201
    assert len(caught) == len(FAULTS)
