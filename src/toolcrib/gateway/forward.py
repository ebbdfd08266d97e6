"""Forwarding calls, reads, gets and completions: original name, fresh envelope, checked answer."""

from collections.abc import Mapping
from typing import Any, Final, cast

from toolcrib.calls.call import ToolCall
from toolcrib.calls.calling import Calls
from toolcrib.calls.pipeline import CHANGES_KEY
from toolcrib.calls.results.kept import is_kept_uri
from toolcrib.calls.results.refusal import refusal
from toolcrib.calls.rounds.outgoing import Outgoing
from toolcrib.catalog.access import CatalogAccess
from toolcrib.core.jsontypes import is_object
from toolcrib.core.mirrored import mirrored
from toolcrib.core.snapshot import Item, Kind, Scope
from toolcrib.discovery.seams import Inner
from toolcrib.errors import (
    BadArguments,
    CapabilityMissing,
    NotAllowed,
    RetryRefused,
    ToolcribError,
    ToolGone,
    UpstreamRefused,
)
from toolcrib.gateway.answers import checked
from toolcrib.gateway.hosts import Announcer
from toolcrib.gateway.links import Links
from toolcrib.gateway.listings import Listings
from toolcrib.gateway.requester import call_of, requester_of, retry_of
from toolcrib.gateway.routes import Routes, unknown_resource
from toolcrib.gateway.server_errors import contradicts, told
from toolcrib.gateway.target import Target
from toolcrib.gateway.trace_context import trace_context
from toolcrib.ports import RequestContext
from toolcrib.protocol.envelope import DIGEST_KEY, relayed_meta
from toolcrib.protocol.hints import parse_hints
from toolcrib.settings import GatewaySettings, Limits
from toolcrib.wire.faults import RpcFault, invalid_params, missing_capability
from toolcrib.wire.mirrored_headers import check_mirrored
from toolcrib.wire.service import HostRequest

MIRRORING_KEPT: Final = 4_096
"""Contracts of which is remembered whether they mirror parameters in headers."""

INPUT_REQUIRED: Final = "input_required"

PARAM_HEADERS: Final = "mcp-param-"
"""How the names of headers begin that mirror parameters."""


