"""The contract suite of a `SnapshotStore`: one class whose tests every store must pass.

Subclass `StoreContract` and give each test a `StoreRig` for your store; with pytest that is a
fixture called `rig`, in any other runner an argument. The tests are the counter-examples of
REPLICAS section 6, the rules of its section 5, and what a store remembers. `BusContract` does the
same for its `InvalidationBus`, `toolcrib.testing.entry_contract` for an `EntryStore`, and
`toolcrib.testing.store_differential` compares a store with the pure operations, step by step.
"""

from toolcrib.testing.bus_contract import BusContract
from toolcrib.testing.store_losses import StoreLosses
from toolcrib.testing.store_memory import StoreMemory
from toolcrib.testing.store_races import StoreRaces
from toolcrib.testing.store_rig import Replica, SteppedClock, StoreRig
from toolcrib.testing.store_rules import StoreRules

__all__ = ["BusContract", "Replica", "SteppedClock", "StoreContract", "StoreRig"]


class StoreContract(StoreRaces, StoreLosses, StoreRules, StoreMemory):
    """Every test of a store."""
