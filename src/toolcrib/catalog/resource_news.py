"""What servers say of single resources, passed on to whoever had them watched."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from toolcrib.core.jsontypes import is_array, is_object

UPDATED: Final = "notifications/resources/updated"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"


@dataclass(frozen=True, slots=True)
class ResourceNews:
    """One word of a server about single resources."""

    server: str
    what: Literal["updated", "acknowledged", "connected"]
    """`connected`: the connection is a new one, so the server knows of no subscription."""
    uris: tuple[str, ...] = ()
    """The one that was updated, or those that it will tell about."""


NewsListener = Callable[[ResourceNews], None]


def news_of(server: str, method: str, params: Mapping[str, Any]) -> ResourceNews | None:
    """What a notification says of single resources; None where it says nothing of them."""
    if method == UPDATED:
        uri = params.get("uri")
        return ResourceNews(server, "updated", (uri,)) if isinstance(uri, str) else None
    if method != ACKNOWLEDGED:
        return None
    honoured = params.get("notifications")
    uris = honoured.get("resourceSubscriptions") if is_object(honoured) else None
    named = tuple(uri for uri in uris if isinstance(uri, str)) if is_array(uris) else ()
    return ResourceNews(server, "acknowledged", named)
