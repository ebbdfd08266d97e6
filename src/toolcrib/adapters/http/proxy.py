"""Which proxy of the environment stands between us and a server.

`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` (and the settings of macOS and Windows) are
honoured, because people behind a proxy expect it of every program. A loopback address is never
proxied: a local MCP server is not the proxy's business, and many environments forget it in
`NO_PROXY`.
"""

from ipaddress import ip_address, ip_network
from urllib.request import getproxies, proxy_bypass

import httpx2

__all__ = ["choose_proxy", "is_loopback"]


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its very name or address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_exempt(host: str, exemptions: str) -> bool:
    """Whether `NO_PROXY` names a network that holds the host; the library knows names only."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    for entry in exemptions.split(","):
        try:
            if address in ip_network(entry.strip(), strict=False):
                return True
        except ValueError:
            continue
    return False


def choose_proxy(url: httpx2.URL) -> str | None:
    """The URL of the proxy for requests to `url`; None where they go straight."""
    if is_loopback(url.host):
        return None
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(url.host) or _is_exempt(url.host, proxies.get("no", "")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
