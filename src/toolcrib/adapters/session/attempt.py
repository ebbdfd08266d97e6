"""What one attempt to connect was given; its parts share it instead of passing six arguments on."""

from dataclasses import dataclass

from toolcrib.adapters.http.authorisation import Authoriser
from toolcrib.ports import ClientProfile, Clock, Observer, Signals
from toolcrib.settings import Limits, ServerSettings


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to connect to one server for one client profile."""

    server: ServerSettings
    profile: ClientProfile
    signals: Signals
    """Guarded: they raise nothing but `UpstreamRefused`, and that only from `requested`."""
    limits: Limits
    observer: Observer
    clock: Clock
    authoriser: Authoriser | None = None
    """Has the tokens, where the server wants OAuth."""

    @property
    def request_seconds(self) -> float:
        """Seconds one request may take, unless it says otherwise."""
        own = self.server.request_seconds
        return self.limits.request_seconds if own is None else own
