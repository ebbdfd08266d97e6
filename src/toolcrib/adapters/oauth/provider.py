"""The SDK's OAuth flows, with what it leaves unchecked checked before anything depends on it.

The SDK sends PKCE without asking whether the server knows it, goes on without metadata, registers
anew where the server changes under a client that was registered by hand, and never sends the secret
of such a client (DUTIES A9, A14).
"""

import secrets
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, urlsplit

import httpx2
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, TokenStorage
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.utils import (
    is_valid_client_metadata_url,
    issuers_match,
    union_scopes,
    validate_authorization_response_iss,
)
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url

from toolcrib.adapters.oauth.addresses import AddressGuard
from toolcrib.adapters.oauth.grant import Grant
from toolcrib.adapters.oauth.person import Person
from toolcrib.core.quoting import quoted
from toolcrib.errors import AuthRequired, ConfigError
from toolcrib.settings import OAuthSettings

__all__ = ["Commission", "Provider", "make_provider"]

_CURVES: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}


@dataclass(frozen=True, slots=True)
class Commission:
    """What one flow is to bring, and what it may use."""

    settings: OAuthSettings
    server_url: str
    """Without query, user part and fragment: it is sent as the resource."""
    guard: AddressGuard
    grant: Grant | None = None
    """What is held already."""
    person: Person | None = None
    scopes: tuple[str, ...] = ()
    """To be asked for beside those of the settings and of the challenge."""


class _Draft(TokenStorage):
    """Holds what the SDK stores during one flow; the vault is written once, at its end."""

    def __init__(self, token: OAuthToken | None, client: OAuthClientInformationFull | None) -> None:
        self._token = token
        self._client = client

    async def get_tokens(self) -> OAuthToken | None:
        return self._token

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._token = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


class Provider(OAuthClientProvider):
    """A flow of the SDK that asks `approve` before it registers, asks a person, or wants a token.

    One serves one flow. `commission` is set by `make_provider` before it is used.
    """

    commission: Commission
    _authorization_url: str = ""

    def approve(self) -> None:
        """Settle scopes and client authentication; raise `AuthRequired` where it must not go on."""
        settings, context = self.commission.settings, self.context
        metadata = context.oauth_metadata
        if metadata is None:
            raise AuthRequired(
                "no metadata of the authorization server was found",
                remedy="the server must publish it as RFC 8414 or OpenID Connect discovery say",
            )
        issuer = str(metadata.issuer)
        if settings.issuer is not None and not issuers_match(issuer, settings.issuer):
            raise AuthRequired(
                f"the server names the authorization server {quoted(issuer, 200)}, but another "
                "one is configured",
                remedy="correct oauth.issuer, if you trust that server",
            )
        if settings.grant == "authorization_code":
            _require_pkce(metadata)
        if settings.client_id is not None:
            self._approve_configured_client(metadata)
        wanted = " ".join([*settings.scopes, *self.commission.scopes])
        scope = None if settings.scopes else context.client_metadata.scope
        context.client_metadata.scope = union_scopes(scope, wanted) or None

    def _approve_configured_client(self, metadata: OAuthMetadata) -> None:
        client = self.context.client_info
        if client is None or client.client_id != self.commission.settings.client_id:
            raise AuthRequired(
                "the server now names another authorization server than the one that the "
                "configured client was used with",
                remedy="set oauth.issuer to the one that you trust",
            )
        if client.client_secret is not None:
            method = _secret_method(metadata)
            self.context.client_info = client.model_copy(
                update={"token_endpoint_auth_method": method}
            )

    async def _perform_authorization(self) -> httpx2.Request:
        self.approve()
        return await super()._perform_authorization()

    async def _validate_resource_match(self, prm: ProtectedResourceMetadata) -> None:
        """Raise `AuthRequired` unless the metadata is that of the server (RFC 9728, 3.3)."""
        wanted = resource_url_from_server_url(self.context.server_url)
        if not check_resource_allowed(wanted, str(prm.resource)):
            raise AuthRequired(
                f"the resource metadata speaks of {quoted(str(prm.resource), 200)}, which is "
                "another server",
                remedy="configure the URL that it names, if that is the server you mean",
            )

    async def open_url(self, url: str) -> None:
        """Take the authorization URL; the person gets it from `come_back`."""
        self.commission.guard.check(httpx2.URL(url), "the authorization page")
        self._authorization_url = url

    async def come_back(self) -> AuthorizationCodeResult:
        """What the person came back with, `state` and `iss` checked (RFC 9207, 2.4)."""
        person = self.commission.person
        if person is None:
            raise AuthRequired("a person has to log in")
        url = self._authorization_url
        result = await person.authorise(url)
        state = parse_qs(urlsplit(url).query)["state"][0]
        if not secrets.compare_digest(result.state or "", state):
            raise AuthRequired("the answer to the authorization is not one to our question")
        try:
            validate_authorization_response_iss(result.iss, self.context.oauth_metadata)
        except OAuthFlowError:
            raise AuthRequired(
                "the answer to the authorization does not come from the authorization server that "
                "was asked (iss)",
                remedy="do not log in; tell whoever runs the server",
            ) from None
        return result


