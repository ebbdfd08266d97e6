"""A host's request as a call: who calls, how they can be asked, and what they say they saw."""

from collections.abc import Collection, Mapping
from typing import Any

from toolcrib.calls.call import Requester, Retry, Seen, ToolCall
from toolcrib.core.jsontypes import is_object
from toolcrib.discovery.seams import Inner
from toolcrib.gateway.target import Target
from toolcrib.gateway.trace_context import trace_context
from toolcrib.protocol.envelope import HANDLE_KEY, SEEN_KEY
from toolcrib.settings import Relayed
from toolcrib.wire.service import HostRequest


def requester_of(
    request: HostRequest, relay: Collection[Relayed], *, trace: bool = False
) -> Requester:
    """Who calls; a handle that the host sent outlives its connection.

    Log messages of servers reach it only where `relay` lets them; its trace context goes on to
    servers only with `trace`.
    """
    meta = request.params.get("_meta")
    logging = "logging" in relay
    return Requester(
        principal=request.principal,
        handle=request.handle,
        durable=not request.handle or (is_object(meta) and HANDLE_KEY in meta),
        capabilities=request.capabilities,
        ask=request.ask,
        takes_rounds=request.modern,
        heard=request.heard if logging else None,
        log_level=request.log_level if logging else "",
        trace=trace_context(request.params) if trace else {},
    )


def retry_of(params: Mapping[str, Any]) -> Retry | None:
    """What the request brings back of an earlier one that was answered with `input_required`."""
    if "requestState" not in params and "inputResponses" not in params:
        return None
    return Retry(params.get("requestState"), params.get("inputResponses") or {})


def call_of(
    request: HostRequest, target: Target, requester: Requester, *, inner: Inner | None = None
) -> ToolCall:
    """The tool call that a request is.

    With `inner` it is the call that a call of `call_tool` is about. What the caller then says that
    it saw is said of `call_tool`, and nothing of the inner tool.
    """
    params = request.params
    name = params["name"] if inner is None else inner.name
    arguments = params.get("arguments") if inner is None else inner.arguments
    return ToolCall(
        name=name,
        server=target.server,
        key=target.key,
        arguments=arguments or {},
        requester=requester,
        seen=_seen(params) if inner is None else Seen(),
        meta=requester.trace,
        retry=retry_of(params),
        progress=request.progress,
        bare=arguments is None,
    )


def _seen(params: Mapping[str, Any]) -> Seen:
    """What the caller says it saw; anything malformed is taken for nothing."""
    meta = params.get("_meta")
    seen = meta.get(SEEN_KEY) if is_object(meta) else None
    if not is_object(seen):
        return Seen()
    contract, digest = seen.get("contract"), seen.get("digest")
    return Seen(
        contract if isinstance(contract, str) else "", digest if isinstance(digest, str) else ""
    )
