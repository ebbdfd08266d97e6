"""Who is told that a listing changed.

A change is a level, not an event: "list again". Each subscriber therefore keeps a set of what it
still has to be told, which cannot grow beyond the kinds there are, however slowly its host reads.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Final

import anyio

from toolcrib.core.snapshot import Kind
from toolcrib.errors import LimitExceeded

STREAMS: Final = 16_384
"""Streams of one principal's hosts: every handshake session has one, every subscription is one."""

FOLLOWED: Final = 1_000
"""Resources that one stream may follow."""


class Topic(Enum):
    """A change that hosts can be told about."""

    TOOLS = ("notifications/tools/list_changed", "toolsListChanged")
    PROMPTS = ("notifications/prompts/list_changed", "promptsListChanged")
    RESOURCES = ("notifications/resources/list_changed", "resourcesListChanged")

    def __init__(self, method: str, filter_key: str) -> None:
        self.method = method
        """The notification."""
        self.filter_key = filter_key
        """The member of a listen request's filter that asks for it."""

    @property
    def params(self) -> Mapping[str, Any]:
        """What the notification says besides: nothing."""
        return {}


@dataclass(frozen=True, slots=True)
class Updated:
    """A single resource has another content."""

    uri: str
    method: ClassVar[str] = "notifications/resources/updated"

    @property
    def params(self) -> Mapping[str, Any]:
        """What the notification says besides."""
        return {"uri": self.uri}


Due = Topic | Updated


TOPIC_OF: Final = {
    Kind.TOOLS: Topic.TOOLS,
    Kind.PROMPTS: Topic.PROMPTS,
    Kind.RESOURCES: Topic.RESOURCES,
    Kind.TEMPLATES: Topic.RESOURCES,
}
"""Templates have no notification of their own: they belong to the resources."""


class Subscriber:
    """One stream to one host."""

    def __init__(self, audience: "Audience", topics: frozenset[Topic]) -> None:
        self._audience = audience
        self.topics = topics
        self.followed: dict[str, None] = {}
        """The URIs of the resources whose updates it is told."""
        self._due: dict[Due, None] = {}
        self._bell = anyio.Event()
        self._ended = False

    def tell(self, due: Due) -> bool:
        """Remember that the host has to be told, and say whether it asked for that."""
        if isinstance(due, Updated):
            return self.tell_updated(due.uri, due.uri)
        return due in self.topics and self._put(due)

    def tell_updated(self, uri: str, of: str) -> bool:
        """Remember that a resource was updated: the followed one, or one that is part of it.

        A host that is slow to read is told of the followed ones alone, of which there are not many.
        """
        if of not in self.followed:
            return False
        crowded = len(self._due) >= FOLLOWED
        return self._put(Updated(of if crowded else uri))

    def follow(self, uri: str) -> bool:
        """Tell the host of this resource's updates too; whether that is new.

        Raises `LimitExceeded` when it follows too many already.
        """
        if uri in self.followed:
            return False
        if len(self.followed) >= FOLLOWED:
            raise LimitExceeded(
                f"too many subscriptions to single resources (limit {FOLLOWED})",
                remedy="unsubscribe from those that are not read any more",
            )
        self.followed[uri] = None
        self._audience.followed(self, uri)
        return True

    def unfollow(self, uri: str) -> None:
        """Tell the host of this resource's updates no more; idempotent."""
        if uri in self.followed:
            del self.followed[uri]
            self._due.pop(Updated(uri), None)
            self._audience.unfollowed(self, uri)

    def _put(self, due: Due) -> bool:
        if not self._ended:
            self._due[due] = None
            self._bell.set()
        return not self._ended

    def end(self) -> None:
        """Let the stream end once it has told what is due."""
        self._ended = True
        self._bell.set()

    async def next(self) -> Due | None:
        """Wait for the next thing that is due; None when the stream is to end."""
        while not self._due:
            if self._ended:
                return None
            self._bell = anyio.Event()
            await self._bell.wait()
        due = next(iter(self._due))
        del self._due[due]
        return due

    def leave(self) -> None:
        """Take the stream out of its audience; idempotent."""
        for uri in tuple(self.followed):
            self.unfollow(uri)
        self._audience.discard(self)


class Audience:
    """The open streams of one principal's hosts."""

    def __init__(self, limit: int = STREAMS) -> None:
        self._limit = limit
        self._subscribers: dict[Subscriber, None] = {}
        self._wanted: Counter[Topic] = Counter()
        self._followers: dict[str, dict[Subscriber, None]] = {}
        self._listeners: list[Callable[[], None]] = []
        self._closed = False

    def __len__(self) -> int:
        return len(self._subscribers)

    def join(self, topics: Collection[Topic]) -> Subscriber:
        """A new subscriber; raises `LimitExceeded` when there are too many streams already."""
        if len(self._subscribers) >= self._limit:
            raise LimitExceeded(
                f"too many open streams of change notifications (limit {self._limit})",
                remedy="close streams that are no longer read",
            )
        subscriber = Subscriber(self, frozenset(topics))
        self._subscribers[subscriber] = None
        self._wanted.update(subscriber.topics)
        self._changed()
        if self._closed:
            subscriber.end()
        return subscriber

    def discard(self, subscriber: Subscriber) -> None:
        """Forget a stream; idempotent."""
        if subscriber in self._subscribers:
            del self._subscribers[subscriber]
            self._wanted.subtract(subscriber.topics)
            self._changed()

    def wants(self, topic: Topic) -> bool:
        """Whether any stream of this moment asked for that topic."""
        return self._wanted[topic] > 0

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever a stream came or went, or follows other resources."""
        self._listeners.append(listener)

    def follows(self) -> Collection[str]:
        """The URIs that some stream follows."""
        return self._followers.keys()

    def tell_updated(self, uri: str, of: str) -> int:
        """Tell whoever follows `of` that it, or a part of it, was updated; how many that are."""
        followers = tuple(self._followers.get(of, ()))
        return sum(follower.tell_updated(uri, of) for follower in followers)

    def followed(self, subscriber: Subscriber, uri: str) -> None:
        """Take note that a stream follows a resource."""
        self._followers.setdefault(uri, {})[subscriber] = None
        self._changed()

    def unfollowed(self, subscriber: Subscriber, uri: str) -> None:
        """Take note that a stream does not follow a resource any more."""
        followers = self._followers[uri]
        del followers[subscriber]
        if not followers:
            del self._followers[uri]
        self._changed()

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()

    def subscribers(self) -> tuple[Subscriber, ...]:
        """The streams of this moment, in the order in which they joined."""
        return tuple(self._subscribers)

    def close(self) -> None:
        """End every stream gracefully, also those that join later."""
        self._closed = True
        for subscriber in self.subscribers():
            subscriber.end()
