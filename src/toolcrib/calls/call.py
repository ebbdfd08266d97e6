"""What is known of a call before anything was decided about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolcrib.calls.program_consent import ProgramConsent
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.ports import Ask, Heard, Progress


@dataclass(frozen=True, slots=True)
class Seen:
    """What a caller says it saw: `dev.toolcrib/seen`."""

    contract: str = ""
    """The contract of the tool; empty: not said."""
    digest: str = ""
    """The digest of the listing; empty: not said."""


@dataclass(frozen=True, slots=True, eq=False)
class Requester:
    """Who calls, and how they can be asked."""

    principal: Principal = LOCAL
    handle: str = ""
    """Tells this caller from others of its principal; empty: nothing does."""
    durable: bool = True
    """Whether other processes on the same store may meet this caller, or this one after a restart;
    False for a handle that ends with its connection."""
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What it can be asked, as `ClientCapabilities`."""
    ask: Ask | None = None
    """Asks it while the call is under way."""
    takes_rounds: bool = False
    """Whether it takes an `input_required` result and calls again with the answers."""
    heard: Heard | None = None
    """Takes log messages of the call."""
    log_level: str = ""
    """From which level on it wants them; empty: none."""
    trace: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where in a trace its request stands, as far as servers may know: goes on in `_meta` of every
    call that is made for it."""
    consent: ProgramConsent | None = None
    """What was said about the calls of the program that this one is part of; None: of none."""


@dataclass(frozen=True, slots=True)
class Retry:
    """What a call brings back that was answered with `input_required` before."""

    state: str | None = None
    """`requestState`, as sent; None: absent."""
    responses: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """`inputResponses`, by the key of the question."""


@dataclass(frozen=True, slots=True, eq=False)
class ToolCall:
    """One call of one tool, whose name has been led back to its server."""

    name: str
    """As the caller named it."""
    server: str
    key: str
    """The tool's own name on its server."""
    arguments: Mapping[str, Any]
    """Empty also where the caller gave none; see `bare`."""
    requester: Requester = Requester()
    seen: Seen = Seen()
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What of the caller's `_meta` goes on to the server."""
    retry: Retry | None = None
    progress: Progress | None = None
    timeout: float | None = None
    """Seconds; None: `call_seconds`."""
    bare: bool = False
    """Whether the caller gave no arguments at all: then the server is sent none either."""
    sent: Callable[[], None] | None = None
    """Hears that the call goes out to its server, each time that it does."""
    flow: str = ""
    """The server whose answers may be part of this call, where a person has to agree to that first;
    empty: nobody has."""
