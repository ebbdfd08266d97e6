"""Has the tokens of one principal for one server: keeps them fresh, gets them, remembers refusals.

Every connection to the server shares it, so that one task renews and the others wait. Processes
share the vault: what another one has renewed is found there before anything is asked.
"""

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import anyio
import httpx2
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth
from mcp.shared.auth import OAuthToken

from toolcrib.adapters.oauth.flow import answer_challenge, renew
from toolcrib.adapters.oauth.grant import Grant, GrantBook, Kept
from toolcrib.adapters.oauth.person import Person
from toolcrib.adapters.oauth.provider import Commission, Provider, make_provider
from toolcrib.adapters.oauth.requests import OAuthRequests
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.errors import AuthRequired, ToolcribError, UpstreamUnreachable
from toolcrib.ports import Clock
from toolcrib.settings import OAuthSettings, Secret

__all__ = ["ServerAuthoriser"]

_EARLY: Final = 30.0
"""A token is renewed so many seconds before it runs out: it must last until it arrives."""
_READ_EVERY: Final = 30.0
"""Seconds after which the vault is read again: another process may have logged in, or out."""
_FAILED_FOR: Final = 30.0
"""Seconds for which a flow that failed is not begun again."""
_SENDABLE: Final = re.compile(r"[\x21-\x7e]+")
_STEP_UPS: Final = 3
"""How often more rights are asked for until the connection to the server is made anew."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """A flow that failed lately."""

    until: float
    error: ToolcribError

    def again(self) -> ToolcribError:
        """The same once more; an exception that is raised twice would grow its traceback."""
        error = self.error
        return type(error)(error.message, remedy=error.remedy, details=error.details)


class ServerAuthoriser:
    """Implements `Authoriser`."""

    def __init__(
        self,
        server: str,
        settings: OAuthSettings,
        url: str,
        book: GrantBook,
        requests: OAuthRequests,
        clock: Clock,
        person: Person | None = None,
    ) -> None:
        self._server = server
        self._settings = settings
        self._url = url
        self._book = book
        self._requests = requests
        self._clock = clock
        self._person = person
        self._lock = anyio.Lock()
        self._kept = Kept()
        self._read_at: float | None = None
        self._accepted: OAuthToken | None = None
        """The last token that the server let pass."""
        self._obtained: OAuthToken | None = None
        """The last token that was issued to this process."""
        self._obtained_at = 0.0
        self._stepped: set[frozenset[str]] = set()
        """The scopes that were asked for because of a 403."""
        self._failure: _Failure | None = None

    def __repr__(self) -> str:
        return f"ServerAuthoriser({self._server!r})"

    # ---- the port of the HTTP client ----

    async def token(self) -> Secret | None:
        """The access token; renewed first where it runs out."""
        await self._look()
        if self._runs_out():
            async with self._lock:
                await self._look(at_once=True)
                if self._runs_out() and self._refreshable():
                    await self._refresh_early()
        return self._secret()

    async def challenged(self, response: httpx2.Response, sent: Secret | None) -> Secret | None:
        """Another token, by way of the vault, the refresh token, or a whole flow."""
        more = response.status_code == HTTPStatus.FORBIDDEN
        if more and extract_field_from_www_auth(response, "error") != "insufficient_scope":
            return None
        async with self._lock:
            await self._look(at_once=True)
            held = self._secret()
            if held is not None and held != sent:
                return held
            try:
                await (self._step_up(response) if more else self._replace(response))
            except AuthRequired as error:
                raise self._told(error, response.status_code) from None
            return self._secret()

    def accepted(self, sent: Secret) -> None:
        """Note that the token is good: if it is refused later, something has changed."""
        grant = self._kept.grant
        if grant is not None and grant.token is not None and self._secret() == sent:
            self._accepted = grant.token

    def secrets(self) -> Sequence[Secret]:
        """Every token and secret that is held."""
        found: list[str | None] = []
        for grant in self._kept.grants.values():
            found.append(grant.client.client_secret)
            if grant.token is not None:
                found += [grant.token.access_token, grant.token.refresh_token]
        return [*self._settings.secrets, *(Secret(one) for one in found if one)]

    # ---- for the login ----

    async def log_in(self, challenge: httpx2.Response) -> Grant:
        """Have the person log in, whatever is held; what they are given is kept.

        Raises `AuthRequired` and `UpstreamUnreachable` as the flow does.
        """
        async with self._lock:
            await self._look(at_once=True)
            self._kept, self._failure = self._kept.without_token(), None
            return await self._obtain(challenge, self._kept.wanted)

    async def held(self) -> Grant | None:
        """What the vault holds now."""
        await self._look(at_once=True)
        return self._kept.grant

    async def revoke(self, grant: Grant) -> bool:
        """Tell the authorization server that its tokens are not used any more; whether it agreed.

        Best effort (RFC 7009): they are forgotten here in any case.
        """
        token = grant.token
        if token is None or grant.server.revocation_endpoint is None:
            return False
        form = {"token": token.refresh_token or token.access_token}
        form["client_id"] = grant.client.client_id
        headers = {"content-type": "application/x-www-form-urlencoded"}
        provider = self._provider(())
        provider.context.client_info = grant.client
        form, headers = provider.context.prepare_token_auth(form, headers)
        url = str(grant.server.revocation_endpoint)
        request = httpx2.Request("POST", url, data=form, headers=headers)
        try:
            response = await self._requests.send(request, "the revocation of tokens")
        except ToolcribError:
            return False
        return response.is_success

    async def forget(self) -> None:
        """Forget tokens and registrations."""
        await self._book.forget()
        await self._look(at_once=True)

    @property
    def where(self) -> str:
        """Where tokens are kept, for people."""
        return self._book.where

    # ---- how a token is had ----

    async def _replace(self, challenge: httpx2.Response) -> None:
        """A token instead of none, or of one that the server does not take any more."""
        grant = self._kept.grant
        token = grant.token if grant is not None else None
        if token is not None and self._is_unproven(token):
            raise AuthRequired("the server refuses the token that was issued for it just now")
        if self._refreshable() and await self._refresh():
            return
        if self._settings.grant == "authorization_code" and self._person is None:
            raise AuthRequired(
                "nobody is logged in to the server"
                if token is None
                else "the login to the server has run out or was revoked"
            )
        await self._obtain(challenge, ())

    def _is_unproven(self, token: OAuthToken) -> bool:
        """Whether it was issued just now and the server never let it pass."""
        age = self._clock.now().mono - self._obtained_at
        return token == self._obtained and token != self._accepted and age < _FAILED_FOR

    async def _step_up(self, challenge: httpx2.Response) -> None:
        """A token with more rights: those there are and those the server misses."""
        grant = self._kept.grant
        scopes = frozenset((extract_scope_from_www_auth(challenge) or "").split())
        names = enumerated(quoted(scope) for scope in sorted(scopes)) or "more rights"
        if scopes in self._stepped or len(self._stepped) >= _STEP_UPS:
            raise AuthRequired(f"the server wants {names}, which logging in did not bring")
        wanted = tuple(dict.fromkeys([*(grant.scopes if grant else ()), *sorted(scopes)]))
        if self._settings.grant == "authorization_code" and self._person is None:
            if wanted != self._kept.wanted:
                self._kept = self._kept.model_copy(update={"wanted": wanted})
                await self._book.write(self._kept)
            raise AuthRequired(f"the server wants {names}, which the login does not have")
        self._stepped.add(scopes)
        await self._obtain(challenge, wanted)

    async def _obtain(self, challenge: httpx2.Response, scopes: tuple[str, ...]) -> Grant:
        """Run a whole flow; one that failed lately fails again at once."""
        provider = self._provider(scopes)
        with self._remembering_failure():
            await answer_challenge(provider, self._requests, challenge)
        return await self._keep(provider)

    @contextmanager
    def _remembering_failure(self) -> Generator[None]:
        """Let what failed lately fail again at once, so that nobody is asked on each request."""
        failure, now = self._failure, self._clock.now().mono
        if failure is not None and now < failure.until:
            raise failure.again()
        try:
            yield
        except ToolcribError as error:
            self._failure = _Failure(now + _FAILED_FOR, error)
            raise
        self._failure = None

    async def _refresh_early(self) -> None:
        """Renew a token that runs out soon; where that fails it is used as long as it lasts."""
        try:
            await self._refresh()
        except UpstreamUnreachable:
            grant = self._kept.grant
            if grant is None or self._clock.now().wall >= (grant.expires_at or 0.0):
                raise

    async def _refresh(self) -> bool:
        """Use the refresh token, or find that another process did; False where it is used up."""
        before = self._kept.grant
        async with self._book.turn():
            await self._look(at_once=True)
            if self._kept.grant == before:
                # Not to be interrupted: a server that changed the token takes the old one no more.
                with anyio.CancelScope(shield=True):
                    await self._refresh_in_turn()
        return self._secret() is not None

    async def _refresh_in_turn(self) -> None:
        """Leave a new token, that of somebody who did not wait for the turn, or none."""
        before = self._kept.grant
        provider = self._provider(())
        with self._remembering_failure():
            renewed = await renew(provider, self._requests)
        if renewed:
            await self._keep(provider)
            return
        await self._look(at_once=True)
        if self._kept.grant == before:
            self._kept, self._failure = self._kept.without_token(), None
            await self._book.write(self._kept)

    async def _keep(self, provider: Provider) -> Grant:
        context = provider.context
        token, client, server = (
            context.current_tokens,
            context.client_info,
            context.oauth_metadata,
        )
        if token is None or client is None or server is None:
            raise AuthRequired("the authorization server gave no token")
        if not _SENDABLE.fullmatch(token.access_token):
            raise AuthRequired("the authorization server gave a token that no header can carry")
        lifetime = token.expires_in
        grant = Grant(
            issuer=str(server.issuer),
            client=client.model_copy(update={"issuer": client.issuer or str(server.issuer)}),
            server=server,
            resource=context.protected_resource_metadata,
            token=token,
            expires_at=None if lifetime is None else self._clock.now().wall + lifetime,
            scopes=tuple((token.scope or context.client_metadata.scope or "").split()),
        )
        self._kept = self._kept.with_grant(grant)
        self._obtained, self._obtained_at = token, self._clock.now().mono
        with anyio.CancelScope(shield=True):
            await self._book.write(self._kept)
        return grant

    def _provider(self, scopes: tuple[str, ...]) -> Provider:
        return make_provider(
            Commission(
                settings=self._settings,
                server_url=self._url,
                guard=self._requests.guard,
                grant=self._kept.grant,
                person=self._person,
                scopes=scopes,
            )
        )

    # ---- what is held ----

    async def _look(self, *, at_once: bool = False) -> None:
        """Read the vault, unless that was done just now."""
        now = self._clock.now().mono
        if at_once or self._read_at is None or now - self._read_at >= _READ_EVERY:
            self._read_at = now
            kept = await self._book.read()
            if kept != self._kept:
                self._kept, self._failure = kept, None

    def _secret(self) -> Secret | None:
        grant = self._kept.grant
        return Secret(grant.token.access_token) if grant and grant.token else None

    def _runs_out(self) -> bool:
        grant = self._kept.grant
        if grant is None or grant.token is None or grant.expires_at is None:
            return False
        return self._clock.now().wall >= grant.expires_at - _EARLY

    def _refreshable(self) -> bool:
        grant = self._kept.grant
        return grant is not None and grant.token is not None and bool(grant.token.refresh_token)

    def _told(self, error: AuthRequired, status: int) -> AuthRequired:
        """The error as it leaves: with its status, and what a person can do."""
        remedy = error.remedy
        if remedy is None and self._settings.grant == "authorization_code":
            remedy = f"run `toolcrib login {self._server}`"
        return AuthRequired(error.message, remedy=remedy, details={"http_status": status})