class Forwarder:
    """Forwards what one principal's hosts ask of single tools, prompts and resources.

    Calls go through the pipeline of the principal; here requests become calls, and errors what the
    host's revision has for them. Cancelling a request cancels it at the server.
    """

    def __init__(
        self,
        access: CatalogAccess,
        calls: Calls,
        routes: Routes,
        links: Links,
        *,
        listings: Listings,
        announcer: Announcer,
        settings: GatewaySettings,
        limits: Limits,
    ) -> None:
        self._access = access
        self._calls = calls
        self._listings = listings
        self._announcer = announcer
        self._links = links
        self._routes = routes
        self._relay = settings.relay
        self._trace = settings.trace
        self._limits = limits
        self._mirroring: dict[str, bool] = {}

    async def call(self, request: HostRequest) -> dict[str, Any]:
        """`tools/call`. What stops a call is told as a result, which the model can act on."""
        name: str = request.params["name"]
        requester = requester_of(request, self._relay, trace=self._trace)
        try:
            target = await self._routes.tool(name, requester)
        except NotAllowed as error:
            return refusal(error, name)
        deferred = name not in (await self._listings.held(Kind.TOOLS)).sights
        self._check_headers(target.item, request, deferred=deferred)
        call = call_of(request, target, requester)
        return await self._called(request, target, call)

    async def call_inner(self, request: HostRequest, inner: Inner) -> dict[str, Any]:
        """`tools/call` of `call_tool`: the call of another tool.

        Headers that the host mirrored are those of `call_tool`; the server gets those of the inner
        tool.
        """
        requester = requester_of(request, self._relay, trace=self._trace)
        try:
            target = await self._routes.inner_tool(inner, requester)
        except (BadArguments, NotAllowed) as error:
            return refusal(error, inner.name)
        call = call_of(request, target, requester, inner=inner)
        return await self._called(request, target, call)

    async def stamped(self, result: dict[str, Any]) -> dict[str, Any]:
        """A result of our own as hosts get it: with the digest of what they are shown."""
        digest = (await self._listings.held(Kind.TOOLS)).digest
        meta = result.get("_meta")
        return {**result, "_meta": {**(meta if is_object(meta) else {}), DIGEST_KEY: digest}}

    async def get(self, request: HostRequest) -> dict[str, Any]:
        """`prompts/get`."""
        target = await self._prompt(request.params["name"])
        params = {"name": target.key, **_picked(request.params, "arguments")}
        answer = await self._asked(target, "prompts/get", params, request, Kind.PROMPTS)
        if answer.get("resultType") == INPUT_REQUIRED:
            return answer
        messages = cast("list[dict[str, Any]]", answer["messages"])
        contents = [message.get("content") for message in messages]
        shown = await self._links.in_content(target.server, contents)
        answer["messages"] = [
            message if before is after else {**message, "content": after}
            for message, before, after in zip(messages, contents, shown, strict=True)
        ]
        return answer

    async def read(self, request: HostRequest) -> dict[str, Any]:
        """`resources/read`; a server's hints are kept as far as its catalog may be shared.

        What answers a round is never to be kept (MCP 2026-07-28, caching).
        """
        uri: str = request.params["uri"]
        if is_kept_uri(uri):
            return await self._kept(uri, request)
        target = await self._routes.resource(uri)
        params = {"uri": target.key}
        # Looked up before the answer: the server may be taken out of the configuration meanwhile.
        shared = self._access.peek(target.server, Kind.RESOURCES).scope
        answer = await self._asked(target, "resources/read", params, request, Kind.RESOURCES)
        if answer.get("resultType") == INPUT_REQUIRED:
            return answer
        contents = cast("list[Any]", answer["contents"])
        answer["contents"] = await self._links.in_contents(target.server, contents)
        hints = parse_hints(answer, era="modern", clamp=self._limits.ttl_clamp)
        # What rests on somebody's answers is good for nobody else, and not for the next time.
        asked = retry_of(request.params) is not None
        public = shared is hints.scope is Scope.PUBLIC and not asked
        answer["cacheScope"] = (Scope.PUBLIC if public else Scope.PRIVATE).value
        answer["ttlMs"] = 0 if asked else int(hints.ttl * 1000)
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
        method = "completion/complete"
        self._add_trace(params, request)
        await self._routes.reach(target, requester_of(request, self._relay))
        try:
            result = await self._access.request(target.server, method, params)
        except UpstreamRefused as refused:
            raise told(refused, server=target.server, method=method) from None
        return checked(target.server, method, result, self._limits.result_bytes)

    async def _called(self, request: HostRequest, target: Target, call: ToolCall) -> dict[str, Any]:
        """The result of a call, or of what stopped it."""
        try:
            await self._routes.reach(target, call.requester)
            result = await self._calls.pipeline.call(call)
        except ToolcribError as error:
            if (fault := _fault(error, request)) is not None:
                raise fault from None
            return refusal(error, call.name)
        if result.get("resultType") == INPUT_REQUIRED:
            return result
        return await self._handed_over(target.server, result)

    async def _prompt(self, name: str) -> Target:
        try:
            return await self._routes.prompt(name)
        except ToolGone as gone:
            raise invalid_params(gone.for_model()) from None

    async def _kept(self, uri: str, request: HostRequest) -> dict[str, Any]:
        """A result that was clipped for this caller, whole or in parts."""
        requester = requester_of(request, self._relay)
        found = await self._calls.kept.read(requester, uri)
        if found is None:
            raise unknown_resource(uri)
        return {**found, "ttlMs": 0, "cacheScope": Scope.PRIVATE.value}

    async def _handed_over(self, server: str, result: dict[str, Any]) -> dict[str, Any]:
        """The result of a call as hosts get it; word of what it changed goes out before."""
        meta = result.get("_meta")
        if is_object(meta) and CHANGES_KEY in meta:
            await self._announcer.announce_now(Kind.TOOLS)
        result["content"] = await self._links.in_content(server, result["content"])
        passed: dict[str, Any] = {**relayed_meta(meta)} if is_object(meta) else {}
        if is_object(meta) and CHANGES_KEY in meta:
            passed[CHANGES_KEY] = meta[CHANGES_KEY]
        return await self.stamped({**result, "_meta": passed})

    async def _asked(
        self, target: Target, method: str, params: dict[str, Any], request: HostRequest, kind: Kind
    ) -> dict[str, Any]:
        """The answer of a request whose errors are JSON-RPC errors."""
        self._add_trace(params, request)
        requester = requester_of(request, self._relay)
        await self._routes.reach(target, requester)
        outgoing = Outgoing(
            server=target.server,
            method=method,
            key=target.key,
            params=params,
            requester=requester,
            arguments=request.params.get("arguments") or {},
            retry=retry_of(request.params),
            context=RequestContext(heard=requester.heard, log_level=requester.log_level),
            progress=request.progress,
        )
        try:
            result = await self._calls.rounds.request(outgoing)
        except UpstreamRefused as refused:
            if contradicts(refused):
                self._access.invalidate(target.server, kind, why=f"it refused {method}")
            uri = request.params.get("uri")
            raise told(refused, server=target.server, method=method, uri=uri) from None
        except ToolcribError as error:
            if (fault := _fault(error, request)) is not None:
                raise fault from None
            raise
        if result.get("resultType") == INPUT_REQUIRED:
            return result
        return checked(target.server, method, result, self._limits.result_bytes)

    def _add_trace(self, params: dict[str, Any], request: HostRequest) -> None:
        """The only part of the host's `_meta` that goes on."""
        if self._trace and (context := trace_context(request.params)):
            params["_meta"] = context

    def _check_headers(self, item: Item | None, request: HostRequest, *, deferred: bool) -> None:
        """Holds mirrored headers to the arguments; raises `RpcFault` -32020.

        A host that was not shown the definition, and mirrors nothing, cannot know that it should.
        """
        headers = request.headers
        if item is None or headers is None or not self._mirrors(item):
            return
        if not deferred or any(name.startswith(PARAM_HEADERS) for name, _ in headers):
            arguments: Mapping[str, Any] = request.params.get("arguments") or {}
            check_mirrored(item.definition["inputSchema"], arguments, headers)

    def _mirrors(self, item: Item) -> bool:
        """Whether the tool wants parameters mirrored in headers, worked out once per contract."""
        known = self._mirroring.get(item.contract)
        if known is None:
            if len(self._mirroring) >= MIRRORING_KEPT:
                self._mirroring.clear()
            known = bool(mirrored(item.definition.get("inputSchema")))
            self._mirroring[item.contract] = known
        return known


def _fault(error: ToolcribError, request: HostRequest) -> RpcFault | None:
    """The JSON-RPC error that the host's revision has for this; None: it has none."""
    if isinstance(error, RetryRefused):
        return invalid_params(error.for_model())
    if isinstance(error, CapabilityMissing) and request.modern:
        return missing_capability(error.for_model(), error.details.get("requiredCapabilities", {}))
    return None


def _picked(params: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: params[name] for name in names if params.get(name) is not None}
