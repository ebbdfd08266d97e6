"""The stream of change signals of a modern server: asked for, acknowledged, lost, asked for again.

MCP 2026-07-28, subscriptions. The server keeps nothing and replays nothing: what changes between
two streams is lost, and it is the signals' business to say so.
"""

from collections.abc import Mapping
from itertools import count
from typing import Any, Final

import anyio

from toolcrib.adapters.session.attempt import Attempt
from toolcrib.adapters.session.era_evidence import http_status
from toolcrib.adapters.session.session import Session
from toolcrib.adapters.session.signal_kinds import FILTER_NAMES, declared_kinds, honoured_kinds
from toolcrib.core.jsontypes import is_object
from toolcrib.errors import ToolcribError, UpstreamRefused
from toolcrib.facts import Finding
from toolcrib.protocol.envelope import SUBSCRIPTION_ID_KEY
from toolcrib.protocol.eras import MISSING_CAPABILITY

METHOD: Final = "subscriptions/listen"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
CANCELLED: Final = "notifications/cancelled"

_FINAL_CODES: Final = frozenset({-32600, -32601, -32602, MISSING_CAPABILITY})
_FINAL_STATUSES: Final = frozenset({400, 404, 405, 406, 415, 501})
"""Refusals that asking again will not change."""

_LARGEST_EXPONENT: Final = 32


class _Stream:
    """One listen request, from the moment it is sent."""

    def __init__(self, request_id: str, wait: float) -> None:
        self.request_id = request_id
        self.scope = anyio.CancelScope(deadline=anyio.current_time() + wait)
        self.opened_at: float | None = None
        """When it was acknowledged."""


class ListenLoop:
    """Keeps one listen stream open for a session and tells the signals how it stands.

    Hears all notifications of the session first, so that an acknowledgement takes its place in
    the order in which things were received.
    """

    def __init__(self, attempt: Attempt, session: Session) -> None:
        self._attempt = attempt
        self._session = session
        self._asked = declared_kinds(session.facts.capabilities)
        self._ids = count(1)
        self._stream: _Stream | None = None
        self._refused = False
        self.honoured: frozenset[str] = frozenset()
        """The capabilities whose changes the open stream signals."""
        session.filter = self

    async def run(self) -> None:
        """Listen until the connection is over, or the server has refused for good.

        A fault of ours ends one stream: it is reported, and the next is asked for after a while.
        """
        if not self._asked:
            self._attempt.signals.stream_refused()
            return
        rule, faults = self._attempt.server.reconnect, 0
        while not self._session.closed:
            try:
                await self._keep_listening()
            except Exception as fault:  # noqa: BLE001 - must not end the connection
                self._report_fault(fault)
                pause = rule.backoff_base * 2.0 ** min(faults, _LARGEST_EXPONENT)
                await anyio.sleep(min(pause, rule.backoff_max))
                faults += 1
            else:
                return

    async def _keep_listening(self) -> None:
        failures = 0
        while not self._session.closed:
            stream, error = await self._listen()
            if self._session.closed:
                return
            self._tell_end(stream)
            if error is not None and stream.opened_at is None and _is_final(error):
                return
            failures = 1 if self._lasted(stream) else failures + 1
            await anyio.sleep(self._delay(failures, error))

    def heard(self, method: str, params: Mapping[str, Any]) -> bool:
        """Take an acknowledgement or a tear-down of our stream; True for what is ours alone."""
        stream = self._stream
        if stream is None:
            return False
        if method == ACKNOWLEDGED and _subscription(params) == stream.request_id:
            self._acknowledge(stream, params)
            return True
        if method == CANCELLED and params.get("requestId") == stream.request_id:
            stream.scope.cancel()
            return True
        return False

    async def _listen(self) -> tuple[_Stream, ToolcribError | None]:
        """One listen request, until it is answered, torn down or not acknowledged in time."""
        stream = _Stream(f"listen-{next(self._ids)}", self._attempt.request_seconds)
        self._stream = stream
        asked = {FILTER_NAMES[kind]: True for kind in sorted(self._asked)}
        try:
            with stream.scope:
                await self._session.hold(
                    METHOD, {"notifications": asked}, request_id=stream.request_id
                )
        except ToolcribError as error:
            return stream, error
        finally:
            self._stream = None
            self.honoured = frozenset()
        return stream, None

    def _acknowledge(self, stream: _Stream, params: Mapping[str, Any]) -> None:
        if stream.opened_at is not None:
            return
        stream.opened_at = anyio.current_time()
        stream.scope.deadline = float("inf")
        self.honoured = honoured_kinds(params.get("notifications")) & self._asked
        missing = self._asked - self.honoured
        if missing:
            detail = f"declared, asked for, but not acknowledged: {', '.join(sorted(missing))}"
            self._attempt.observer.note(Finding(self._attempt.server.id, "listen_partial", detail))
            self._refuse()
        else:
            self._refused = False
            self._attempt.signals.stream_opened()

    def _tell_end(self, stream: _Stream) -> None:
        """Say that signals were lost, or, where none ever flowed, that there are none."""
        if stream.opened_at is not None:
            self._refused = False
            self._attempt.signals.stream_lost()
        else:
            self._refuse()

    def _report_fault(self, fault: Exception) -> None:
        detail = f"{type(fault).__name__}; asking for signals again"
        self._attempt.observer.note(Finding(self._attempt.server.id, "listening_failed", detail))
        self._refused = False
        self._attempt.signals.stream_lost()

    def _refuse(self) -> None:
        if not self._refused:
            self._refused = True
            self._attempt.signals.stream_refused()

    def _lasted(self, stream: _Stream) -> bool:
        if stream.opened_at is None:
            return False
        uptime = anyio.current_time() - stream.opened_at
        return uptime >= self._attempt.server.reconnect.sustained

    def _delay(self, failures: int, error: ToolcribError | None) -> float:
        """Seconds until the next try: doubling, jittered, never before the server allows it."""
        rule = self._attempt.server.reconnect
        exponent = min(failures - 1, _LARGEST_EXPONENT)
        base = min(rule.backoff_base * 2.0**exponent, rule.backoff_max)
        return max(base * (0.5 + 0.5 * self._attempt.clock.lots()), _asked_wait(error))


def _is_final(error: ToolcribError) -> bool:
    if isinstance(error, UpstreamRefused) and error.rpc_code in _FINAL_CODES:
        return True
    return http_status(error) in _FINAL_STATUSES


def _asked_wait(error: ToolcribError | None) -> float:
    told = error.retry_after if isinstance(error, UpstreamRefused) else None
    if told is None and error is not None:
        told = error.details.get("retry_after")
    return float(told) if isinstance(told, int | float) else 0.0


def _subscription(params: Mapping[str, Any]) -> object:
    meta = params.get("_meta")
    return meta.get(SUBSCRIPTION_ID_KEY) if is_object(meta) else None
