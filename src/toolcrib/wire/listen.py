"""The stream of changes that a host of 2026-07-28 asks for with `subscriptions/listen`."""

from typing import Any, cast

from toolcrib.protocol.envelope import SUBSCRIPTION_ID_KEY
from toolcrib.wire.audience import Audience, Topic
from toolcrib.wire.service import HostRequest


async def listen(request: HostRequest, audience: Audience) -> dict[str, Any]:
    """Acknowledge what will be told, tell it until the stream ends, then answer.

    See MCP 2026-07-28, subscriptions. The acknowledgement comes first and names only what we do
    tell: changes of listings. Updates of single resources are not relayed, so a filter of resource
    URIs is left out of it. Changes that happen while the acknowledgement is being written are told
    after it.
    """
    wanted = cast("dict[str, Any]", request.params["notifications"])
    topics = [topic for topic in Topic if wanted.get(topic.filter_key) is True]
    meta = {SUBSCRIPTION_ID_KEY: request.id}
    subscriber = audience.join(topics)
    try:
        honored = {topic.filter_key: True for topic in topics}
        await request.notify(
            "notifications/subscriptions/acknowledged", {"notifications": honored, "_meta": meta}
        )
        while (topic := await subscriber.next()) is not None:
            await request.notify(topic.method, {"_meta": meta})
    finally:
        subscriber.leave()
    return {"_meta": meta}
