"""The only part of a host's `_meta` that goes on to servers: where in a trace the request stands.

Everything else there speaks about the hop between host and us: its progress token, its log level,
its capabilities (MCP 2026-07-28, basic: trace context). `baggage` may carry anything and stays
here.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from toolcrib.core.jsontypes import is_object

_PARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_STATE: Final = re.compile(r"[\x20-\x7e]{1,512}")


def trace_context(params: Mapping[str, Any]) -> dict[str, str]:
    """`traceparent` and `tracestate` of a request, if they are in the W3C format; nothing else."""
    meta = params.get("_meta")
    if not is_object(meta):
        return {}
    parent, state = meta.get("traceparent"), meta.get("tracestate")
    if not (isinstance(parent, str) and _PARENT.fullmatch(parent)):
        return {}
    context = {"traceparent": parent}
    if isinstance(state, str) and _STATE.fullmatch(state):
        context["tracestate"] = state
    return context
