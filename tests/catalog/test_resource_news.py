"""What servers say of single resources, and who hears it."""

from typing import Any

import pytest

from toolcrib.catalog.listening import Listeners
from toolcrib.catalog.resource_news import ResourceNews, news_of
from toolcrib.core.snapshot import Kind
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_crib import scripted_crib

UPDATED = "notifications/resources/updated"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


@pytest.mark.parametrize(
    ("method", "params", "news"),
    [
        (UPDATED, {"uri": "a:1"}, ResourceNews("s", "updated", ("a:1",))),
        (UPDATED, {}, None),
        (UPDATED, {"uri": 3}, None),
        (
            ACKNOWLEDGED,
            {"notifications": {"resourceSubscriptions": ["a:1", 3, "a:2"]}},
            ResourceNews("s", "acknowledged", ("a:1", "a:2")),
        ),
        (ACKNOWLEDGED, {"notifications": {}}, ResourceNews("s", "acknowledged")),
        (ACKNOWLEDGED, {"notifications": 3}, ResourceNews("s", "acknowledged")),
        ("notifications/resources/list_changed", {"uri": "a:1"}, None),
    ],
)
def test_a_notification_is_read_or_is_none_of_these(
    method: str, params: dict[str, Any], news: ResourceNews | None
) -> None:
    assert news_of("s", method, params) == news


def test_a_listener_that_raises_costs_nobody_else() -> None:
    hook, heard = Listeners[ResourceNews]("news"), list[ResourceNews]()

    def broken(_news: ResourceNews) -> None:
        raise RuntimeError

    hook.subscribe(broken)
    stop = hook.subscribe(heard.append)
    news = ResourceNews("s", "connected")
    hook.tell(news)
    stop()
    stop()
    hook.tell(news)
    assert heard == [news]


@pytest.mark.virtual_time
async def test_connections_and_updates_of_servers_are_heard() -> None:
    script = ScriptedUpstream()
    heard: list[ResourceNews] = []
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        stop = catalogs.on_resources(heard.append)
        await catalogs.read(Kind.RESOURCES)
        script.notify(UPDATED, {"uri": "a:1"})
        stop()
        script.notify(UPDATED, {"uri": "a:2"})
    assert heard == [ResourceNews("s", "connected"), ResourceNews("s", "updated", ("a:1",))]
