"""Every bound of what is listed, called and kept."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Every bound of DESIGN section 10 that concerns catalogs and calls.

    Each error names its setting.
    """

    walk_pages: int = 1_000
    """Pages of one walk."""
    walk_items: int = 50_000
    """Definitions in one walk."""
    walk_bytes: int = 64 * 1024 * 1024
    """Bytes of one walk, all pages together."""
    walk_seconds: float = 60.0
    """Seconds for one walk."""
    request_seconds: float = 20.0
    """Seconds for one list request; a server may have its own."""
    call_seconds: float = 120.0
    """Absolute maximum of one forwarded call, in spite of progress."""
    start_seconds: float = 3.0
    """Start budget for all servers together; then what is there is served."""
    argument_bytes: int = 1024 * 1024
    """The arguments of one call, as JSON."""
    result_bytes: int = 8 * 1024 * 1024
    """The result of one call, as JSON."""
    definition_bytes: int = 1024 * 1024
    """One whole definition of a tool, prompt, resource or template, as JSON."""
    schema_depth: int = 64
    """How deep the schema of a tool may be nested."""
    schema_bytes: int = 256 * 1024
    """The schema of a tool, as JSON."""
    line_bytes: int = 16 * 1024 * 1024
    """One line of a stdio server."""
    ttl_clamp: float = 86_400.0
    """Seconds for which a listing counts as fresh at most, whatever its server says."""
    calls_per_server: int = 32
    """Calls under way at one server at a time; those that wait for a person are counted apart."""
    queue_per_server: int = 256
    """Calls that may wait for their turn behind them."""
    name_length: int = 48
    """Characters of an exposed name: hosts add a prefix, and model APIs stop at 64."""
    stderr_bytes: int = 64 * 1024
    """The tail of a server's stderr that is kept for diagnosis."""
    clip_bytes: int = 64 * 1024
    """What a model is shown of one result; the rest is kept under a handle."""
    rounds: int = 10
    """How often one call may ask for input (MCP 2026-07-28, multi round-trip requests)."""
    state_seconds: float = 900.0
    """How long a question to a person, and the state sealed with it, stays good."""
    parked_calls: int = 100
    """Calls that stay open at handshake-era servers while a person is asked. One caller may have a
    quarter of them, all anonymous callers three quarters. Up to as many of one server leave their
    turn to others meanwhile."""
    ledger_entries: int = 5_000
    """Tools of which is remembered what one principal or handle saw."""
    handles: int = 100
    """Handles of one principal that are remembered."""
    kept_results: int = 100
    """Clipped results of one principal that can still be read as a whole."""
    kept_seconds: float = 3_600.0
    """How long they can."""
    stream_seconds: float = 300.0
    """How long a stream of events to a host of a handshake revision stays open, before the host is
    asked to come back for the rest (MCP 2025-11-25, transports: resumability)."""
    search_chars: int = 1_000
    """Characters of one search query."""
    search_hits: int = 10
    """Hits of one search where none are asked for."""
    search_hits_most: int = 50
    """Hits that may be asked for."""
    search_bytes: int = 8 * 1024
    """The answer of one search without full definitions, as text."""
    schema_work: int = 100_000
    """Steps of one check against a schema, estimated beforehand; above it the server decides."""
