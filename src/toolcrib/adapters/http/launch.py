"""What a launch says about each HTTP request: where it goes and which headers it carries.

Checked once, before anything is sent: an error of the HTTP client would quote the value it does not
like.
"""

import re
from base64 import b64encode
from typing import Final
from urllib.parse import unquote_to_bytes

import httpx2

from toolcrib.errors import ConfigError
from toolcrib.settings import HttpLaunch
from toolcrib.version import __version__

__all__ = ["configured_headers", "read_url"]

_NOT_CONFIGURABLE: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "keep-alive",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers of the protocol or the connection: a configured one of these names is not sent."""

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FORBIDDEN: Final = re.compile("[\\x00-\\x08\\x0a-\\x1f\\x7f\\ud800-\\udfff]")


def read_url(launch: HttpLaunch) -> httpx2.URL:
    """The URL of a launch, without its fragment. Raises `ConfigError`."""
    try:
        url = httpx2.URL(launch.url.reveal().strip())
    except (httpx2.InvalidURL, ValueError):
        url = httpx2.URL()
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigError(
            "the URL of the server cannot be used",
            remedy="give a whole URL, such as https://example.com/mcp",
        )
    return url.copy_with(fragment=None)


def configured_headers(launch: HttpLaunch, url: httpx2.URL) -> dict[str, bytes]:
    """The configured headers by lower-case name, checked so that no later error quotes one."""
    headers: dict[str, bytes] = {
        "user-agent": f"toolcrib/{__version__}".encode(),
        "accept-encoding": b"gzip, deflate",
    }
    if url.userinfo:
        headers["authorization"] = b"Basic " + b64encode(unquote_to_bytes(url.userinfo))
    for name, secret in launch.headers.items():
        value = secret.reveal().strip()
        if not _TOKEN.fullmatch(name):
            raise ConfigError(
                "a configured header has a name that HTTP does not allow",
                remedy="give the name alone as the key and the rest as the value",
            )
        if _FORBIDDEN.search(value):
            raise ConfigError(
                f"the value of the header {name} holds a character that HTTP does not allow",
                remedy="correct it; a line break is a frequent cause",
            )
        if name.lower() not in _NOT_CONFIGURABLE:
            headers[name.lower()] = value.encode()
    return headers
