"""What a rule can have the server do with something that arrives.

Some are done in passing, then the request goes on; the others end it, in place of the answer it
would have got.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolcrib.core.snapshot import Kind
from toolcrib.testing.server.behaviour import Content

__all__ = [
    "Action",
    "Answer",
    "Ask",
    "Change",
    "Cut",
    "Delay",
    "Drop",
    "Ending",
    "Exit",
    "Fail",
    "Forget",
    "Garble",
    "Hang",
    "Honour",
    "Leave",
    "Mute",
    "Noise",
    "Pad",
    "Passing",
    "Progress",
    "Refuse",
    "Say",
    "Shaping",
    "Signal",
    "Telling",
]


def _no_headers() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Delay:
    """Goes on so many seconds later; the content of a listing was read on arrival."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Noise:
    """Writes a line that is no message: something a library printed. Only on stdio."""

    text: str = "a library says hello"
    size: int = 0
    """Repeats the text until the line has so many bytes."""
    to: Literal["stdout", "stderr"] = "stdout"

    @property
    def line(self) -> str:
        """The line, in its full length."""
        times = -(-self.size // max(1, len(self.text)))
        return (self.text * times)[: self.size] if self.size else self.text


@dataclass(frozen=True, slots=True)
class Signal:
    """Sends `list_changed`, needed or not."""

    kind: Kind = Kind.TOOLS
    count: int = 1
    late: bool = False
    """After the answer; else before it."""
    unasked: bool = False
    """Not to those who listen: on the bare pipe, or on the event stream of the request itself."""


@dataclass(frozen=True, slots=True)
class Change:
    """The content becomes another one, without a word."""

    content: Content


@dataclass(frozen=True, slots=True)
class Pad:
    """Makes the answer so many bytes longer, in a member of its `_meta`."""

    size: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Sends progress under the token of the request, if it has one."""

    progress: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """Sends a request to the client and waits for its answer, as servers of the handshake era do.

    What came back is the last of what `heard` returns.
    """

    method: str
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Say:
    """Sends a notification that belongs to the request, such as a log message."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Honour:
    """Acknowledges only these kinds of a `subscriptions/listen`, and sends no others."""

    kinds: tuple[Kind, ...] = ()


@dataclass(frozen=True, slots=True)
class Leave:
    """Answers, and then exits as `Exit` does."""

    status: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """Answers with this result, as it is."""

    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fail:
    """Answers with a JSON-RPC error."""

    code: int
    message: str = "scripted"
    data: Any = None
    status: int | None = None
    """The HTTP status beside it; None: the one of the revision."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answers with an HTTP status and no JSON-RPC. Only over HTTP."""

    status: int
    headers: Mapping[str, str] = field(default_factory=_no_headers)
    """Such as `WWW-Authenticate` or `Retry-After`."""
    body: str = ""


@dataclass(frozen=True, slots=True)
class Garble:
    """Answers with this text, which is no message."""

    text: str = '{"jsonrpc": "2.0", "id'


@dataclass(frozen=True, slots=True)
class Cut:
    """Sends half the answer, then the connection ends; on stdio the process does."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Ends the connection without an answer.

    A stream of signals is opened (a listen acknowledged too) and then ends.
    """

    graceful: bool = False
    """A listen ends with its result, as servers that shut down do it."""


@dataclass(frozen=True, slots=True)
class Mute:
    """Opens the stream of signals and sends nothing on it. For GET and `subscriptions/listen`."""

    acknowledges: bool = True
    """Whether a listen is acknowledged first."""


@dataclass(frozen=True, slots=True)
class Hang:
    """Never answers. Over HTTP not even a status is sent."""


@dataclass(frozen=True, slots=True)
class Forget:
    """Forgets the session of the request: 404 for it and all that follow. Streamable HTTP only."""


@dataclass(frozen=True, slots=True)
class Exit:
    """The process exits; a server on HTTP goes down, until it is started again."""

    status: int = 1


Telling = Delay | Noise | Signal | Progress | Ask | Say
"""Done in passing and in the order given: something is sent, or time goes by."""

Shaping = Change | Pad | Honour | Leave
"""Done in passing: what is, or what will be answered, becomes another."""

Passing = Telling | Shaping

Ending = Answer | Fail | Refuse | Garble | Cut | Drop | Mute | Hang | Forget | Exit
"""In place of the answer."""

Action = Passing | Ending
