"""One request on its way to a server, whose caller may have to be asked something meanwhile."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from toolcrib.calls.call import Requester, Retry, ToolCall
from toolcrib.core.snapshot import Item
from toolcrib.ports import Progress, RequestContext


@dataclass(frozen=True, slots=True, eq=False)
class Outgoing:
    """A `tools/call`, `prompts/get` or `resources/read`, ready to be sent."""

    server: str
    method: str
    key: str
    """The name of the tool or prompt on its server, or the URI of the resource there."""
    params: Mapping[str, Any]
    """What the server gets, but for `inputResponses` and `requestState`."""
    requester: Requester = field(default_factory=Requester)
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """To which the answers of a person are bound; empty for a resource."""
    contract: str = ""
    """Of the tool, as it was admitted; empty where there is none."""
    retry: Retry | None = None
    context: RequestContext = field(default_factory=RequestContext)
    """Its capabilities and its `ask` are replaced: they follow from the requester."""
    progress: Progress | None = None
    timeout: float | None = None

    @property
    def responses(self) -> Mapping[str, Any]:
        """`inputResponses`, as sent."""
        return self.retry.responses if self.retry is not None else {}

    def bringing(self, retry: Retry | None) -> "Outgoing":
        """The same request, bringing back something else."""
        return replace(self, retry=retry)


def outgoing_call(
    call: ToolCall, item: Item, params: Mapping[str, Any], context: RequestContext
) -> Outgoing:
    """An admitted tool call."""
    return Outgoing(
        server=call.server,
        method="tools/call",
        key=call.key,
        params=params,
        requester=call.requester,
        arguments=call.arguments,
        contract=item.contract,
        retry=call.retry,
        context=context,
        progress=call.progress,
        timeout=call.timeout,
    )
