"""Each rule of the heart is held by a test: with the rule removed, the named tests fail."""

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

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


Outcome = dict[str, Any]
"""The exit `code` of pytest, and which tests `ran` and `failed`."""


def cited(pattern: str) -> set[str]:
    return {found for fault in FAULTS for found in re.findall(pattern, fault.rule)}


@pytest.fixture(scope="module")
def outcome_of() -> Iterator[Callable[[str], Outcome]]:
    """What comes of the tests that are named for a fault, once it is planted."""
    with subprocess.Popen(
        [sys.executable, str(HERE / "planting.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as planter:

        def ask(name: str) -> Outcome:
            assert planter.stdin is not None
            assert planter.stdout is not None
            planter.stdin.write(f"{name}\n")
            planter.stdin.flush()
            outcome = json.loads(planter.stdout.readline())
            assert outcome["name"] == name
            return outcome

        yield ask


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
def test_without_a_fault_all_named_tests_pass(outcome_of: Callable[[str], Outcome]) -> None:
    outcome = outcome_of("none")
    assert outcome["code"] == pytest.ExitCode.OK
    named = {node for fault in FAULTS for node in fault.caught_by}
    assert outcome["ran"] == sorted(named)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught_by_each_test_that_is_named_for_it(
    fault: "Fault", outcome_of: Callable[[str], Outcome]
) -> None:
    outcome = outcome_of(fault.name)
    assert outcome["code"] == pytest.ExitCode.TESTS_FAILED, fault.rule
    assert outcome["failed"] == sorted(fault.caught_by), fault.rule
