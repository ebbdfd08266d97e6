"""`HOST:PORT`, as the command line and `toolcrib.toml` write where the HTTP side listens."""

import re
from typing import Final

from toolcrib.errors import ConfigError

_ADDRESS: Final = re.compile(r"(?:\[([0-9A-Fa-f:.%]+)\]|([^\s:/\[\]]+)):([0-9]{1,5})")
_HIGHEST: Final = 65_535


def parse_http_address(text: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:8770` or `[::1]:8770`; port 0 lets the system choose.

    Raises:
        ConfigError: it is no such address.
    """
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found.group(3)) > _HIGHEST:
        raise ConfigError(
            f"{text!r} is no HOST:PORT", remedy="write 127.0.0.1:8770, or [::1]:8770 for IPv6"
        )
    return found.group(1) or found.group(2), int(found.group(3))
