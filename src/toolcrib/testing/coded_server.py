"""A scripted server whose tools are functions of a test, and programs that call them."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from toolcrib.core.partition import LOCAL, Principal
from toolcrib.ports import Era
from toolcrib.settings import GatewaySettings
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway
from toolcrib.wire.faults import RpcFault
from toolcrib.wire.jsonwire import Prepared

Function = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""Takes the arguments of a call; gives the `CallToolResult`."""

ASKABLE: Final[Mapping[str, Any]] = {"elicitation": {"form": {}, "url": {}}}
"""The capabilities of a host that can ask a person."""


def texts(*parts: str, failed: bool = False) -> dict[str, Any]:
    """A result of texts."""
    content = [{"type": "text", "text": part} for part in parts]
    result: dict[str, Any] = {"content": content, "resultType": "complete"}
    return {**result, "isError": True} if failed else result


def structured(value: object) -> dict[str, Any]:
    """A result with structured content."""
    return {**texts(json.dumps(value)), "structuredContent": value}


class CodedServer(ScriptedUpstream):
    """A server whose tools are functions; one that has none answers with its arguments.

    Args:
        functions: By the tool's name.
        definitions: Of its tools; those that are missing take anything.
        era: Which revision it speaks.
    """

    def __init__(
        self,
        functions: Mapping[str, Function] | None = None,
        *definitions: Mapping[str, Any],
        era: Era = "modern",
    ) -> None:
        self.functions = dict(functions or {})
        defined = [it["name"] for it in definitions]
        loose = [tool(name) for name in self.functions if name not in defined]
        super().__init__([*definitions, *loose], era=era, ttl_ms=60_000)
        self.params: dict[str, Any] = {}
        """The parameters of the call that is answered."""
        self.on_call = self._answered

    async def _answered(self, _method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.params = dict(params)
        arguments = dict(params.get("arguments") or {})
        function = self.functions.get(params["name"])
        return structured(arguments) if function is None else await function(arguments)

    @property
    def called(self) -> list[str]:
        """The names of the tools that were called."""
        return [params["name"] for _, params in self.calls]


class CodingHost:
    """A modern host of one principal, which runs programs one request at a time."""

    def __init__(
        self,
        gateway: ScriptedGateway,
        handle: str = "",
        principal: Principal = LOCAL,
        capabilities: Mapping[str, Any] = ASKABLE,
    ) -> None:
        self.gateway = gateway
        self._who: dict[str, Any] = {
            "handle": handle,
            "principal": principal,
            "capabilities": capabilities,
        }
        self._meta = {"_meta": {"dev.toolcrib/handle": handle}} if handle else {}

    async def run(self, code: str, **others: Any) -> dict[str, Any]:
        """The answer to `run_code`; `others` are further members of the request."""
        return await self._asked("run_code", {"code": code}, others)

    async def tool(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The answer of any other tool."""
        return await self._asked(name, arguments, {})

    async def _asked(
        self, name: str, arguments: Mapping[str, Any], others: Mapping[str, Any]
    ) -> dict[str, Any]:
        params = {"name": name, "arguments": arguments, **others, **self._meta}
        try:
            result = await self.gateway.gateway.answer(
                host_request("tools/call", params, **self._who)
            )
        except RpcFault as fault:
            return {"fault": fault.code, "message": fault.message}
        return result.as_dict() if isinstance(result, Prepared) else result

    async def value(self, code: str) -> Any:
        """What a program returned."""
        return value_of(await self.run(code))

    async def failure(self, code: str) -> str:
        """What is told of a program that failed."""
        result = await self.run(code)
        if not result.get("isError"):
            raise AssertionError(f"it did not fail: {result}")
        return text_of(result)


def text_of(result: Mapping[str, Any]) -> str:
    """The text of a result."""
    return "\n".join(block["text"] for block in result["content"])


def value_of(result: Mapping[str, Any]) -> Any:
    """What a program returned that printed nothing; a text that is no JSON as it is."""
    if result.get("isError"):
        raise AssertionError(text_of(result))
    text = text_of(result)
    try:
        return json.loads(text)
    except ValueError:
        return text


def answering(result: Mapping[str, Any], *answers: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a request that answers the questions of a result in order."""
    questions = list(result["inputRequests"])
    return {
        "requestState": result["requestState"],
        "inputResponses": dict(zip(questions, answers, strict=True)),
    }


@asynccontextmanager
async def coded(
    servers: Mapping[str, ScriptedUpstream], **options: Any
) -> AsyncGenerator[tuple[CodingHost, ScriptedGateway]]:
    """A gateway in exposure `code` over these servers, and a host of it."""
    shown = options.pop("gateway", GatewaySettings(exposure="code"))
    async with scripted_gateway(servers, gateway=shown, **options) as gateway:
        yield CodingHost(gateway), gateway
