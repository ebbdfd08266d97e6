"""Asking a host of a handshake revision while its request is under way.

The question goes out on the stream of the request that it belongs to, and only what the host
declared in its handshake is asked (MCP 2025-11-25, lifecycle: operation).
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import anyio
from mcp_types import INTERNAL_ERROR, METHOD_NOT_FOUND

from toolcrib.errors import CapabilityMissing, UpstreamRefused
from toolcrib.protocol.questions import CAPABILITY_OF, lacking

Put = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Sends a question to the host and waits for its result; raises `UpstreamRefused` for an error."""

AT_ONCE: Final = 32
"""Questions of one request that may wait for their answers at one time."""


class Asking:
    """A `ports.Ask` for one request of a host.

    Args:
        capabilities: What the host declared.
        put: Sends a question and waits.
        seconds: How long it is waited for an answer: a host need not ever give one.
    """

    def __init__(self, capabilities: Mapping[str, Any], put: Put, seconds: float) -> None:
        self._capabilities = capabilities
        self._put = put
        self._seconds = seconds
        self._open = 0

    async def __call__(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The host's result, as received.

        Raises:
            CapabilityMissing: The host did not declare that it can be asked this; nothing was sent.
            UpstreamRefused: The host answered with an error, or not at all.
        """
        if method not in CAPABILITY_OF:
            raise UpstreamRefused(f"hosts are not asked {method}", rpc_code=METHOD_NOT_FOUND)
        if missing := lacking(method, params, self._capabilities):
            raise CapabilityMissing(
                f"the host cannot be asked {method}: it did not declare {_named(missing)}",
                details={"requiredCapabilities": missing},
            )
        if self._open >= AT_ONCE:
            raise UpstreamRefused(
                f"more than {AT_ONCE} questions of one request are open", rpc_code=INTERNAL_ERROR
            )
        self._open += 1
        try:
            with anyio.move_on_after(self._seconds):
                return await self._put(method, params)
        finally:
            self._open -= 1
        raise UpstreamRefused(
            f"the host did not answer {method} within {self._seconds:g} s", rpc_code=INTERNAL_ERROR
        )


def _named(missing: Mapping[str, Mapping[str, Any]]) -> str:
    """Capabilities in words, such as `elicitation.url`."""
    return ", ".join(".".join((name, *parts)) for name, parts in missing.items())
