"""Who is told that a listing changed.

A change is a level, not an event: "list again". Each subscriber therefore keeps a set of what it
still has to be told, which cannot grow beyond the kinds there are, however slowly its host reads.
"""

from collections import Counter
from collections.abc import Callable, Collection
from enum import Enum
from typing import Final

import anyio

from toolcrib.core.snapshot import Kind
from toolcrib.errors import LimitExceeded

STREAMS: Final = 16_384
"""Streams of one principal's hosts: every handshake session has one, every subscription is one."""


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


TOPIC_OF: Final = {
    Kind.TOOLS: Topic.TOOLS,
    Kind.PROMPTS: Topic.PROMPTS,
    Kind.RESOURCES: Topic.RESOURCES,
    Kind.TEMPLATES: Topic.RESOURCES,
}
"""Templates have no notification of their own: they belong to the resources."""


def _nobody() -> None:
    """Hears that streams came or went, where nobody else wants to."""


class Subscriber:
    """One stream to one host."""

    def __init__(self, audience: "Audience", topics: frozenset[Topic]) -> None:
        self._audience = audience
        self.topics = topics
        self._due: dict[Topic, None] = {}
        self._bell = anyio.Event()
        self._ended = False

    def tell(self, topic: Topic) -> bool:
        """Remember that the host has to be told, and say whether it asked for that topic."""
        wanted = topic in self.topics and not self._ended
        if wanted:
            self._due[topic] = None
            self._bell.set()
        return wanted

    def end(self) -> None:
        """Let the stream end once it has told what is due."""
        self._ended = True
        self._bell.set()

    async def next(self) -> Topic | None:
        """Wait for the next topic that is due; None when the stream is to end."""
        while not self._due:
            if self._ended:
                return None
            self._bell = anyio.Event()
            await self._bell.wait()
        topic = next(iter(self._due))
        del self._due[topic]
        return topic

    def leave(self) -> None:
        """Take the stream out of its audience; idempotent."""
        self._audience.discard(self)


class Audience:
    """The open streams of one principal's hosts."""

    def __init__(self, limit: int = STREAMS) -> None:
        self._limit = limit
        self._subscribers: dict[Subscriber, None] = {}
        self._wanted: Counter[Topic] = Counter()
        self._changed: Callable[[], None] = _nobody
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
        """Call `listener` whenever a stream came or went; one listener, the last one given."""
        self._changed = listener

    def subscribers(self) -> tuple[Subscriber, ...]:
        """The streams of this moment, in the order in which they joined."""
        return tuple(self._subscribers)

    def close(self) -> None:
        """End every stream gracefully, also those that join later."""
        self._closed = True
        for subscriber in self.subscribers():
            subscriber.end()
