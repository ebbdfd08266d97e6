"""Web pages that servers want a person to visit: judged from the address alone, never fetched.

MCP 2026-07-28, client: elicitation, safe URL handling. The address itself is never rewritten: what
a person is shown is what the server sent, with its host named and whatever looks odd said.
"""

import ipaddress
import unicodedata
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from toolcrib.core.invisible import visible
from toolcrib.core.jsontypes import described
from toolcrib.core.quoting import has_surrogates, quoted

MOST_URL: Final = 8_192
"""Characters of an address."""

_DEFAULT_PORTS: Final = {"https": 443, "http": 80}
_CREDENTIALS: Final = frozenset(
    {
        *("access_token", "api_key", "apikey", "bearer_token", "client_secret", "id_token"),
        *("passphrase", "passwd", "password", "private_key", "pwd", "refresh_token"),
    }
)
"""Parameters that would sign in whoever has the address."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page that a person may be sent to, after they agreed."""

    url: str
    """As received: show all of it before it is opened."""
    host: str
    """Whose page it is: to be shown apart, so that nobody has to find it in the address."""
    warnings: tuple[str, ...] = ()
    """What looks odd about the address, in sentences."""


def parse_page(url: object) -> Page | str:
    """A page, or why nobody may be sent there, as words that follow `the address`."""
    if not isinstance(url, str):
        return f"is {described(url)}, not a string"
    if len(url) > MOST_URL:
        return f"has more than {MOST_URL} characters"
    if visible(url) != url or has_surrogates(url) or any(c.isspace() or c == "\\" for c in url):
        return "holds spaces, backslashes or invisible characters"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "is no URL"
    return _fault(parts, host) or Page(url, host, _warnings(parts, host, port))


def _fault(parts: SplitResult, host: str) -> str | None:
    if parts.scheme not in _DEFAULT_PORTS:
        return f"has the scheme {quoted(parts.scheme)}, and only https pages may be visited"
    if not host:
        return "names no host"
    if parts.scheme == "http" and not _is_loopback(host):
        return "is not https"
    if "@" in parts.netloc:
        return "has a user name or password in it"
    members = parse_qsl(parts.query, keep_blank_values=True)
    members += parse_qsl(parts.fragment, keep_blank_values=True)
    for name, _ in members:
        if name.lower().replace("-", "_") in _CREDENTIALS:
            return f"has a credential in it ({quoted(name)})"
    return None


def _warnings(parts: SplitResult, host: str, port: int | None) -> tuple[str, ...]:
    warnings: list[str] = []
    labels = host.split(".")
    if any(label.startswith("xn--") for label in labels):
        warnings.append("the host is written in Punycode: it may look like another one")
    if not host.isascii():
        warnings.append("the host has letters beyond ASCII: it may look like another one")
    if any(len(_scripts(label)) > 1 for label in map(_decoded, labels)):
        warnings.append("the host mixes the letters of several scripts")
    if _is_address(host) and not _is_loopback(host):
        warnings.append("the host is a number, not a name")
    if port is not None and port != _DEFAULT_PORTS[parts.scheme]:
        warnings.append(f"the port is {port}, not the usual one")
    return tuple(warnings)


def _decoded(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label


def _scripts(label: str) -> set[str]:
    """The scripts of a label's letters, as the first word of their Unicode names says.

    Those that Japanese writes together count as one.
    """
    words = {unicodedata.name(char, "?").split()[0] for char in label if char.isalpha()}
    together = {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"}
    return words - together | ({"CJK"} if words & together else set())


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        # Browsers also read `0x7f.1` and `2130706433` as addresses.
        last = host.rstrip(".").rpartition(".")[2]
        return last.isdecimal() or last.lower().startswith("0x")
    return True


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
