"""Every order of events within bounds: the promises of the heart, state by state.

`TOOLCRIB_EXPLORE=long` adds the long runs; `bench/explore.py` runs any of them by name.
"""

import os
import sys

import pytest

from toolcrib.testing.orders.bounds import Bounds, Fault
from toolcrib.testing.orders.examined import Examined, examine
from toolcrib.testing.orders.runs import LONG, QUICK

RUNS = (*QUICK, *LONG) if os.environ.get("TOOLCRIB_EXPLORE") == "long" else QUICK
ENOUGH = 1_000_000
"""Different states that all runs together must have seen."""

seen: list[Examined] = []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("bounds", RUNS, ids=lambda bounds: bounds.name.replace(" ", "-"))
def test_every_order_keeps_the_promises_and_every_calm_converges(bounds: Bounds) -> None:
    examined = examine(bounds)
    seen.append(examined)
    assert not examined.broken, "\n".join([examined.broken, *examined.story])
    assert examined.explored.exhausted


@pytest.mark.slow
def test_the_runs_together_have_seen_a_million_states(capsys: pytest.CaptureFixture[str]) -> None:
    if len(seen) < len(RUNS):
        pytest.skip("only some of the runs were selected")
    states = sum(examined.explored.states for examined in seen)
    turns = sum(examined.explored.edges for examined in seen)
    calm = sum(examined.settled.states for examined in seen)
    seconds = sum(examined.explored.seconds + examined.settled.seconds for examined in seen)
    figures = [str(examined) for examined in seen]
    figures.append(
        f"{len(seen)} runs, each exhausted: {states:,} states, {turns:,} turns;"
        f" {calm:,} states of calm; {seconds:.0f} s"
    )
    with capsys.disabled():
        sys.stdout.write("\n" + "".join(f"  {line}\n" for line in figures))
    assert states >= ENOUGH


def test_every_kind_of_fault_is_in_some_run() -> None:
    met = {fault for bounds in (*QUICK, *LONG) for fault, times in bounds.faults.items() if times}
    assert met == set(Fault)


def test_every_run_has_a_name_of_its_own() -> None:
    names = [bounds.name for bounds in (*QUICK, *LONG)]
    assert len(set(names)) == len(names)
