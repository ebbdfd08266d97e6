"""Finds the era of a server by evidence, and connects in it.

`protocol.eras` judges; here it is asked, answers are fetched, and what a verdict calls for is done.
MCP 2026-07-28, versioning: backward compatibility.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, assert_never

from mcp_types import INTERNAL_ERROR

from toolcrib.adapters.session.attempt import Attempt
from toolcrib.adapters.session.era_evidence import http_status
from toolcrib.adapters.session.server_facts import handshake_facts, modern_facts
from toolcrib.adapters.session.session import Session
from toolcrib.adapters.session.stamps import HandshakeStamp, ModernStamp, Stamp
from toolcrib.core.jsontypes import is_object
from toolcrib.errors import (
    IncompatibleServer,
    RequestTimedOut,
    ResultInvalid,
    ToolcribError,
    UpstreamRefused,
    UpstreamUnreachable,
)
from toolcrib.facts import EraFound
from toolcrib.ports import EraMemory, ServerFacts
from toolcrib.protocol.eras import (
    HANDSHAKE_VERSIONS,
    MISSING_CAPABILITY,
    MODERN_VERSIONS,
    DiscoverAnswered,
    Handshake,
    Incompatible,
    InitializeAnswered,
    Modern,
    NoEvidence,
    ProbeError,
    ProbeExited,
    ProbeTimedOut,
    RestartAsHandshake,
    RetryVersion,
    TransportKind,
    judge_initialize,
    judge_probe,
    suggests_http_sse,
)

BELIEVED_FOR: Final = 86_400.0
"""Seconds for which a remembered handshake spares the probe. A server that is updated in place
still answers `initialize`, so nothing but a probe would ever find out that it became modern."""

_MOST_STEPS: Final = 5
"""Requests of one search. An honest server needs three; one that contradicts itself never ends."""

Renew = Callable[[], Awaitable[Session]]
"""Ends the session and opens another, with a new process where there is one."""

Failure = UpstreamRefused | UpstreamUnreachable | RequestTimedOut | ResultInvalid


class NotStreamable(UpstreamUnreachable):
    """The URL refuses POSTs in the way of a server of the old HTTP+SSE transport."""


def is_believed(memory: EraMemory | None, now: float) -> bool:
    """Whether a memory spares the probe at `now` (seconds since the epoch)."""
    if memory is None or memory.era != "handshake":
        return False
    return 0.0 <= now - memory.decided_at < BELIEVED_FOR


class EraSearch:
    """One search for one connection. `session` is the live one, also after a new start."""

    def __init__(
        self, attempt: Attempt, session: Session, renew: Renew, transport: TransportKind
    ) -> None:
        self.session = session
        self.resuming = False
        """Whether a remembered era is relied on: a failure may mean that it no longer holds."""
        self._attempt = attempt
        self._renew = renew
        self._transport: TransportKind = transport
        self._steps = 0

    async def run(self, remembered: EraMemory | None) -> Session:
        """Find the era and adopt it.

        A remembered handshake is tried first, without a probe; where the server refuses it, the
        probe decides. A remembered modern era costs nothing, since `server/discover` is the probe;
        the server is only given more time for it.

        Raises:
            IncompatibleServer: It speaks no revision that we speak, or breaks the one it claims.
            UpstreamUnreachable, RequestTimedOut, AuthRequired, RateLimited: Nothing was learnt.
            NotStreamable: The URL may be one of HTTP+SSE.
        """
        if self._transport == "sse":
            await self._shake_hands("speaks HTTP+SSE")
            return self.session
        self.resuming = is_believed(remembered, self._attempt.clock.now().wall)
        if not (self.resuming and await self._resume_handshake()):
            self.resuming = False
            await self._probe(MODERN_VERSIONS[0], self._patience(remembered))
        return self.session

    def _patience(self, remembered: EraMemory | None) -> float:
        """Seconds to wait at the probe: less where silence is an answer, which is on stdio only."""
        rule, seconds = self._attempt.server.reconnect, self._attempt.request_seconds
        if self._transport != "stdio":
            return seconds
        if remembered is not None and remembered.era == "modern":
            return max(seconds, rule.probe_timeout)
        return rule.probe_timeout

    async def _resume_handshake(self) -> bool:
        """Try the remembered era; False where the server refused it and has to be probed."""
        try:
            await self._shake_hands("remembered")
        except IncompatibleServer:
            if self._transport == "stdio":
                self.session = await self._renew()
            return False
        return True

    async def _probe(self, version: str, patience: float, *, again: bool = False) -> None:
        """Send `server/discover` and do what its outcome calls for."""
        stamp = ModernStamp(version, self._attempt.profile)
        answer = await self._ask("server/discover", {}, stamp, patience)
        outcome = DiscoverAnswered(answer) if isinstance(answer, dict) else _outcome(answer)
        verdict = judge_probe(outcome, transport=self._transport, offered=version, again=again)
        match verdict:
            case Modern() if isinstance(answer, dict):
                self._found(modern_facts(verdict.version, answer), verdict.evidence)
            case Modern():
                raise self._incompatible(_missing(answer) or verdict.evidence, answer)
            case RetryVersion():
                await self._probe(verdict.version, patience, again=True)
            case Handshake():
                await self._fall_back(verdict.evidence)
            case RestartAsHandshake():
                self.session = await self._renew()
                await self._shake_hands(verdict.evidence)
            case NoEvidence():
                raise self._no_evidence(verdict, answer)
            case Incompatible():
                raise self._incompatible(verdict.reason, answer)
            case _:
                assert_never(verdict)

    async def _fall_back(self, evidence: str) -> None:
        """Open with `initialize` after a refused probe.

        A process that the probe has upset may hang or exit only now: it gets a second start.
        """
        try:
            await self._shake_hands(evidence)
        except (UpstreamUnreachable, RequestTimedOut):
            if self._transport != "stdio":
                raise
            self.session = await self._renew()
            await self._shake_hands(evidence)

    async def _shake_hands(self, evidence: str) -> None:
        """Send `initialize`, adopt the answer, send `notifications/initialized`."""
        profile = self._attempt.profile
        params = {
            "protocolVersion": HANDSHAKE_VERSIONS[0],
            "capabilities": dict(profile.capabilities),
            "clientInfo": {"name": profile.name, "version": profile.version},
        }
        self.session.expect_requests()
        patience = self._attempt.request_seconds
        answer = await self._ask("initialize", params, HandshakeStamp(None), patience)
        outcome = InitializeAnswered(answer) if isinstance(answer, dict) else _outcome(answer)
        self._check_transport(outcome, answer)
        verdict = judge_initialize(outcome)
        match verdict:
            case Handshake() if isinstance(answer, dict):
                self._found(handshake_facts(verdict.version, answer), evidence)
                await self.session.notify("notifications/initialized")
            case RetryVersion():
                await self._probe(verdict.version, patience)
            case NoEvidence():
                raise self._no_evidence(verdict, answer)
            case Incompatible():
                raise self._incompatible(verdict.reason, answer)
            case Modern() | Handshake() | RestartAsHandshake():
                raise self._incompatible("contradicts itself about its era", answer)
            case _:
                assert_never(verdict)

    async def _ask(
        self, method: str, params: Mapping[str, Any], stamp: Stamp, patience: float
    ) -> dict[str, Any] | Failure:
        """One step of the search: the answer, or the failure that is to be judged."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise self._incompatible("contradicts itself about the revisions it speaks", None)
        try:
            return await self.session.negotiate(method, params, stamp, timeout=patience)
        except (UpstreamRefused, UpstreamUnreachable, RequestTimedOut, ResultInvalid) as failure:
            return failure

    def _check_transport(self, outcome: object, answer: dict[str, Any] | Failure) -> None:
        if (
            self._transport == "http"
            and isinstance(outcome, ProbeError)
            and isinstance(answer, ToolcribError)
            and suggests_http_sse(outcome)
        ):
            raise NotStreamable(answer.message, server=self._attempt.server.id)

    def _found(self, facts: ServerFacts, evidence: str) -> None:
        self.session.adopt(facts)
        self._attempt.observer.note(EraFound(self._attempt.server.id, facts.era, evidence))

    def _incompatible(self, reason: str, answer: object) -> IncompatibleServer:
        said = f" ({answer.message})" if isinstance(answer, UpstreamRefused) else ""
        return IncompatibleServer(
            f"the server {reason}{said}",
            server=self._attempt.server.id,
            remedy="use a version of the server that speaks a released revision of MCP",
        )

    def _no_evidence(self, verdict: NoEvidence, answer: object) -> ToolcribError:
        """The failure itself; an error of the server that proves nothing is an outage."""
        if isinstance(answer, ToolcribError) and not isinstance(answer, UpstreamRefused):
            return answer
        retry_after = answer.retry_after if isinstance(answer, UpstreamRefused) else None
        return UpstreamUnreachable(
            verdict.reason,
            server=self._attempt.server.id,
            details={"retry_after": retry_after} if retry_after is not None else None,
        )


def _outcome(failure: Failure) -> ProbeError | ProbeTimedOut | ProbeExited:
    """A failure of the port as what `protocol.eras` judges."""
    status = http_status(failure)
    match failure:
        case RequestTimedOut():
            return ProbeTimedOut()
        case UpstreamRefused():
            return ProbeError(failure.rpc_code, failure.data, status)
        case ResultInvalid():
            # Over HTTP, a proxy may have cut or replaced what the server said.
            return ProbeError(INTERNAL_ERROR if status is None else None, None, status)
        case UpstreamUnreachable():
            return ProbeExited() if status is None else ProbeError(None, None, status)
        case _:
            assert_never(failure)


def _missing(answer: object) -> str:
    """What a modern server that refuses even `server/discover` for want of a capability wants."""
    if not isinstance(answer, UpstreamRefused) or answer.rpc_code != MISSING_CAPABILITY:
        return ""
    wanted = answer.data.get("requiredCapabilities") if is_object(answer.data) else None
    names = ", ".join(sorted(wanted)) if is_object(wanted) else "unnamed"
    return f"requires client capabilities that we do not declare: {names}"
