"""One request to a server, and what it comes back with: a result, or questions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from toolcrib.calls.rounds.outgoing import Outgoing
from toolcrib.calls.rounds.relay import Relay
from toolcrib.calls.rounds.screening import check_capabilities
from toolcrib.catalog.access import CatalogAccess
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.core.quoting import quoted
from toolcrib.errors import ResultInvalid, UpstreamRefused
from toolcrib.protocol.eras import MISSING_CAPABILITY
from toolcrib.protocol.mrtr import (
    MOST_QUESTIONS,
    ROUND_METHODS,
    Brought,
    Malformed,
    Question,
    asks_input,
    parse_input_required,
)

URL_REQUIRED: Final = -32042
"""The error of revision 2025-11-25 for a request that needs a page visit first."""


@dataclass(frozen=True, slots=True)
class Asks:
    """A server wants answers before it goes on."""

    kind: Literal["server", "visit"]
    """`server`: it asked by its result; `visit`: it refused until pages were visited."""
    questions: Mapping[str, Question] = field(default_factory=dict[str, Question])
    """Not screened yet; empty: it only wants to be called again."""
    state: str | None = None
    """Its own state, byte for byte."""


Reply = dict[str, Any] | Asks


async def sent(
    access: CatalogAccess,
    outgoing: Outgoing,
    brought: Brought,
    relay: Relay,
    capabilities: Mapping[str, Any],
) -> Reply:
    """Send a request once.

    Raises as `CatalogAccess.request` does; the refusal of a question where the server did not
    finish without its answer; `ResultInvalid` for questions that cannot be read.
    """
    context = replace(outgoing.context, capabilities=capabilities, ask=relay)
    try:
        result = await access.request(
            outgoing.server,
            outgoing.method,
            brought.added_to(outgoing.params),
            timeout=outgoing.timeout,
            progress=outgoing.progress,
            context=context,
        )
    except UpstreamRefused as refused:
        if relay.refusal is not None:
            raise relay.refusal from refused
        if (visits := _required_visits(refused)) is not None:
            return Asks("visit", visits)
        _check_missing(outgoing, refused)
        raise
    if asks_input(result):
        return _asks(outgoing, result)
    if relay.refusal is not None and result.get("isError") is True:
        raise relay.refusal
    return result


def _asks(outgoing: Outgoing, result: Mapping[str, Any]) -> Asks:
    asked = parse_input_required(result)
    if outgoing.method not in ROUND_METHODS:
        asked = Malformed(f"{outgoing.method} is not answered with questions")
    if isinstance(asked, Malformed):
        raise ResultInvalid(
            f"{quoted(outgoing.server)} asked for input in a way that cannot be read: "
            f"{asked.reason}",
            server=outgoing.server,
        )
    return Asks("server", asked.questions, asked.state)


def _required_visits(refused: UpstreamRefused) -> dict[str, Question] | None:
    """The pages that have to be visited first (2025-11-25, elicitation: URL mode error).

    The error proves that the request was not executed, so it may be sent again.
    """
    data = refused.data
    listed = data.get("elicitations") if is_object(data) else None
    if refused.rpc_code != URL_REQUIRED or not is_array(listed) or not listed:
        return None
    if len(listed) > MOST_QUESTIONS or not all(is_object(visit) for visit in listed):
        return None
    return {
        f"visit-{number}": Question("elicitation/create", {**visit, "mode": "url"})
        for number, visit in enumerate(listed, start=1)
    }


def _check_missing(outgoing: Outgoing, refused: UpstreamRefused) -> None:
    """What the server misses is missing here as well only where our own caller lacks it."""
    data = refused.data
    needed = data.get("requiredCapabilities") if is_object(data) else None
    if refused.rpc_code == MISSING_CAPABILITY and is_object(needed):
        known: dict[str, dict[str, Any]] = {}
        for name in ("elicitation", "sampling", "roots"):
            if is_object(parts := needed.get(name)):
                known[name] = {part: {} for part in parts}
        check_capabilities(outgoing.server, known, outgoing.requester)
