"""An MCP server behind OAuth and its authorization servers, all on one loopback port, for tests.

Everything it gives out that must stay secret begins with `CANARY`, so that a test can look for it
in whatever was written.
"""

import base64
import hashlib
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import parse_qs, urlencode, urlsplit

from mcp.shared.auth import AuthorizationCodeResult

from toolcrib.testing.raw_http import RawExchange, RawHttpServer, serve_raw_http

__all__ = ["CANARY", "OAuthWorld", "Walker", "serve_oauth_world"]

CANARY: Final = "CANARY"
"""What every secret of the world begins with."""

_DISCOVERED: Final[dict[str, Any]] = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "guarded", "version": "1"},
    "ttlMs": 0,
    "cacheScope": "private",
}
_ANSWERS: Final[dict[str, dict[str, Any]]] = {
    "server/discover": _DISCOVERED,
    "tools/list": {
        "resultType": "complete",
        "tools": [{"name": "t", "inputSchema": {"type": "object"}}],
        "ttlMs": 0,
        "cacheScope": "private",
    },
    "tools/call": {"resultType": "complete", "content": []},
}


@dataclass(slots=True)
class OAuthWorld:
    """What its parts do; change it at any time."""

    server: RawHttpServer
    authorization_server: str = "one"
    """The path of the one that the server names."""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """Members of the authorization server's metadata to set; None takes one out."""
    resource: dict[str, Any] = field(default_factory=dict[str, Any])
    """The same for the protected resource's."""
    challenge: str | None = None
    """The whole `WWW-Authenticate`, instead of an honest one."""
    issuer_sent: Literal["right", "wrong", "none"] = "right"
    """The `iss` of the redirect (RFC 9207)."""
    lifetime: int | None = 3_600
    """`expires_in` of new tokens."""
    token_status: int = 200
    """What the token endpoint answers."""
    token_body: str | None = None
    """What it answers with, instead of tokens."""
    rotates: bool = True
    """Whether a refresh token is good only once."""
    refreshable: bool = True
    """Whether there are refresh tokens at all."""
    needs: dict[str, str] = field(default_factory=dict[str, str])
    """The scope that a method needs."""
    grants_scopes: bool = True
    """Whether what is asked for is granted."""
    refuses_all: bool = False
    """Whether the MCP server takes no token."""
    issued: int = 0
    """How many access tokens were issued."""
    tokens: dict[str, str] = field(default_factory=dict[str, str])
    """Access tokens that are good, and their scopes."""
    refreshes: dict[str, str] = field(default_factory=dict[str, str])
    """Refresh tokens that are good, and their scopes."""
    executed: list[str] = field(default_factory=list[str])
    """The MCP methods that were carried out."""
    forms: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """What was posted to token endpoints."""
    registrations: list[str] = field(default_factory=list[str])
    """The authorization servers at which somebody registered, in order."""
    _challenges: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    @property
    def base(self) -> str:
        """The origin of everything."""
        return f"http://127.0.0.1:{self.server.port}"

    @property
    def url(self) -> str:
        """The MCP endpoint."""
        return f"{self.base}/mcp"

    @property
    def issuer(self) -> str:
        """The authorization server that the server names."""
        return f"{self.base}/{self.authorization_server}"

    def revoke_all(self) -> None:
        """No access token is good any more."""
        self.tokens.clear()

    def asked(self, path: str) -> int:
        """How many requests there were for paths that begin so."""
        return sum(one.path.startswith(path) for one in self.server.requests)

    # ---- the parts ----

    async def answer(self, request: RawExchange) -> None:
        """Answer a request to any of them."""
        parts = urlsplit(request.path)
        words = parts.path.strip("/").split("/")
        match words:
            case ["mcp"]:
                await self._serve_mcp(request)
            case [".well-known", "oauth-protected-resource", *_]:
                honest = {"resource": self.url, "authorization_servers": [self.issuer]}
                await _json(request, 200, _changed(honest, self.resource))
            case [".well-known", "oauth-authorization-server", name]:
                await _json(request, 200, _changed(self._metadata(name), self.metadata))
            case [name, "register"]:
                self.registrations.append(name)
                told = {"client_id": f"client-{name}", "client_secret": f"{CANARY}-client-{name}"}
                how = {"token_endpoint_auth_method": "client_secret_post"}
                redirects = {"redirect_uris": json.loads(request.body)["redirect_uris"]}
                await _json(request, 201, {**told, **how, **redirects})
            case [name, "authorize"]:
                await request.reply(302, location=self.redirect(name, parse_qs(parts.query)))
            case [_, "token"]:
                await self._serve_token(request)
            case [_, "revoke"]:
                self.revoke_all()
                await request.reply(200)
            case _:
                await request.reply(404)

    def _metadata(self, name: str) -> dict[str, Any]:
        issuer = f"{self.base}/{name}"
        return {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "registration_endpoint": f"{issuer}/register",
            "revocation_endpoint": f"{issuer}/revoke",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }

    async def _serve_mcp(self, request: RawExchange) -> None:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        scopes = None if self.refuses_all else self.tokens.get(token)
        if scopes is None:
            words = f'resource_metadata="{self.base}/.well-known/oauth-protected-resource/mcp"'
            text = f'Bearer {words}, error="invalid_token"' if token else f"Bearer {words}"
            await request.reply(401, www_authenticate=self.challenge or text)
            return
        if request.method != "POST":
            await request.reply(405)
            return
        method = request.message["method"]
        need = self.needs.get(method, "")
        if need and need not in scopes.split():
            text = f'Bearer error="insufficient_scope", scope="{need}"'
            await request.reply(403, www_authenticate=text)
            return
        self.executed.append(method)
        if method in _ANSWERS:
            await request.answer(result=_ANSWERS[method])
        else:
            error = {"code": -32601, "message": f"no {method} with {token}"}
            await request.answer(status=404, error=error)

    def redirect(self, name: str, query: dict[str, list[str]]) -> str:
        """Where an authorization endpoint sends the browser, with a new code."""
        asked = {key: values[0] for key, values in query.items()}
        code = f"{CANARY}-code-{len(self._challenges)}"
        self._challenges[code] = (asked["code_challenge"], asked.get("scope", ""))
        answer = {"code": code, "state": asked["state"]}
        if self.issuer_sent != "none":
            wrong = self.issuer_sent == "wrong"
            answer["iss"] = "https://evil.example" if wrong else f"{self.base}/{name}"
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    async def _serve_token(self, request: RawExchange) -> None:
        form = {key: values[0] for key, values in parse_qs(request.body.decode()).items()}
        self.forms.append(form)
        if self.token_body is not None or self.token_status != 200:  # noqa: PLR2004 - HTTP's
            body = self.token_body or json.dumps({"error": "invalid_grant", "x": f"{CANARY}-body"})
            await request.reply(self.token_status, body.encode(), content_type="application/json")
            return
        scopes = self._granted(form)
        if scopes is None:
            await _json(request, 400, {"error": "invalid_grant", "error_description": CANARY})
            return
        await _json(request, 200, self._issue(scopes))

    def _granted(self, form: dict[str, str]) -> str | None:
        match form["grant_type"]:
            case "authorization_code":
                challenge, scopes = self._challenges.pop(form["code"], ("", ""))
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                sent = base64.urlsafe_b64encode(digest).decode().rstrip("=")
                return scopes if sent == challenge else None
            case "refresh_token":
                old = form["refresh_token"]
                return self.refreshes.pop(old, None) if self.rotates else self.refreshes.get(old)
            case _:
                return form.get("scope", "")

    def _issue(self, scopes: str) -> dict[str, Any]:
        self.issued += 1
        access, refresh = f"{CANARY}-access-{self.issued}", f"{CANARY}-refresh-{self.issued}"
        granted = scopes if self.grants_scopes else ""
        self.tokens[access] = granted
        answer: dict[str, Any] = {"access_token": access, "token_type": "Bearer", "scope": granted}
        if self.lifetime is not None:
            answer["expires_in"] = self.lifetime
        if self.refreshable:
            self.refreshes[refresh] = scopes
            answer["refresh_token"] = refresh
        return answer


