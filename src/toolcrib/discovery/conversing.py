"""One caller's conversation: what it is shown, and its calls, as a `Toolset` is handed them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from toolcrib.calls.call import Requester
from toolcrib.calls.results.refusal import refusal
from toolcrib.context.exhibit import Exhibit
from toolcrib.core.exposure import Wanted
from toolcrib.discovery.discovering import Discovery
from toolcrib.discovery.meta.definitions import CALL
from toolcrib.errors import SchemaChanged, ToolcribError

Call = Callable[[str, Mapping[str, Any] | None, str], Awaitable[dict[str, Any]]]
"""Calls a tool: (exposed name, arguments, contract that was seen) -> result for a model."""


class Conversing:
    """Implements `Exhibits` and `Caller` for one caller.

    Args:
        discovery: Of the caller's principal.
        requester: The caller.
        call: Makes the calls of tools.
    """

    def __init__(self, discovery: Discovery, requester: Requester, call: Call) -> None:
        self._discovery = discovery
        self._requester = requester
        self._call = call

    async def current(self, exposure: Wanted) -> Exhibit:
        """What may be shown now, as `Exhibits` describes it."""
        return await self._discovery.showing.exhibit(exposure, self._requester)

    async def call(self, name: str, arguments: dict[str, Any], *, seen: str) -> dict[str, Any]:
        """The result of a tool or meta-tool, as `Caller` describes it."""
        meta = self._discovery.meta
        if name == CALL:
            inner = meta.inner(arguments)
            try:
                return await self._call(inner.name, inner.arguments, seen)
            except SchemaChanged:
                raise  # whoever knows what the model saw takes note of what it is told now
            except ToolcribError as error:
                return refusal(error, inner.name)
        if name in meta.names():
            return await meta.call(name, arguments, self._requester)
        return await self._call(name, arguments, seen)

    def refusal(self, error: ToolcribError, name: str) -> dict[str, Any]:
        """The result that tells a model of an error."""
        return refusal(error, name)
