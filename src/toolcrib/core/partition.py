"""Who is asking, and which catalogs may be shared.

A partition is a tuple of named dimensions, never a joined string.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass

from toolcrib.core.snapshot import Kind, Scope


@dataclass(frozen=True, slots=True)
class Principal:
    """A verified caller. Tokens are never part of it."""

    issuer: str
    subject: str
    client: str = ""
    audience: str = ""
    scopes: tuple[str, ...] = ()
    """Sorted, without duplicates."""
    tenant: str = ""

    def __post_init__(self) -> None:
        if not self.issuer or not self.subject:
            raise ValueError("a principal needs an issuer and a subject")
        if tuple(sorted(set(self.scopes))) != self.scopes:
            raise ValueError("scopes must be sorted and unique; use Principal.with_scopes")


LOCAL = Principal(issuer="local", subject="local")
"""Whoever runs the process: the one principal of a stdio gateway, the library and the command line.
"""

ANONYMOUS = Principal(issuer="anonymous", subject="anonymous")
"""Every HTTP caller without a verified identity: they all see the same."""


@dataclass(frozen=True, slots=True)
class Partition:
    """The dimensions that separate the catalogs of one server (DUTIES 2.2, trap 11)."""

    principal: Principal | None
    """None: shared by all principals, as far as the server's `cacheScope` and our policy allow."""
    capabilities: tuple[str, ...] = ()
    """The capability class we declared: servers list different tools for different client
    capabilities.
    """
    protocol: str = ""
    """The revision the catalog was listed in; a change of era starts a new connection, not a new
    catalog, so this stays empty unless a server is configured to differ by revision.
    """
    cohort: str = ""
    """A pure function of the verified principal (rollouts); anonymous callers are one cohort."""
    locale: str = ""
    token: str = ""
    """Keyed digest of the access token in the strict per-token mode; empty otherwise. Never a
    token.
    """

    def __post_init__(self) -> None:
        if tuple(sorted(set(self.capabilities))) != self.capabilities:
            raise ValueError("capabilities must be sorted and unique")
        if self.principal is None and (self.cohort or self.token):
            raise ValueError("a shared partition has neither cohort nor token")

    @property
    def shared(self) -> bool:
        """Whether several principals may be served from this partition."""
        return self.principal is None


def may_share(claimed: Scope, *, credentialed: bool, trust_public: bool) -> bool:
    """Whether a listing with this claimed scope may be served to other principals.

    `public` is only the server's claim: behind a credential it is believed by configuration alone
    (MCP 2026-07-28, caching: security).
    """
    return claimed is Scope.PUBLIC and (trust_public or not credentialed)


def catalog_key(secret: bytes, launch_digest: str, kind: Kind, partition: Partition) -> str:
    """The PID: the key of one catalog in a store.

    It has 32 hex digits, and is keyed so that it tells nothing about its parts.
    """
    principal = partition.principal
    parts = [
        launch_digest,
        kind.label,
        None
        if principal is None
        else [
            principal.issuer,
            principal.subject,
            principal.client,
            principal.audience,
            list(principal.scopes),
            principal.tenant,
        ],
        list(partition.capabilities),
        partition.protocol,
        partition.cohort,
        partition.locale,
        partition.token,
    ]
    message = json.dumps(parts, ensure_ascii=True, separators=(",", ":")).encode()
    return hmac.new(secret, message, hashlib.sha256).hexdigest()[:32]
