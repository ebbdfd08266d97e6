"""What a handshake-era server asks while a call is under way: screened, then put to the caller."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from toolcrib.calls.call import Requester
from toolcrib.calls.rounds.outgoing import Outgoing
from toolcrib.calls.rounds.screening import screened
from toolcrib.core.quoting import quoted
from toolcrib.errors import CapabilityMissing, LimitExceeded, ToolcribError, UpstreamRefused
from toolcrib.protocol.elicitation import answer_fault, passed_on
from toolcrib.protocol.mrtr import Malformed, Question, parse_question
from toolcrib.settings import Limits, Relayed

Put = Callable[[Question], Awaitable[Mapping[str, Any]]]
"""Puts one screened question to the caller; the raw answer. Raises `ToolcribError`."""

_METHOD_NOT_FOUND: Final = -32601
_INVALID_PARAMS: Final = -32602


class Relay:
    """Answers the questions of one call: a `ports.Ask`, equal for the calls of one caller.

    A server whose question is refused hears that as an error, and may finish all the same. Only
    where it does not, the refusal is what the caller has to be told: `refusal`.

    Args:
        attending: The request that waits for the call right now, or did so last.
        put: Puts a question to the caller.
        whose: Equal for two calls whose questions may be put to the same person.
        relayed: What may be asked through us.
        limits: `rounds`.
    """

    def __init__(
        self,
        attending: Callable[[], Outgoing],
        put: Put,
        *,
        whose: object,
        relayed: tuple[Relayed, ...],
        limits: Limits,
    ) -> None:
        self.refusal: ToolcribError | None = None
        """The first question that was refused, and why."""
        self._attending = attending
        self._put = put
        self._whose = whose
        self._relayed = relayed
        self._limits = limits
        self._asked = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Relay) and self._whose == other._whose

    def __hash__(self) -> int:
        return hash(self._whose)

    async def __call__(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The caller's answer as the server gets it; raises `UpstreamRefused` in place of one."""
        outgoing = self._attending()
        server = outgoing.server
        question = parse_question({"method": method, "params": dict(params)})
        if isinstance(question, Malformed):
            raise UpstreamRefused(f"this {question.reason}", rpc_code=_INVALID_PARAMS)
        try:
            self._count(server)
            asked = screened(server, {"": question}, outgoing.requester, self._relayed)[""]
            answer = await self._put(asked)
        except UpstreamRefused:
            # The caller's own words to the server, such as a person's no to a sampling.
            raise
        except ToolcribError as refusal:
            self.refusal = self.refusal or refusal
            raise _told(refusal, outgoing.requester) from None
        if fault := answer_fault(asked, answer):
            raise UpstreamRefused(f"the client's answer is unusable: {fault}", rpc_code=-32603)
        return passed_on(asked, answer)

    def _count(self, server: str) -> None:
        self._asked += 1
        if self._asked > self._limits.rounds:
            raise LimitExceeded(
                f"{quoted(server)} asked more often in one call than rounds allows "
                f"({self._limits.rounds})",
                server=server,
            )


def _told(refusal: ToolcribError, requester: Requester) -> UpstreamRefused:
    """The refusal as the server hears it (2025-11-25, client features: error handling)."""
    code = _INVALID_PARAMS
    if isinstance(refusal, CapabilityMissing):
        needed: Mapping[str, Any] = refusal.details.get("requiredCapabilities", {})
        if not needed.keys() <= requester.capabilities.keys():
            code = _METHOD_NOT_FOUND
    return UpstreamRefused(refusal.for_model(), rpc_code=code)
