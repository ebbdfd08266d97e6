"""The sessions of the handshake revisions over Streamable HTTP, each with at most one stream."""

import secrets
from collections.abc import Generator
from contextlib import contextmanager

from toolcrib.testing.server.outlets import Outlet

__all__ = ["Sessions"]


class Sessions:
    """Those that this server knows."""

    def __init__(self) -> None:
        self._streams: dict[str, Outlet | None] = {}

    def begin(self) -> str:
        """The id of a new session."""
        session = secrets.token_hex(8)
        self._streams[session] = None
        return session

    def knows(self, session: str | None) -> bool:
        """Whether it was begun and not forgotten."""
        return session in self._streams

    def forget(self, session: str | None) -> None:
        """Know it no longer; its stream ends."""
        if session is not None:
            outlet = self._streams.pop(session, None)
            if outlet is not None:
                outlet.end()

    def forget_all(self) -> None:
        """Know none of them any longer."""
        for session in tuple(self._streams):
            self.forget(session)

    def has_stream(self, session: str | None) -> bool:
        """Whether its stream is open."""
        return session is not None and self._streams.get(session) is not None

    @contextmanager
    def streaming(self, session: str | None, outlet: Outlet) -> Generator[None]:
        """This outlet is its stream while the context lasts; without a session nothing is kept."""
        if session is not None:
            self._streams[session] = outlet
        try:
            yield
        finally:
            if session is not None and self._streams.get(session) is outlet:
                self._streams[session] = None
