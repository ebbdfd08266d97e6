"""Forwarding calls, reads, gets and completions: original name, fresh envelope, checked answer."""

from collections.abc import Mapping
from typing import Any, Final, cast

from toolcrib.catalog.access import CatalogAccess
from toolcrib.core.mirrored import mirrored
from toolcrib.core.naming import Original
from toolcrib.core.snapshot import Item, Kind, Scope
from toolcrib.errors import LimitExceeded, ToolcribError, ToolGone, UpstreamRefused
from toolcrib.facts import CallRefused
from toolcrib.gateway.answers import checked, denies_existence
from toolcrib.gateway.links import Links
from toolcrib.gateway.routes import Routes
from toolcrib.gateway.server_errors import contradicts, told
from toolcrib.gateway.target import Target
from toolcrib.gateway.trace_context import trace_context
from toolcrib.ports import Observer
from toolcrib.protocol.hints import parse_hints
from toolcrib.settings import Limits
from toolcrib.wire.faults import invalid_params
from toolcrib.wire.jsonwire import NotFinite, encode
from toolcrib.wire.mirrored_headers import check_mirrored
from toolcrib.wire.refusals import refusal
from toolcrib.wire.service import HostRequest

MIRRORING_KEPT: Final = 4_096
"""Contracts of which is remembered whether they mirror parameters in headers."""


