"""One caller of a gateway, as a host asks on behalf of a model: meta-tools and tools by name."""

from typing import Any

from toolcrib.core.partition import LOCAL, Principal
from toolcrib.gateway.server import Gateway
from toolcrib.testing.fake_service import host_request
from toolcrib.wire.faults import RpcFault
from toolcrib.wire.jsonwire import Prepared, encode_result


class AskingHost:
    """Asks a gateway under one handle, which other processes on the same store may meet.

    Args:
        gateway: Whom it asks.
        handle: Tells it from others of its principal; empty: nothing does.
        principal: Whose host it is.
    """

    def __init__(self, gateway: Gateway, handle: str = "", principal: Principal = LOCAL) -> None:
        self.gateway = gateway
        self.handle = handle
        self.principal = principal

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of any request."""
        result = await self._answer(method, params)
        return result.as_dict() if isinstance(result, Prepared) else result

    async def listing(self) -> bytes:
        """`tools/list` as it goes out."""
        return encode_result(await self._answer("tools/list", {}))

    async def names(self) -> list[str]:
        """The names in `tools/list`."""
        return [tool["name"] for tool in (await self.ask("tools/list"))["tools"]]

    async def tool(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of one tool or meta-tool; an error of the protocol is one with its code."""
        try:
            return await self.ask("tools/call", name=name, arguments=arguments)
        except RpcFault as fault:
            said = {"code": str(fault.code), "message": fault.message}
            return {"isError": True, "content": [], "structuredContent": {"error": said}}

    async def text(self, name: str, /, **arguments: Any) -> str:
        """What a tool answers in words."""
        return text_of(await self.tool(name, **arguments))

    async def code(self, name: str, /, **arguments: Any) -> str:
        """Why a tool was not called; empty where it was."""
        return code_of(await self.tool(name, **arguments))

    async def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any] | Prepared:
        meta = {"_meta": {"dev.toolcrib/handle": self.handle}} if self.handle else {}
        request = host_request(
            method, {**params, **meta}, handle=self.handle, principal=self.principal
        )
        return await self.gateway.answer(request)


def text_of(result: dict[str, Any]) -> str:
    """All text of a result, or of the error in it."""
    blocks: list[dict[str, Any]] = result.get("content") or []
    return "\n".join(block["text"] for block in blocks if block.get("type") == "text")


def error_of(result: dict[str, Any]) -> dict[str, Any]:
    """The error in the result of a call that was refused; empty where it was not."""
    structured: dict[str, Any] = result.get("structuredContent") or {}
    return structured.get("error") or {}


def code_of(result: dict[str, Any]) -> str:
    """The code of that error; empty where there is none."""
    return str(error_of(result).get("code", ""))
