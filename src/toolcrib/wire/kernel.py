"""One request in, one result out: what is the same on every transport and in every era."""

from typing import Any, Final

from mcp_types import methods
from pydantic import ValidationError

from toolcrib.protocol.eras import MODERN_VERSIONS
from toolcrib.wire.faults import (
    RpcFault,
    fault_of,
    invalid_params,
    invalid_request,
    method_not_found,
)
from toolcrib.wire.jsonwire import Result
from toolcrib.wire.listen import listen
from toolcrib.wire.results import for_handshake, for_modern
from toolcrib.wire.service import HostRequest, Service

FORWARDED: Final = frozenset(
    {
        "tools/list",
        "tools/call",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "completion/complete",
    }
)
"""The methods a service answers. Of the others we answer `ping`, `server/discover` and
`subscriptions/listen` ourselves; logging levels and subscriptions to single resources are not
declared and not served."""


class Kernel:
    """Answers requests whose envelope an entry has checked."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._server_info = service.identity.stamp()

    async def respond(self, request: HostRequest) -> Result:
        """The finished result; raises `RpcFault`, and nothing else but cancellation."""
        try:
            _check_shape(request)
            result = await self._answer(request)
        except RpcFault:
            raise
        except Exception as error:  # the boundary: whatever went wrong becomes a JSON-RPC error
            raise fault_of(error) from error
        finally:
            if request.progress is not None:
                request.progress.close()
        if request.modern:
            return for_modern(result, self._server_info)
        return for_handshake(request.method, result)

    async def _answer(self, request: HostRequest) -> Result:
        match request.method:
            case "ping":
                return {}
            case "server/discover":
                return self._discovered()
            case "subscriptions/listen":
                return await listen(request, self.service.audience(request.principal))
            case method if method in FORWARDED:
                return await self.service.answer(request)
            case method:
                raise method_not_found(method)

    def _discovered(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "supportedVersions": list(MODERN_VERSIONS),
            "capabilities": self.service.capabilities(),
            "ttlMs": 0,
            "cacheScope": "private",
        }
        if self.service.identity.instructions:
            result["instructions"] = self.service.identity.instructions
        return result


def refusal_before_handshake(method: str) -> RpcFault:
    """Why a request is refused that comes before `initialize`.

    Methods that are not served are answered as such all the same: hosts probe with them for what we
    speak.
    """
    if method in FORWARDED:
        return invalid_request("the connection is not initialized: send initialize first")
    return method_not_found(method)


def _check_shape(request: HostRequest) -> None:
    """Refuse methods that the revision does not have, and parameters that do not fit its schema."""
    try:
        methods.validate_client_request(request.method, request.version, request.params)
    except KeyError:
        raise method_not_found(request.method) from None
    except ValidationError as error:
        where = ", ".join(_places(error))
        raise invalid_params(f"Invalid request parameters: {where}") from None


def _places(error: ValidationError) -> list[str]:
    """Where the parameters do not fit, and why; never what they were, which may be secret."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)[:3]
    return [f"{'.'.join(str(step) for step in fault['loc'])}: {fault['msg']}" for fault in faults]