class Forwarder:
    """Forwards what one principal's hosts ask of single tools, prompts and resources.

    Nothing is retried: a broken call may have acted. Cancelling a request cancels it at the server.
    """

    def __init__(
        self,
        access: CatalogAccess,
        routes: Routes,
        links: Links,
        limits: Limits,
        observer: Observer,
    ) -> None:
        self._access = access
        self._routes = routes
        self._links = links
        self._limits = limits
        self._observer = observer
        self._mirroring: dict[str, bool] = {}

    async def call(self, request: HostRequest) -> dict[str, Any]:
        """`tools/call`. What stops a call is told as a result, which the model can act on."""
        name: str = request.params["name"]
        _refuse_retry(request.params)
        try:
            original = await self._routes.named(Kind.TOOLS, name)
            self._check_arguments(original, request)
        except ToolcribError as error:
            self._observer.note(CallRefused(error.server or "", name, error.code))
            return refusal(error, name)
        try:
            return await self._called(original, request)
        except ToolcribError as error:
            return refusal(error, name)

    async def get(self, request: HostRequest) -> dict[str, Any]:
        """`prompts/get`."""
        target = await self._prompt(request.params["name"])
        params = {"name": target.key, **_picked(request.params, "arguments")}
        answer = await self._answered(target, "prompts/get", params, request, Kind.PROMPTS)
        messages = cast("list[dict[str, Any]]", answer["messages"])
        contents = [message.get("content") for message in messages]
        shown = await self._links.in_content(target.server, contents)
        answer["messages"] = [
            message if before is after else {**message, "content": after}
            for message, before, after in zip(messages, contents, shown, strict=True)
        ]
        return answer

    async def read(self, request: HostRequest) -> dict[str, Any]:
        """`resources/read`; a server's hints are kept as far as its catalog may be shared."""
        uri: str = request.params["uri"]
        target = await self._routes.resource(uri)
        params = {"uri": target.key}
        # Looked up before the answer: the server may be taken out of the configuration meanwhile.
        shared = self._access.peek(target.server, Kind.RESOURCES).scope
        answer = await self._answered(target, "resources/read", params, request, Kind.RESOURCES)
        contents = cast("list[Any]", answer["contents"])
        answer["contents"] = await self._links.in_contents(target.server, contents)
        hints = parse_hints(answer, era="modern", clamp=self._limits.ttl_clamp)
        public = shared is hints.scope is Scope.PUBLIC
        answer["cacheScope"] = (Scope.PUBLIC if public else Scope.PRIVATE).value
        answer["ttlMs"] = int(hints.ttl * 1000)
        return answer

    async def complete(self, request: HostRequest) -> dict[str, Any]:
        """`completion/complete`; a server that completes nothing is not asked."""
        ref: Mapping[str, Any] = request.params["ref"]
        if ref["type"] == "ref/prompt":
            target = await self._prompt(ref["name"])
            own = {"name": target.key}
        else:
            target = await self._routes.reference(ref["uri"])
            own = {"uri": target.key}
        facts = self._access.status(target.server).facts
        if facts is not None and "completions" not in facts.capabilities:
            return {"completion": {"values": []}}
        params = {"ref": {**ref, **own}, **_picked(request.params, "argument", "context")}
        return await self._answered(target, "completion/complete", params, request, None)

    async def _prompt(self, name: str) -> Target:
        try:
            original = await self._routes.named(Kind.PROMPTS, name)
        except ToolGone as gone:
            raise invalid_params(gone.for_model()) from None
        return Target(original.server, original.item.key)

    async def _called(self, original: Original, request: HostRequest) -> dict[str, Any]:
        server, key = original.server, original.item.key
        params = {"name": key, **_picked(request.params, "arguments")}
        try:
            result = await self._forwarded(server, "tools/call", params, request)
        except UpstreamRefused as refused:
            if contradicts(refused):
                self._access.invalidate(server, Kind.TOOLS, why=f"it refused a call of {key}")
            raise told(refused, server=server, method="tools/call") from None
        answer = checked(server, "tools/call", result, self._limits.result_bytes)
        if denies_existence(answer, key):
            self._access.invalidate(server, Kind.TOOLS, why=f"it says that there is no {key}")
        answer["content"] = await self._links.in_content(server, answer["content"])
        return answer

    async def _answered(
        self,
        target: Target,
        method: str,
        params: dict[str, Any],
        request: HostRequest,
        kind: Kind | None,
    ) -> dict[str, Any]:
        """The answer of a request whose errors are JSON-RPC errors."""
        try:
            result = await self._forwarded(target.server, method, params, request)
        except UpstreamRefused as refused:
            if kind is not None and contradicts(refused):
                self._access.invalidate(target.server, kind, why=f"it refused {method}")
            uri = request.params.get("uri")
            raise told(refused, server=target.server, method=method, uri=uri) from None
        return checked(target.server, method, result, self._limits.result_bytes)

    async def _forwarded(
        self, server: str, method: str, params: dict[str, Any], request: HostRequest
    ) -> dict[str, Any]:
        if context := trace_context(request.params):
            params["_meta"] = context
        return await self._access.request(server, method, params, progress=request.progress)

    def _check_arguments(self, original: Original, request: HostRequest) -> None:
        arguments: Mapping[str, Any] = request.params.get("arguments") or {}
        try:
            size = len(encode(arguments))
        except NotFinite as broken:  # from a transport of the SDK: our own do not let it in
            raise invalid_params(f"Invalid arguments: {broken}") from None
        if size > self._limits.argument_bytes:
            limit = self._limits.argument_bytes
            raise LimitExceeded(
                f"the arguments have {size} bytes, more than argument_bytes allows ({limit})",
                server=original.server,
            )
        item = original.item
        if request.headers is not None and self._mirrors(item):
            check_mirrored(item.definition["inputSchema"], arguments, request.headers)

    def _mirrors(self, item: Item) -> bool:
        """Whether the tool wants parameters mirrored in headers, worked out once per contract."""
        known = self._mirroring.get(item.contract)
        if known is None:
            if len(self._mirroring) >= MIRRORING_KEPT:
                self._mirroring.clear()
            known = bool(mirrored(item.definition.get("inputSchema")))
            self._mirroring[item.contract] = known
        return known


def _refuse_retry(params: Mapping[str, Any]) -> None:
    """Nothing of ours ever asks a host for input, so nothing it could retry with is known here."""
    if "requestState" in params or "inputResponses" in params:
        raise invalid_params("this request state is not known here: send the call anew")


def _picked(params: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: params[name] for name in names if params.get(name) is not None}
