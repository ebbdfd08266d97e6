"""Drives one flow of the SDK outside of any MCP request, and says in our words what went wrong.

The SDK's flow wraps a request and holds a lock until it is answered, so that a server's requests
would go one after the other. Here it wraps a stand-in that is never sent: the flow gets the
server's challenge as its answer, and is left as soon as it would send the stand-in again.

Its own messages quote answers, which may hold tokens: they are dropped, and so is its log.
"""

import json
import re
from collections.abc import AsyncGenerator
from contextvars import ContextVar
from http import HTTPStatus
from logging import Filter, LogRecord, getLogger
from typing import Final, cast

import httpx2
from mcp.client.auth import OAuthFlowError
from pydantic import ValidationError

from toolcrib.adapters.http.status import may_pass
from toolcrib.adapters.oauth.provider import Provider
from toolcrib.adapters.oauth.requests import OAuthRequests
from toolcrib.core.jsontypes import is_object
from toolcrib.core.quoting import quoted
from toolcrib.errors import AuthRequired, ToolcribError, UpstreamUnreachable

__all__ = ["answer_challenge", "renew"]

_METADATA: Final = "the metadata of the authorization"
_REGISTRATION: Final = "the registration of clients"
_TOKENS: Final = "the token endpoint"
_ERROR_CODE: Final = re.compile(r"[a-z][a-z_]{1,60}")
"""What RFC 6749 lets `error` be is more; nothing else is needed, and nothing else is repeated."""

_UNUSABLE: Final = (
    OAuthFlowError,
    ValidationError,
    ValueError,
    OverflowError,
    httpx2.InvalidURL,
    StopAsyncIteration,
)
"""What the SDK raises for an answer that it cannot use."""

_QUIET: Final[ContextVar[bool]] = ContextVar("oauth_quiet", default=False)


class _Quiet(Filter):
    """Drops what the SDK logs of our flows: it logs answers, and those of others' flows stay."""

    def filter(self, record: LogRecord) -> bool:
        return not _QUIET.get()


getLogger("mcp.client.auth.oauth2").addFilter(_Quiet())


async def renew(provider: Provider, requests: OAuthRequests) -> bool:
    """Use the refresh token; whether that brought a new access token.

    Raises `UpstreamUnreachable` where the authorization server is away: the refresh token may still
    be good.
    """
    provider.context.token_expiry_time = 1.0  # long ago: the SDK refreshes what has run out
    drive = _Drive(provider, requests)
    try:
        await drive.until_stand_in(None)
    finally:
        await drive.leave()
    renewed = provider.context.is_token_valid()
    if not renewed:
        drive.raise_outage()
    return renewed


async def answer_challenge(
    provider: Provider, requests: OAuthRequests, challenge: httpx2.Response
) -> None:
    """Run the whole flow; afterwards the provider's context holds token, client and metadata.

    Raises:
        AuthRequired: Somebody said no, or what was found must not be used.
        UpstreamUnreachable: The authorization server is away.
    """
    if challenge.status_code == HTTPStatus.UNAUTHORIZED:
        # Found anew, or the metadata of one server could be used with the client of another.
        context = provider.context
        context.oauth_metadata = context.protected_resource_metadata = None
        context.auth_server_url = None
    drive = _Drive(provider, requests)
    try:
        await drive.until_stand_in(None)
        await drive.until_stand_in(challenge)
    finally:
        await drive.leave()


class _Drive:
    """One pass through a flow."""

    def __init__(self, provider: Provider, requests: OAuthRequests) -> None:
        self._provider = provider
        self._requests = requests
        self._stand_in = httpx2.Request(
            "POST", provider.context.server_url, headers={"mcp-protocol-version": "2026-07-28"}
        )
        self._flow: AsyncGenerator[httpx2.Request, httpx2.Response] = provider.async_auth_flow(
            self._stand_in
        )
        self._begun = False
        self._what = _METADATA
        self._last: httpx2.Response | None = None

    async def leave(self) -> None:
        """End the flow where it is."""
        await self._flow.aclose()

    async def until_stand_in(self, answer: httpx2.Response | None) -> None:
        """Answer the stand-in, and every request of the flow until it is due again."""
        outgoing = await self._step(answer)
        while outgoing is not self._stand_in:
            self._what = _owner_of(outgoing)
            if self._what == _REGISTRATION:
                self._approve()
            self._last = await self._requests.send(outgoing, self._what)
            outgoing = await self._step(self._last)

    def raise_outage(self) -> None:
        """Raise `UpstreamUnreachable` where the last answer says nothing for good."""
        outage = self._outage()
        if outage is not None:
            raise outage

    async def _step(self, answer: httpx2.Response | None) -> httpx2.Request:
        quiet = _QUIET.set(True)
        try:
            if not self._begun:
                self._begun = True
                return await anext(self._flow)
            return await self._flow.asend(cast("httpx2.Response", answer))
        except ToolcribError as ours:
            raise self._outage() or ours from None
        except _UNUSABLE:
            raise self._outage() or self._refusal() from None
        finally:
            _QUIET.reset(quiet)

    def _approve(self) -> None:
        try:
            self._provider.approve()
        except AuthRequired as ours:
            raise self._outage() or ours from None

    def _outage(self) -> UpstreamUnreachable | None:
        """What the last answer says where it may pass: nothing can be concluded from it."""
        status = self._last.status_code if self._last is not None else HTTPStatus.OK
        if not may_pass(status):
            return None
        return UpstreamUnreachable(f"{self._what} answered HTTP {status}")

    def _refusal(self) -> AuthRequired:
        """What the last answer means for whoever has to act."""
        status = self._last.status_code if self._last is not None else 0
        if status < HTTPStatus.MULTIPLE_CHOICES and self._what == _METADATA:
            return AuthRequired(
                "the metadata of the authorization server names another issuer than the one it "
                "was asked for, or cannot be read",
                remedy="the issuer in it must equal the one that the server names",
            )
        if status < HTTPStatus.MULTIPLE_CHOICES:
            return AuthRequired(f"{self._what} gave an answer that cannot be used")
        return AuthRequired(f"{self._what} refused (HTTP {status}{_error_code(self._last)})")


def _owner_of(request: httpx2.Request) -> str:
    """Which part of an authorization server a request of the flow goes to."""
    if request.method == "GET":
        return _METADATA
    form = request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    return _TOKENS if form else _REGISTRATION


def _error_code(response: httpx2.Response | None) -> str:
    """The `error` of an OAuth answer, if it is a plain code; its description is anybody's text."""
    try:
        body: object = json.loads(response.content) if response is not None else None
    except (ValueError, RecursionError):
        return ""
    code = body.get("error") if is_object(body) else None
    plain = isinstance(code, str) and _ERROR_CODE.fullmatch(code)
    return f", {quoted(str(code))}" if plain else ""
