"""What an authorization server gave us for one server, and how it is kept in the vault."""

import hmac
import json
from contextlib import AbstractAsyncContextManager
from typing import Final, Literal

from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import BaseModel, ConfigDict, ValidationError

from toolcrib.core.partition import Principal
from toolcrib.ports import Keys, Vault

__all__ = ["Grant", "GrantBook", "Kept"]

_MOST_ISSUERS: Final = 4


class Grant(BaseModel):
    """Registration and tokens at one authorization server; shows nothing of either."""

    model_config = ConfigDict(frozen=True)

    issuer: str
    client: OAuthClientInformationFull
    server: OAuthMetadata
    resource: ProtectedResourceMetadata | None = None
    token: OAuthToken | None = None
    expires_at: float | None = None
    """Seconds since the epoch; None where the server did not say."""
    scopes: tuple[str, ...] = ()
    """What was granted or, where the server did not say, asked for."""

    def __repr__(self) -> str:
        return f"Grant({self.issuer!r}, {'token' if self.token else 'no token'})"

    __str__ = __repr__


class Kept(BaseModel):
    """All grants of one principal at one server.

    A grant is used only while its issuer is current: credentials are never shown to another
    authorization server (MCP 2026-07-28, client registration).
    """

    model_config = ConfigDict(frozen=True)

    v: Literal[1] = 1
    current: str = ""
    """The issuer that the server named last."""
    grants: dict[str, Grant] = {}
    """By issuer."""
    wanted: tuple[str, ...] = ()
    """Scopes that a call was refused for, to be asked for at the next login."""

    def __repr__(self) -> str:
        return f"Kept({list(self.grants)})"

    __str__ = __repr__

    @property
    def grant(self) -> Grant | None:
        """The grant of the current issuer."""
        return self.grants.get(self.current)

    def with_grant(self, grant: Grant) -> "Kept":
        """With this grant as the current one; those of the longest unused issuers are dropped."""
        rest = {issuer: one for issuer, one in self.grants.items() if issuer != grant.issuer}
        kept = dict(list(rest.items())[-(_MOST_ISSUERS - 1) :])
        return Kept(current=grant.issuer, grants={**kept, grant.issuer: grant})

    def without_token(self) -> "Kept":
        """With the registration of the current issuer, but without its tokens."""
        if self.grant is None:
            return self
        bare = self.grant.model_copy(update={"token": None, "expires_at": None})
        return self.model_copy(update={"grants": {**self.grants, bare.issuer: bare}})


class GrantBook:
    """The vault's page for one principal at one server."""

    def __init__(self, vault: Vault, keys: Keys, principal: Principal, upstream: str) -> None:
        who = [principal.issuer, principal.subject, principal.tenant, upstream]
        mark = hmac.new(keys.derived("oauth pages"), json.dumps(who).encode(), "sha256")
        self._key = f"oauth-{mark.hexdigest()[:32]}"
        self._vault = vault

    @property
    def where(self) -> str:
        """Where the vault keeps its pages, for people."""
        return self._vault.where

    async def read(self) -> Kept:
        """What is kept; nothing where there is no page, or one of another version."""
        page = await self._vault.read(self._key)
        if page is None:
            return Kept()
        try:
            return Kept.model_validate_json(page)
        except ValidationError:
            return Kept()

    async def write(self, kept: Kept) -> None:
        """Keep it."""
        await self._vault.write(self._key, kept.model_dump_json(exclude_none=True).encode())

    def turn(self) -> AbstractAsyncContextManager[None]:
        """One at a time may use the refresh token."""
        return self._vault.turn(self._key)

    async def forget(self) -> None:
        """Keep nothing any more."""
        await self._vault.write(self._key, None)
