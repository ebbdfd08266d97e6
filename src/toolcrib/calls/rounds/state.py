"""What a round leaves with the caller: sealed, bound to who asked for what, good for a while.

The state travels through a client, so it comes back as whatever somebody made of it (MCP
2026-07-28, multi round-trip requests: server requirements). It is encrypted for this installation
and bound to the principal and handle, the server, the method, the tool, and the arguments: on any
other request it is as good as none. Any process with the same keys reads it.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from toolcrib.calls.call import Requester
from toolcrib.calls.rounds.outgoing import Outgoing
from toolcrib.core.canonical import canonical
from toolcrib.errors import BadArguments, LimitExceeded, RetryRefused
from toolcrib.ports import Sealer
from toolcrib.protocol.mrtr import Brought, Question
from toolcrib.settings import Limits

Kind = Literal["server", "parked", "visit", "own"]
"""Whose questions are out: those of a modern server, of a call that is open at a handshake-era
server, of a server that refused the call until a page was visited, or our own."""

_PURPOSE: Final = "toolcrib/round/1"
"""Grows with the shape of a state, so that no process reads what another version wrote."""


def _no_answers() -> Mapping[str, Mapping[str, Any]]:
    return {}


@dataclass(frozen=True, slots=True)
class RoundState:
    """Everything that has to be known when the caller comes back."""

    kind: Kind
    round: int = 0
    """How often the server has asked in this call, this time included."""
    asked: Mapping[str, Question] = field(default_factory=dict[str, Question])
    """What is to be answered."""
    given: Mapping[str, Mapping[str, Any]] = field(default_factory=_no_answers)
    """What was answered already, while something else was left out; with `own`, what the request
    brought that our question interrupted."""
    state: str | None = None
    """The server's own state, byte for byte; with `own`, the state of the interrupted request.
    None: absent."""
    contract: str = ""
    """Of the tool, when the call was admitted."""
    granted: tuple[str, ...] = ()
    """Topics to which a person said yes for this one call; with `own`, the topic that is asked."""
    place: str = ""
    """Which process holds the open call, and where: `PROCESS/CALL`."""
    mark: str = ""
    """Tells this state from all others, for what may be used once."""


class Seals:
    """Seals and opens the states of rounds."""

    def __init__(
        self, sealer: Sealer, *, owner: Callable[[Requester], str], limits: Limits
    ) -> None:
        self._sealer = sealer
        self._owner = owner
        self._limits = limits

    def seal(self, outgoing: Outgoing, state: RoundState) -> str:
        """The `requestState` that goes to the caller.

        Raises:
            LimitExceeded: What was asked is larger than the arguments of a call may be.
        """
        value = _written(state)
        if len(value) > self._limits.argument_bytes:
            raise LimitExceeded(
                f"what the server asks has {len(value)} bytes, more than argument_bytes allows "
                f"({self._limits.argument_bytes})",
                server=outgoing.server,
            )
        lifetime = self._limits.state_seconds
        return self._sealer.seal(value, bound=self._bound(outgoing), lifetime=lifetime)

    def opened(self, outgoing: Outgoing) -> RoundState | None:
        """What a retry goes on from; None for a request that brings no state.

        Raises:
            RetryRefused: The state is not good for this request, for whatever reason.
        """
        retry = outgoing.retry
        if retry is None or retry.state is None:
            return None
        value = self._sealer.unseal(retry.state, bound=self._bound(outgoing))
        if value is None:
            raise RetryRefused(
                "this request state is not good for this request: it expired (after "
                f"{self._limits.state_seconds:g} s, state_seconds), was changed, or belongs to "
                "another caller, tool, or other arguments",
                server=outgoing.server,
                remedy="send the request anew, without requestState and inputResponses",
            )
        return _read(value)

    def _bound(self, outgoing: Outgoing) -> bytes:
        try:
            arguments = hashlib.sha256(canonical(dict(outgoing.arguments))).hexdigest()
        except (TypeError, ValueError) as broken:
            raise BadArguments(
                f"the arguments are no JSON: {broken}", server=outgoing.server
            ) from None
        owner = self._owner(outgoing.requester)
        return canonical(
            [_PURPOSE, owner, outgoing.server, outgoing.method, outgoing.key, arguments]
        )


def _written(state: RoundState) -> bytes:
    asked = {key: question.as_request() for key, question in state.asked.items()}
    value = {
        "kind": state.kind,
        "round": state.round,
        "asked": asked,
        "given": dict(state.given),
        "state": state.state,
        "contract": state.contract,
        "granted": list(state.granted),
        "place": state.place,
        "mark": state.mark,
    }
    # Not escaped, so that half a surrogate pair comes back as what it was.
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _read(value: bytes) -> RoundState:
    raw: dict[str, Any] = json.loads(value.decode("utf-8", "surrogatepass"))
    requests: dict[str, Any] = raw.pop("asked")
    asked = {
        key: Question(request["method"], request.get("params", {}))
        for key, request in requests.items()
    }
    granted: list[str] = raw.pop("granted")
    return RoundState(asked=asked, granted=tuple(granted), **raw)


def gathered(state: RoundState, brought: Brought) -> Mapping[str, Mapping[str, Any]]:
    """All answers to what a state asks: those given before, and those that came now.

    What nobody asked is left out (multi round-trip requests: error handling).
    """
    now = {key: answer for key, answer in brought.responses.items() if key in state.asked}
    return {**state.given, **now}
