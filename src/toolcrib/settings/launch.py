"""How a server is started or reached."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from toolcrib.settings.secret import Secret

HttpTransport = Literal["auto", "streamable", "sse"]


def _no_secrets() -> Mapping[str, Secret]:
    return {}


@dataclass(frozen=True, slots=True)
class StdioLaunch:
    """A server that is a process of ours."""

    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    """Out of the repr: real configurations pass keys as arguments."""
    env: Mapping[str, Secret] = field(default_factory=_no_secrets)
    """Added to the few variables a child inherits; values may be secrets, so all are."""
    cwd: str | None = None

    @property
    def credentialed(self) -> bool:
        """Whether the process is given variables, any of which may be a credential."""
        return bool(self.env)


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """How tokens for a server are had, where it wants OAuth (MCP 2026-07-28, authorization)."""

    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    """A person logs in (`authorization_code`), or the client itself does (`client_credentials`)."""
    client_id: str | None = None
    """A client registered by hand; without it, metadata documents or dynamic registration are used,
    as the authorization server offers them."""
    client_secret: Secret | None = None
    """Its secret, if it has one; sent in the way that the authorization server offers."""
    private_key: Secret | None = None
    """PEM, for `private_key_jwt` with client credentials."""
    issuer: str | None = None
    """The one authorization server that may be used; needed with client credentials, which would
    else go to whichever one the MCP server names."""
    client_metadata_url: str | None = None
    """Where our Client ID Metadata Document is served, if it is."""
    scopes: tuple[str, ...] = ()
    """Empty: what the server's challenge or metadata asks for."""
    redirect_port: int = 0
    """Port of the loopback address that the browser returns to; 0: a free one."""
    insecure: bool = False
    """Let the MCP server, metadata and token endpoints be plain http or on private addresses. Where
    the MCP server itself is on a loopback address, loopback addresses may in any case."""

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """What of it is secret."""
        return tuple(one for one in (self.client_secret, self.private_key) if one is not None)


@dataclass(frozen=True, slots=True)
class HttpLaunch:
    """A server reached by URL."""

    url: Secret
    """Kept secret as a whole: query strings and user parts of real configurations hold keys."""
    headers: Mapping[str, Secret] = field(default_factory=_no_secrets)
    transport: HttpTransport = "auto"
    """`auto` tries Streamable HTTP and falls back to HTTP+SSE on 400, 404 or 405 without a modern
    body.
    """
    oauth: OAuthSettings | None = None
    """None: no token is asked for; a 401 then says how to configure one."""

    @property
    def credentialed(self) -> bool:
        """Whether requests carry a credential.

        Then a `public` listing is not believed without configuration.
        """
        names = {name.lower() for name in self.headers}
        return bool(
            self.oauth is not None
            or names & {"authorization", "cookie", "proxy-authorization"}
            or any("key" in n or "token" in n for n in names)
        )


Launch = StdioLaunch | HttpLaunch


def launch_digest(secret: bytes, launch: Launch) -> str:
    """The keyed digest of everything that decides which server answers.

    It has 32 hex digits and tells nothing.
    """
    if isinstance(launch, StdioLaunch):
        parts: list[object] = [
            "stdio",
            launch.command,
            list(launch.args),
            sorted((k, v.reveal()) for k, v in launch.env.items()),
            launch.cwd,
        ]
    else:
        headers = sorted((k.lower(), v.reveal()) for k, v in launch.headers.items())
        parts = ["http", launch.url.reveal(), headers, launch.transport]
        if launch.oauth is not None:
            parts += [launch.oauth.grant, launch.oauth.client_id, launch.oauth.issuer]
    message = json.dumps(parts, ensure_ascii=True, separators=(",", ":")).encode()
    return hmac.new(secret, message, hashlib.sha256).hexdigest()[:32]
