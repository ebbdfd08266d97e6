"""Logging in to a server, and out: what only a person at a terminal begins."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal
from urllib.parse import urlsplit

import anyio
import httpx2

from toolcrib.adapters.http.client import RedirectRefused, open_endpoint
from toolcrib.adapters.http.faults import describe_fault, name_fault
from toolcrib.adapters.oauth.authorisers import Authorisers
from toolcrib.adapters.oauth.grant import Grant
from toolcrib.adapters.oauth.redirect import Visit, listen_for_redirect
from toolcrib.errors import ConfigError, UpstreamUnreachable
from toolcrib.settings import HttpLaunch, Limits, OAuthSettings, ServerSettings

__all__ = ["LoggedIn", "LoggedOut", "Login"]

Registration = Literal["configured", "document", "dynamic"]

_PROBE: Final = (
    b'{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{'
    b'"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientInfo":{"name":"toolcrib","version":"0"},'
    b'"io.modelcontextprotocol/clientCapabilities":{}}}}'
)
_PROBE_HEADERS: Final = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "server/discover",
}


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """What a login brought; nothing of it is secret."""

    server: str
    issuer: str
    client_id: str
    registration: Registration
    """How the client is known there: configured, by its metadata document, or registered now."""
    scopes: tuple[str, ...]
    seconds: int | None
    """How long the token lasts; None where the server did not say."""
    renewable: bool
    """Whether it can be renewed without a person."""
    where: str
    """Where it is kept."""


@dataclass(frozen=True, slots=True)
class LoggedOut:
    """What a logout ended."""

    server: str
    issuer: str
    """Empty where nobody was logged in."""
    revoked: bool
    """Whether the authorization server was told and agreed; else tokens last until they run out."""


class Login:
    """Logs one principal in to one server, and out of it."""

    def __init__(self, server: ServerSettings, authorisers: Authorisers, *, limits: Limits) -> None:
        """Raises `ConfigError` where the server is not configured for OAuth."""
        launch = server.launch
        if not isinstance(launch, HttpLaunch):
            raise ConfigError(
                "a local program takes no OAuth token",
                server=server.id,
                remedy="give it its credentials in env",
            )
        if launch.oauth is None:
            raise ConfigError(
                "the server is not configured for OAuth",
                server=server.id,
                remedy=f"add [servers.{server.id}.oauth] to toolcrib.toml; it may be empty",
            )
        self._server = server.id
        self._launch = launch
        self._settings: OAuthSettings = launch.oauth
        self._authorisers = authorisers
        self._limits = limits

    async def run(self, visit: Visit) -> LoggedIn:
        """Log in and keep what that brings; `visit` shows the person the page.

        Raises `AuthRequired`, `UpstreamUnreachable` and `ConfigError`.
        """
        alone = self._authorisers.make(self._server, self._launch, self._settings)
        challenge = await self._challenge()
        if self._settings.grant == "client_credentials":
            return self._told(await alone.log_in(challenge), alone.where)
        preferred = _loopback_port(await alone.held())
        port = self._settings.redirect_port
        async with listen_for_redirect(visit, port=port, preferred=preferred) as person:
            helped = self._authorisers.make(self._server, self._launch, self._settings, person)
            return self._told(await helped.log_in(challenge), helped.where)

    async def end(self) -> LoggedOut:
        """Forget tokens and registration, and tell the authorization server if it wants to know."""
        alone = self._authorisers.make(self._server, self._launch, self._settings)
        held = await alone.held()
        if held is None or held.token is None:
            await alone.forget()
            return LoggedOut(self._server, "", revoked=False)
        revoked = await alone.revoke(held)
        await alone.forget()
        return LoggedOut(self._server, held.issuer, revoked=revoked)

    async def _challenge(self) -> httpx2.Response:
        """What the server answers without a token: the challenge names its metadata and scopes.

        A server that lets this request pass is asked as one that challenges without saying more.
        """
        async with open_endpoint(self._launch, self._limits, None) as endpoint:
            try:
                with anyio.fail_after(self._limits.request_seconds):
                    response = await endpoint.send("POST", _PROBE_HEADERS, _PROBE)
                    await response.aclose()
            except RedirectRefused as refused:
                problem = describe_fault("redirect", f"HTTP {refused.status}")
            except TimeoutError:
                problem = "the server does not answer"
            except (httpx2.HTTPError, OSError) as broken:
                problem = describe_fault(name_fault(broken))
            else:
                challenges = response.status_code == HTTPStatus.UNAUTHORIZED
                headers = response.headers if challenges else None
                return httpx2.Response(HTTPStatus.UNAUTHORIZED, headers=headers)
        raise UpstreamUnreachable(problem, server=self._server)

    def _told(self, grant: Grant, where: str) -> LoggedIn:
        token, client = grant.token, grant.client.client_id
        registration: Registration = "dynamic"
        if client == self._settings.client_id:
            registration = "configured"
        elif client == self._settings.client_metadata_url:
            registration = "document"
        return LoggedIn(
            server=self._server,
            issuer=grant.issuer,
            client_id=client,
            registration=registration,
            scopes=grant.scopes,
            seconds=token.expires_in if token is not None else None,
            renewable=token is not None and token.refresh_token is not None,
            where=where,
        )


def _loopback_port(grant: Grant | None) -> int:
    """The port that the client was registered with: not every server lets it vary (RFC 8252)."""
    uris = grant.client.redirect_uris if grant is not None else None
    return (urlsplit(str(uris[0])).port or 0) if uris else 0
