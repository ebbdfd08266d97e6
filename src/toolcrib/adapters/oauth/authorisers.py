"""The authorisers of all servers of one principal, one for each launch."""

import httpx2

from toolcrib.adapters.http.launch import read_url
from toolcrib.adapters.oauth.addresses import AddressGuard, Resolve, system_resolve
from toolcrib.adapters.oauth.authoriser import ServerAuthoriser
from toolcrib.adapters.oauth.grant import GrantBook
from toolcrib.adapters.oauth.person import Person
from toolcrib.adapters.oauth.requests import OAuthRequests
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.ports import Clock, Keys, Vault
from toolcrib.settings import HttpLaunch, OAuthSettings, ServerSettings

__all__ = ["Authorisers"]


class Authorisers:
    """Makes an authoriser for each server that is configured for OAuth, and keeps it."""

    def __init__(
        self,
        *,
        vault: Vault,
        keys: Keys,
        clock: Clock,
        person: Person | None = None,
        principal: Principal = LOCAL,
        resolve: Resolve = system_resolve,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """`resolve` and `transport` take the network's place in tests."""
        self._vault = vault
        self._keys = keys
        self._clock = clock
        self._person = person
        self._principal = principal
        self._resolve: Resolve = resolve
        self._transport = transport
        self._made: dict[str, tuple[HttpLaunch, ServerAuthoriser]] = {}

    def for_server(self, server: ServerSettings) -> ServerAuthoriser | None:
        """The authoriser of a server; None where it is not configured for OAuth.

        Raises:
            AuthRequired: Its URL is one that no token must be sent to.
            ConfigError: Its URL cannot be used.
        """
        launch = server.launch
        if not isinstance(launch, HttpLaunch) or launch.oauth is None:
            return None
        made = self._made.get(server.id)
        if made is None or made[0] != launch:
            authoriser = self.make(server.id, launch, launch.oauth, self._person)
            made = self._made[server.id] = (launch, authoriser)
        return made[1]

    def make(
        self,
        server: str,
        launch: HttpLaunch,
        settings: OAuthSettings,
        person: Person | None = None,
    ) -> ServerAuthoriser:
        """A new authoriser over the same vault; raises as `for_server` does."""
        url = read_url(launch)
        guard = AddressGuard(url, insecure=settings.insecure, resolve=self._resolve)
        guard.check(url, "the server's URL")
        return ServerAuthoriser(
            server,
            settings,
            str(url.copy_with(userinfo=b"", query=None)),
            GrantBook(self._vault, self._keys, self._principal, self._keys.launch_digest(launch)),
            OAuthRequests(guard, self._transport),
            self._clock,
            person,
        )
