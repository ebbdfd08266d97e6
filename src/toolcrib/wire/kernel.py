"""One request in, one result out: what is the same on every transport and in every era."""

from typing import Any, Final

from mcp_types import methods
from pydantic import ValidationError

from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.errors import CapabilityMissing, ToolcribBug
from toolcrib.protocol.eras import MODERN_VERSIONS
from toolcrib.protocol.mrtr import MOST_QUESTIONS
from toolcrib.wire.faults import (
    RpcFault,
    fault_of,
    invalid_params,
    invalid_request,
    method_not_found,
    missing_capability,
)
from toolcrib.wire.jsonwire import Result
from toolcrib.wire.listen import declares_subscribe, listen
from toolcrib.wire.results import asking, asks, for_handshake, for_modern
from toolcrib.wire.service import HostRequest, Service, Standing

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
"""The methods a service answers. Of the others we answer `ping`, `server/discover`,
`subscriptions/listen` and, where the service declares it, log levels and subscriptions to single
resources."""

ASK_SECONDS: Final = 900.0
"""How long a host may take to answer a question, where nobody says otherwise."""

_MOST_VALUES: Final = 5_000
"""Values in all answers that a request brings."""

_MOST_PLACES: Final = 1_000
"""Faults of one request of which the first are told."""


class Kernel:
    """Answers requests whose envelope an entry has checked."""

    def __init__(self, service: Service, ask_seconds: float = ASK_SECONDS) -> None:
        self.service = service
        self.ask_seconds = ask_seconds
        """How long a host may take to answer a question."""
        self._server_info = service.identity.stamp()

    async def respond(self, request: HostRequest) -> Result:
        """The finished result; raises `RpcFault`, and nothing else but cancellation."""
        try:
            _check_shape(request)
            return self._shaped(request, await self._answer(request))
        except RpcFault:
            raise
        except CapabilityMissing as missing:
            if request.modern:
                required = missing.details.get("requiredCapabilities", {})
                raise missing_capability(missing.for_model(), required) from missing
            raise fault_of(missing) from missing
        except Exception as error:  # the boundary: whatever went wrong becomes a JSON-RPC error
            raise fault_of(error) from error
        finally:
            for relay in (request.progress, request.heard):
                if relay is not None:
                    relay.close()

    def _shaped(self, request: HostRequest, result: Result) -> Result:
        if request.modern:
            if asks(result):
                return asking(request.method, result, request.capabilities, self._server_info)
            return for_modern(result, self._server_info)
        if asks(result):
            raise ToolcribBug("a host that is asked inline was answered with a question")
        return for_handshake(request.method, result)

    async def _answer(self, request: HostRequest) -> Result:
        match request.method:
            case "ping":
                return {}
            case "server/discover":
                return self._discovered()
            case "subscriptions/listen":
                return await listen(request, self.service)
            case "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" as method:
                if request.standing is None or not _declared(self.service, method):
                    raise method_not_found(method)
                return await self._set(request, request.standing)
            case method if method in FORWARDED:
                return await self.service.answer(request)
            case method:
                raise method_not_found(method)

    async def _set(self, request: HostRequest, standing: Standing) -> Result:
        """Take over what a host sets for all its requests."""
        if request.method == "logging/setLevel":
            standing.log_level = request.params["level"]
            return {}
        uri: str = request.params["uri"]
        if request.method == "resources/unsubscribe":
            standing.subscriber.unfollow(uri)
        elif standing.subscriber.follow(uri):
            # Followed first: an update that comes while the server is asked is not missed.
            try:
                await self.service.subscribe(request.principal, uri)
            except BaseException:
                standing.subscriber.unfollow(uri)
                raise
        return {}

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


def _declared(service: Service, method: str) -> bool:
    capabilities = service.capabilities()
    if method == "logging/setLevel":
        return "logging" in capabilities
    return declares_subscribe(capabilities)


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
    _check_answers(request.params.get("inputResponses"))
    try:
        methods.validate_client_request(request.method, request.version, request.params)
    except KeyError:
        raise method_not_found(request.method) from None
    except ValidationError as error:
        where = ", ".join(_places(error))
        raise invalid_params(f"Invalid request parameters: {where}") from None


def _check_answers(answers: object) -> None:
    """Refuse more answers than anybody asks for.

    They are of many types, each with a fault of its own for each value: a request of two megabytes
    was a minute of validation.
    """
    if is_object(answers) and len(answers) > MOST_QUESTIONS:
        raise invalid_params(f"inputResponses holds more than {MOST_QUESTIONS} answers")
    stack, values = [answers], 0
    while stack:
        node = stack.pop()
        inner = node.values() if is_object(node) else node if is_array(node) else ()
        values += len(inner)
        if values > _MOST_VALUES:
            raise invalid_params(f"inputResponses holds more than {_MOST_VALUES:,} values")
        stack += inner


def _places(error: ValidationError) -> list[str]:
    """Where the parameters do not fit, and why; never what they were, which may be secret.

    All places are made at once, which takes seconds where there are very many.
    """
    if (count := error.error_count()) > _MOST_PLACES:
        return [f"{count:,} places do not fit the schema"]
    faults = error.errors(include_url=False, include_context=False, include_input=False)[:3]
    return [f"{'.'.join(str(step) for step in fault['loc'])}: {fault['msg']}" for fault in faults]
