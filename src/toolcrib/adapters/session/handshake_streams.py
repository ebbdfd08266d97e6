"""The change signals of a handshake-era server: its pipe, or the stream its transport keeps."""

from collections.abc import Mapping
from typing import Any, Literal

from toolcrib.adapters.session.signal_kinds import declared_kinds
from toolcrib.ports import Signals

_State = Literal["open", "lost", "refused"]


class HandshakeStreams:
    """Implements `StreamWatch`: turns what a transport reports into what the signals say.

    A transport may report before the era is known, so nothing is told until `begin`. The handshake
    revisions have no filter and no acknowledgement: a server that declares `listChanged` for no
    kind is counted as sending no signals, whatever stream is open. What it sends all the same
    arrives as any notification does (MCP 2025-11-25, transports: listening; tools: list changed).
    """

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        self._state: _State | None = None
        self._told: _State | None = None
        self._begun = False
        self._declared = False

    def begin(self, capabilities: Mapping[str, Any], *, pipe: bool) -> None:
        """The handshake is through; `pipe` where the connection itself carries the signals."""
        self._begun = True
        self._declared = bool(declared_kinds(capabilities))
        if pipe or not self._declared:
            self._state = "open" if self._declared else "refused"
        self._tell()

    def stream_opened(self) -> None:
        """The transport's stream is open."""
        self._become("open")

    def stream_lost(self, reason: str) -> None:
        """The transport's stream broke."""
        del reason
        self._become("lost")

    def stream_refused(self, reason: str) -> None:
        """The transport has no stream."""
        del reason
        self._become("refused")

    def _become(self, state: _State) -> None:
        self._state = state
        self._tell()

    def _tell(self) -> None:
        state = self._state if self._declared else "refused"
        if not self._begun or state is None or state == self._told:
            return
        self._told = state
        match state:
            case "open":
                self._signals.stream_opened()
            case "lost":
                self._signals.stream_lost()
            case "refused":
                self._signals.stream_refused()
