"""Facts: what happened, as frozen records for the Observer port.

Observers may drop them and never drive behaviour.

No fact carries a token, an argument or a principal's name; labels are the configured server id and
enumerations.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConnectionChanged:
    """A connection came up, went down, or an attempt failed."""

    server: str
    state: str
    """connecting, ready, lost, backoff, slow_probe, closed."""
    era: str = ""
    detail: str = ""
    attempt: int = 0
    connection: int = 0
    """Which of the pooled connections of that server, counted from 0 in this process."""


@dataclass(frozen=True, slots=True)
class EraFound:
    """The protocol era of a server was decided, and by which evidence."""

    server: str
    era: str
    evidence: str


@dataclass(frozen=True, slots=True)
class WalkEnded:
    """One walk ended; `requests` counts its list requests, retries included."""

    server: str
    kind: str
    outcome: str
    """published, renewed (nothing new), provisional (a signal came meanwhile, published as stale),
    dirty (a signal came meanwhile), held (looked at twice first), superseded (a newer walk began),
    failed."""
    requests: int
    items: int
    quarantined: int
    size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A snapshot with new content became current."""

    server: str
    kind: str
    generation: int
    items: int
    added: int
    removed: int
    changed: int


@dataclass(frozen=True, slots=True)
class Invalidated:
    """A catalog was marked stale."""

    server: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A catalog is no longer shown."""

    server: str
    kind: str


@dataclass(frozen=True, slots=True)
class ServedStale:
    """Somebody was answered from a snapshot that does not count as fresh."""

    server: str
    kind: str
    age: float


@dataclass(frozen=True, slots=True)
class RefreshFailed:
    """A walk failed and last good is kept."""

    server: str
    kind: str
    failure: str
    detail: str
    retry_in: float


@dataclass(frozen=True, slots=True)
class ItemQuarantined:
    """A definition was kept out of a published snapshot."""

    server: str
    kind: str
    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something odd that an operator should know."""

    server: str
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class NoiseSkipped:
    """A stdio server wrote something to stdout that is no message."""

    server: str
    lines: int
    """So many so far, on this connection."""
    first: str


@dataclass(frozen=True, slots=True)
class CallForwarded:
    """A call (or read, get, completion) was answered by its server."""

    server: str
    method: str
    name: str
    """Of the tool or prompt, on that server: not the name it is exposed by. Empty for the rest."""
    outcome: str
    """ok, tool_error, or the code of the error."""
    seconds: float


@dataclass(frozen=True, slots=True)
class CallRefused:
    """A call was not sent."""

    server: str
    name: str
    """The tool's own name on that server, as in `CallForwarded`."""
    code: str


@dataclass(frozen=True, slots=True)
class CallFailed:
    """A call was sent and brought no usable result; the code is what it was told apart as."""

    server: str
    name: str
    """The tool's own name on that server, as in `CallForwarded`."""
    code: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A host asked for a listing and got it."""

    kind: str
    items: int
    size: int
    fresh: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class HostNotified:
    """A `list_changed` was sent to a host."""

    kind: str


@dataclass(frozen=True, slots=True)
class ExposureChanged:
    """What models are shown at the start became more or less."""

    before: str
    exposure: str
    """full, search, code."""
    tokens: int
    """What all definitions cost, counted as far as it took to decide."""
    reason: str
    """A sentence."""


@dataclass(frozen=True, slots=True)
class SmallModelAsked:
    """A small model was to choose among the hits of a search."""

    outcome: str
    """chosen, none_fits, unreadable; paused and over_budget, where it was not asked; or the code of
    the error."""
    seconds: float
    invented: int = 0
    """Choices that were no candidates."""
    detail: str = ""
    """What went wrong and what to do, for the operator; nothing of any question."""


@dataclass(frozen=True, slots=True)
class RuntimeStarted:
    """What runs the programs of one language is up; it stays up until the process ends."""

    language: str
    version: str
    """With its name, such as `monty 1.4.0`."""
    jail: str
    """What its workers run in, such as `bubblewrap 0.11.0`; empty: in none."""
    reason: str = ""
    """Why there is no jail."""


@dataclass(frozen=True, slots=True)
class ProgramStarted:
    """A program of a model starts, or goes on after a person answered."""

    run: str
    """Marks the program, also when it goes on in another process."""
    language: str
    digest: str
    """Of its source."""


@dataclass(frozen=True, slots=True)
class ProgramCalling:
    """A program is about to make a call; `number` counts its calls from 1."""

    run: str
    number: int
    server: str
    tool: str
    line: int
    """Of its source; 0: not known."""


@dataclass(frozen=True, slots=True)
class ProgramCalled:
    """A call of a program came out: returned, raised, stopped, held or asking."""

    run: str
    number: int
    server: str
    tool: str
    outcome: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ProgramEnded:
    """A program came to its end, or was put aside until a person answers."""

    run: str
    why: str
    """finished, suspended, or why it failed."""
    calls: int
    seconds: float
    """Of its wall clock, without what it waited for a person."""


@dataclass(frozen=True, slots=True)
class StoreDegraded:
    """The store, or what it held of a catalog, cannot be used; the detail says how it goes on."""

    detail: str


Fact = (
    ConnectionChanged
    | EraFound
    | WalkEnded
    | Refreshed
    | Invalidated
    | Withdrawn
    | ServedStale
    | RefreshFailed
    | ItemQuarantined
    | Finding
    | NoiseSkipped
    | CallForwarded
    | CallRefused
    | CallFailed
    | Listed
    | HostNotified
    | ExposureChanged
    | SmallModelAsked
    | RuntimeStarted
    | ProgramStarted
    | ProgramCalling
    | ProgramCalled
    | ProgramEnded
    | StoreDegraded
)


_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])")


def event_name(fact: Fact) -> str:
    """The type of a fact in words, for logs and command lines: `walk_ended`."""
    return _WORD_START.sub("_", type(fact).__name__).lower()
