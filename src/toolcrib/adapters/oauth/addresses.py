"""Which URLs an OAuth flow may touch: each comes from a server, and any may point anywhere.

MCP 2026-07-28, security best practices: server-side request forgery. The SDK checks neither scheme
nor address.
"""

from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

import anyio
import httpx2

from toolcrib.adapters.http.proxy import choose_proxy, is_loopback
from toolcrib.core.quoting import quoted
from toolcrib.errors import AuthRequired

__all__ = ["AddressGuard", "Resolve", "system_resolve"]

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a host name; raises `OSError` where it has none."""

_PORTS: Final = {"http": 80, "https": 443}
_TRANSLATION: Final = ip_network("64:ff9b::/96")
_LOCAL_TRANSLATION: Final = ip_network("64:ff9b:1::/48")
"""Where IPv4 addresses stand in IPv6 (RFC 6052, RFC 8215)."""
_COMPATIBLE: Final = ip_network("::/96")
"""Where they stood first (RFC 4291, 2.5.5.1)."""
_REMEDY: Final = "set oauth.insecure for the server, if you trust it with your network"


async def system_resolve(host: str, port: int) -> list[str]:
    """What the system's name service says, in its order."""
    found = await anyio.getaddrinfo(host, port)
    return list(dict.fromkeys(str(address[0]) for _, _, _, _, address in found))


def _is_public(text: str) -> bool:
    """Whether an address is one of the public internet, whatever it is wrapped in."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast
    if address.ipv4_mapped is not None:
        return _is_public(str(address.ipv4_mapped))
    if address.is_site_local or address in _COMPATIBLE:
        return False
    if any(not one.is_global for one in _wrapped(address)) or address in _LOCAL_TRANSLATION:
        return False
    return address.is_global and not address.is_multicast


def _wrapped(address: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that a router on the way may make of it: 6to4, Teredo, NAT64."""
    found = [] if address.sixtofour is None else [address.sixtofour]
    found += address.teredo or ()
    if address in _TRANSLATION:
        found.append(IPv4Address(int(address) & 0xFFFF_FFFF))
    return found


class AddressGuard:
    """Refuses what a flow must not touch, by scheme, by name and by resolved address."""

    def __init__(
        self, server: httpx2.URL, *, insecure: bool, resolve: Resolve = system_resolve
    ) -> None:
        self._server = server
        self._insecure = insecure
        self._resolve = resolve

    def check(self, url: httpx2.URL, what: str) -> None:
        """Raise `AuthRequired` unless the URL may be used; `what` says whose it is, for people.

        It must be https, or http on a loopback address where the server itself is on one; literal
        private, link-local and other special addresses are refused.
        """
        host = url.host
        if url.scheme not in _PORTS or not host or url.userinfo:
            raise self._refuse(what, "is no plain http or https URL")
        if self._insecure:
            return
        if is_loopback(host):
            if not is_loopback(self._server.host):
                raise self._refuse(what, "is on this machine, although the server is not")
            return
        if url.scheme != "https":
            raise self._refuse(what, f"on {quoted(host)} is not https")
        if self._is_literal(host) and not (self._is_servers_own(host) or _is_public(host)):
            raise self._refuse(what, f"is on the private address {quoted(host)}")

    async def places(self, url: httpx2.URL, what: str) -> list[str]:
        """The addresses to connect to, all of them checked; empty: connect by name.

        By name means: a loopback host, one that the person configured, or one that a proxy
        resolves. A name is resolved once, here: were it resolved again for the connection, the
        second answer could differ from the one that was checked (DNS rebinding).
        """
        self.check(url, what)
        host = url.host
        if self._insecure or is_loopback(host) or self._is_literal(host):
            return []
        if self._is_servers_own(host) or choose_proxy(url) is not None:
            return []
        found = await self._resolve(host, url.port or _PORTS[url.scheme])
        if not found or not all(_is_public(address) for address in found):
            raise self._refuse(what, f"on {quoted(host)} leads to a private address")
        return found

    def _is_servers_own(self, host: str) -> bool:
        """Whether it is the host that the person configured: that one may be anywhere."""
        return host == self._server.host

    @staticmethod
    def _is_literal(host: str) -> bool:
        try:
            ip_address(host)
        except ValueError:
            return False
        return True

    @staticmethod
    def _refuse(what: str, why: str) -> AuthRequired:
        return AuthRequired(f"{what} {why}, so it is not used", remedy=_REMEDY)
