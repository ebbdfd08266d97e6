"""The stream of changes that a host of 2026-07-28 asks for with `subscriptions/listen`."""

from collections.abc import Mapping
from typing import Any, cast

import anyio

from toolcrib.core.jsontypes import is_object
from toolcrib.errors import ToolcribError
from toolcrib.protocol.envelope import SUBSCRIPTION_ID_KEY
from toolcrib.wire.audience import FOLLOWED, Subscriber, Topic
from toolcrib.wire.faults import RpcFault
from toolcrib.wire.service import HostRequest, Service

URIS = "resourceSubscriptions"
"""The member of a listen request's filter that names single resources."""


def declares_subscribe(capabilities: Mapping[str, Any]) -> bool:
    """Whether a service has single resources watched."""
    resources = capabilities.get("resources")
    return is_object(resources) and resources.get("subscribe") is True


async def listen(request: HostRequest, service: Service) -> dict[str, Any]:
    """Acknowledge what will be told, tell it until the stream ends, then answer.

    See MCP 2026-07-28, subscriptions. The acknowledgement comes first and names only what we do
    tell: a resource that nobody has, or that its server does not watch, is left out of it. Changes
    that happen while the acknowledgement is being written are told after it.
    """
    wanted = cast("dict[str, Any]", request.params["notifications"])
    topics = [topic for topic in Topic if wanted.get(topic.filter_key) is True]
    meta = {SUBSCRIPTION_ID_KEY: request.id}
    subscriber = service.audience(request.principal).join(topics)
    try:
        honored: dict[str, Any] = {topic.filter_key: True for topic in topics}
        if watched := await _follow(subscriber, wanted.get(URIS) or (), request, service):
            honored[URIS] = watched
        await request.notify(
            "notifications/subscriptions/acknowledged", {"notifications": honored, "_meta": meta}
        )
        while (due := await subscriber.next()) is not None:
            await request.notify(due.method, {**due.params, "_meta": meta})
    finally:
        subscriber.leave()
    return {"_meta": meta}


async def _follow(
    subscriber: Subscriber, uris: list[str] | tuple[()], request: HostRequest, service: Service
) -> list[str]:
    """The resources that are followed from now on, in the order in which they were named."""
    if not declares_subscribe(service.capabilities()):
        return []

    async def follow(uri: str) -> None:
        try:
            if subscriber.follow(uri):
                await service.subscribe(request.principal, uri)
        except (RpcFault, ToolcribError):
            subscriber.unfollow(uri)

    async with anyio.create_task_group() as tasks:
        for uri in list(dict.fromkeys(uris))[:FOLLOWED]:
            tasks.start_soon(follow, uri)
    return list(subscriber.followed)
