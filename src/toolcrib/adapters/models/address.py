"""Where a model's API is, and whether its key may travel there."""

from typing import Final

import httpx2

from toolcrib.adapters.http.proxy import is_loopback
from toolcrib.core.quoting import quoted
from toolcrib.errors import ConfigError
from toolcrib.settings import Secret

__all__ = ["header_value", "read_address"]

_SCHEMES: Final = frozenset({"http", "https"})
_WHAT: Final = "the URL of the small model"


def read_address(text: str, key: Secret | None) -> httpx2.URL:
    """The URL of an API, without a fragment and a slash at its end.

    Raises:
        ConfigError: It is no http or https URL, holds a user or a password, or would carry the key
            in the clear: beyond this machine a key takes https.
    """
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, ValueError):
        url = httpx2.URL()
    if url.scheme not in _SCHEMES or not url.host:
        raise ConfigError(
            f"{_WHAT} is no http or https URL",
            remedy="write it whole, such as http://127.0.0.1:11434/v1",
        )
    if url.userinfo:
        raise ConfigError(
            f"{_WHAT} holds a user or a password",
            remedy="take them out, and configure the key by itself",
        )
    if key is not None and url.scheme != "https" and not is_loopback(url.host):
        raise ConfigError(
            f"the key of the small model would go to {quoted(url.host)} unencrypted",
            remedy="use an https URL, or none but an address of this machine",
        )
    return url.copy_with(path=url.path.rstrip("/"), fragment=None)


def header_value(key: Secret) -> str:
    """The key as it stands in a header.

    Raises:
        ConfigError: It has characters that no header carries; a line break, mostly.
    """
    value = key.reveal()
    if not (value and value.isascii() and value.isprintable()):
        raise ConfigError(
            "the key of the small model is empty, or has characters that no key has",
            remedy="look at where it comes from: a file may end in a line break",
        )
    return value