class Walker:
    """A person who agrees to everything at once: follows the redirect without a browser."""

    redirect_uri = "http://127.0.0.1:3999/callback"
    """Where nobody listens: the redirect is read, not followed."""

    def __init__(self, world: OAuthWorld) -> None:
        self._world = world
        self.urls: list[str] = []
        """Every address that was shown."""

    async def authorise(self, url: str) -> AuthorizationCodeResult:
        """What the authorization server sends the browser back with."""
        self.urls.append(url)
        parts = urlsplit(url)
        name = parts.path.strip("/").split("/")[0]
        back = urlsplit(self._world.redirect(name, parse_qs(parts.query)))
        answer = {key: values[0] for key, values in parse_qs(back.query).items()}
        return AuthorizationCodeResult(
            code=answer["code"], state=answer["state"], iss=answer.get("iss")
        )


def _changed(honest: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in (honest | change).items() if value is not None}


async def _json(request: RawExchange, status: int, document: object) -> None:
    await request.reply(status, json.dumps(document).encode(), content_type="application/json")


@asynccontextmanager
async def serve_oauth_world() -> AsyncGenerator[OAuthWorld]:
    """A world as long as the context lasts."""
    made: list[OAuthWorld] = []

    async def answer(request: RawExchange) -> None:
        await made[0].answer(request)

    async with serve_raw_http(answer) as server:
        made.append(OAuthWorld(server))
        yield made[0]