class _SecretProvider(Provider, ClientCredentialsOAuthProvider):
    """Client credentials with a secret."""


class _KeyProvider(Provider, PrivateKeyJWTOAuthProvider):
    """Client credentials with a key."""


def _require_pkce(metadata: OAuthMetadata) -> None:
    """Absent counts as unsupported (MCP 2026-07-28, authorization security: code protection)."""
    if "S256" not in (metadata.code_challenge_methods_supported or ()):
        raise AuthRequired(
            "the authorization server does not say that it supports PKCE with S256",
            remedy="its metadata must list S256 in code_challenge_methods_supported",
        )


def _secret_method(metadata: OAuthMetadata) -> str:
    """How the secret is sent; a server that says nothing means basic (RFC 8414, 2)."""
    offered = metadata.token_endpoint_auth_methods_supported or ["client_secret_basic"]
    for method in ("client_secret_basic", "client_secret_post"):
        if method in offered:
            return method
    raise AuthRequired(
        "the authorization server takes no client secret",
        remedy="configure oauth.private_key, or leave oauth.client_secret out",
    )


def make_provider(commission: Commission) -> Provider:
    """The flow for the configured grant. Raises `ConfigError` for settings that cannot be used."""
    settings = commission.settings
    provider = (
        _credentials_provider(commission)
        if settings.grant == "client_credentials"
        else _code_provider(commission)
    )
    provider.commission = commission
    grant = commission.grant
    if grant is not None:
        provider.context.oauth_metadata = grant.server
        provider.context.protected_resource_metadata = grant.resource
        if grant.resource is not None:
            provider.context.auth_server_url = grant.issuer
    return provider


def _credentials_provider(commission: Commission) -> Provider:
    settings, url = commission.settings, commission.server_url
    token = commission.grant.token if commission.grant else None
    storage = _Draft(token, None)
    if settings.client_id is None or settings.issuer is None:
        raise ConfigError(
            "client credentials need a client and the one server that may see them",
            remedy="set oauth.client_id and oauth.issuer",
        )
    scope = " ".join(settings.scopes) or None
    if settings.private_key is not None:
        pem = settings.private_key.reveal()
        assertions = SignedJWTParameters(
            issuer=settings.client_id,
            subject=settings.client_id,
            signing_key=pem,
            signing_algorithm=_algorithm(pem),
        )
        return _KeyProvider(
            url,
            storage,
            settings.client_id,
            assertions.create_assertion_provider(),
            scope,
            settings.issuer,
        )
    if settings.client_secret is None:
        raise ConfigError(
            "client credentials need a secret or a key",
            remedy="set oauth.client_secret or oauth.private_key",
        )
    return _SecretProvider(
        url,
        storage,
        settings.client_id,
        settings.client_secret.reveal(),
        scope=scope,
        issuer=settings.issuer,
    )


def _algorithm(pem: str) -> str:
    """The JWS algorithm of a private key."""
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ConfigError(
            "the private key cannot be read",
            remedy="give oauth.private_key as PEM without a password",
        ) from None
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return _CURVES.get(key.curve.name, "ES256")
    return "EdDSA" if isinstance(key, ed25519.Ed25519PrivateKey) else "RS256"


def _code_provider(commission: Commission) -> Provider:
    settings, person, grant = commission.settings, commission.person, commission.grant
    redirect = person.redirect_uri if person is not None else "http://127.0.0.1/callback"
    url = settings.client_metadata_url
    if url is not None and not is_valid_client_metadata_url(url):
        raise ConfigError(
            "the client metadata document has no https URL with a path",
            remedy="correct oauth.client_metadata_url",
        )
    provider = Provider(
        commission.server_url,
        OAuthClientMetadata.model_validate(
            {"client_name": "toolcrib", "redirect_uris": [redirect]}
        ),
        _Draft(grant.token if grant else None, _code_client(commission, redirect)),
        client_metadata_url=url,
    )
    context = provider.context
    context.redirect_handler = provider.open_url
    context.callback_handler = provider.come_back
    return provider


def _code_client(commission: Commission, redirect: str) -> OAuthClientInformationFull | None:
    """The client to use: the configured one, or the registered one if it still fits."""
    settings, grant = commission.settings, commission.grant
    if settings.client_id is not None:
        known = grant.client if grant is not None else None
        same = known if known is not None and known.client_id == settings.client_id else None
        secret = settings.client_secret.reveal() if settings.client_secret else None
        return OAuthClientInformationFull(
            client_id=settings.client_id,
            client_secret=secret,
            issuer=settings.issuer or (grant.issuer if grant is not None else None),
            token_endpoint_auth_method=same.token_endpoint_auth_method if same else None,
        )
    if grant is None or commission.person is None:
        return grant.client if grant is not None else None
    fits = redirect in [str(one) for one in grant.client.redirect_uris or ()]
    return grant.client if fits else None
