"""Where tokens come into HTTP requests, and how it is told that none could be had.

A challenge proves that the request was not executed (RFC 9110, 15.5.2 and 15.5.4), so the endpoint
sends it again with what the authoriser gives for it.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import httpx2
from mcp_types import ErrorData

from toolcrib.adapters.http.outcome import TRANSPORT_FAILED, HttpOutcome, join_outcome
from toolcrib.errors import AuthRequired, ToolcribError
from toolcrib.settings import Secret, ServerSettings

__all__ = ["CHALLENGES", "Authoriser", "AuthoriserSource", "refusal_error"]

CHALLENGES: Final = frozenset({401, 403})
"""The statuses that may ask for a token, for another one, or for one with more rights."""


class Authoriser(Protocol):
    """Has the tokens for one server and one principal; shared by all their connections."""

    async def token(self) -> Secret | None:
        """The access token to send; None where there is none yet.

        Raises `UpstreamUnreachable` where one has run out and the authorization server is away.
        """
        ...

    async def challenged(self, response: httpx2.Response, sent: Secret | None) -> Secret | None:
        """What to send instead of `sent`, which the server answered with 401 or 403.

        None where the answer is not about tokens. Raises `AuthRequired` where a person has to act,
        and `UpstreamUnreachable` where the authorization server is away.
        """
        ...

    def accepted(self, sent: Secret) -> None:
        """The server let a request with this token pass."""
        ...

    def secrets(self) -> Sequence[Secret]:
        """What no error of the server may quote."""
        ...


class AuthoriserSource(Protocol):
    """Knows the authoriser of each server."""

    def for_server(self, server: ServerSettings) -> Authoriser | None:
        """The authoriser of a server; None where none is configured.

        Raises `AuthRequired` or `ConfigError` where the configured one cannot be used.
        """
        ...


def refusal_error(error: ToolcribError) -> ErrorData:
    """The JSON-RPC error of a request that an authoriser could not help."""
    status = error.details.get("http_status", 401) if isinstance(error, AuthRequired) else None
    return join_outcome(
        ErrorData(code=TRANSPORT_FAILED, message=error.message),
        HttpOutcome(
            status=status,
            fault=None if status is not None else "authorization",
            remedy=error.remedy,
        ),
    )
