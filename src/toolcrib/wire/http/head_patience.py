"""A bound on the time that the head of a request may take to arrive.

uvicorn bounds the bytes of a half-sent head and the idle time after an answer, but waits without
end for the rest of a head, and for the first byte of a new connection: a few thousand of those use
up the descriptors of the process.
"""

import asyncio
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS: Final = 30.0
"""Seconds from the first byte of a head, or from the connection, to the head's end."""


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, which hangs up where no whole head comes in time."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] - as there
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._judge()

    def data_received(self, data: bytes) -> None:
        """Begin to wait for a head that has begun, or stop where it is whole."""
        super().data_received(data)
        self._judge()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop()
        super().connection_lost(exc)

    def _judge(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self._patience is None:
            self._patience = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
