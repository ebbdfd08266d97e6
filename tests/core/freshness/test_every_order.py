"""Every order of events within bounds: the promises of the heart, state by state.

`TOOLCRIB_EXPLORE=long` adds the long runs; `bench/explore.py` runs any of them by name.
"""

import os
from typing import Final

import pytest

from toolcrib.testing.orders.bounds import Bounds, Fault
from toolcrib.testing.orders.examined import examine
from toolcrib.testing.orders.runs import LONG, QUICK

RUNS = (*QUICK, *LONG) if os.environ.get("TOOLCRIB_EXPLORE") == "long" else QUICK
LARGE: Final = {
    "a doubled signal": 900_000,
    "two changes": 800_000,
    "a revocation": 430_000,
    "the ttl over": 430_000,
    "a revocation of ours": 260_000,
    "an expired lease": 240_000,
    "an empty store": 170_000,
    "a clock behind": 140_000,
    "a late run": 140_000,
    "with waits": 120_000,
    "a cold start": 110_000,
}
"""So many different states these runs see at least; together more than three million."""
SMALL: Final = 200
"""No run sees fewer."""


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("bounds", RUNS, ids=lambda bounds: bounds.name.replace(" ", "-"))
def test_every_order_keeps_the_promises_and_every_calm_converges(bounds: Bounds) -> None:
    examined = examine(bounds)
    assert not examined.broken, "\n".join([examined.broken, *examined.story])
    assert examined.explored.exhausted
    assert examined.explored.states >= LARGE.get(bounds.name, SMALL), str(examined)


def test_the_large_runs_are_among_those_that_are_made_each_time() -> None:
    assert LARGE.keys() <= {bounds.name for bounds in QUICK}


def test_every_kind_of_fault_is_in_some_run() -> None:
    met = {fault for bounds in (*QUICK, *LONG) for fault, times in bounds.faults.items() if times}
    assert met == set(Fault)


def test_every_run_has_a_name_of_its_own() -> None:
    names = [bounds.name for bounds in (*QUICK, *LONG)]
    assert len(set(names)) == len(names)
