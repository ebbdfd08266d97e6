"""The ports: what the rooms ask of the outside world, as Protocols and nothing else.

Adapters implement them, `compose` hands them in. Each docstring is the contract that the suites in
`toolcrib.testing` check.
"""

from toolcrib.ports.catalogs import InvalidationBus, SnapshotStore
from toolcrib.ports.connector import Connector, Signals
from toolcrib.ports.discovery import (
    Embedder,
    PatternEngine,
    SmallModel,
    Stemmer,
    TokenCounter,
    VectorIndex,
    VectorStore,
)
from toolcrib.ports.entries import EntryStore
from toolcrib.ports.sandbox import (
    NOWHERE,
    Abilities,
    Answer,
    Called,
    Event,
    Failed,
    FailedWhy,
    Finished,
    Place,
    Printed,
    Program,
    Raised,
    Returned,
    Running,
    Sandbox,
    Sandboxes,
    SandboxModule,
    Unawaited,
    Waits,
)
from toolcrib.ports.schema import SchemaChecker, SchemaFault, Unchecked
from toolcrib.ports.secrets import Keys, Sealer, Vault
from toolcrib.ports.surroundings import Clock, Observer
from toolcrib.ports.upstream import (
    Ask,
    ClientProfile,
    Era,
    EraMemory,
    Heard,
    Progress,
    RequestContext,
    ServerFacts,
    Upstream,
)

__all__ = [
    "NOWHERE",
    "Abilities",
    "Answer",
    "Ask",
    "Called",
    "ClientProfile",
    "Clock",
    "Connector",
    "Embedder",
    "EntryStore",
    "Era",
    "EraMemory",
    "Event",
    "Failed",
    "FailedWhy",
    "Finished",
    "Heard",
    "InvalidationBus",
    "Keys",
    "Observer",
    "PatternEngine",
    "Place",
    "Printed",
    "Program",
    "Progress",
    "Raised",
    "RequestContext",
    "Returned",
    "Running",
    "Sandbox",
    "SandboxModule",
    "Sandboxes",
    "SchemaChecker",
    "SchemaFault",
    "Sealer",
    "ServerFacts",
    "Signals",
    "SmallModel",
    "SnapshotStore",
    "Stemmer",
    "TokenCounter",
    "Unawaited",
    "Unchecked",
    "Upstream",
    "Vault",
    "VectorIndex",
    "VectorStore",
    "Waits",
]
