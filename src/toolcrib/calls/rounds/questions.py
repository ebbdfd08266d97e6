"""Questions as a program answers them: callbacks of a library user, or prompts in a terminal.

    async def on_elicit(server: str, question: FormQuestion | PageQuestion) -> Said: ...

    requester = Callbacks(on_elicit).requester()

What is declared follows from what was given: nobody is asked what no callback answers. Addresses
are handed over and never opened here.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from toolcrib.calls.call import Requester
from toolcrib.core.jsontypes import is_object
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.core.quoting import quoted
from toolcrib.errors import UpstreamRefused
from toolcrib.ports import Heard
from toolcrib.protocol.elicitation import SERVER_KEY, Action, examine, stamp_of
from toolcrib.protocol.forms import Form
from toolcrib.protocol.pages import Page

_UNSUPPORTED: Final = -32601
_INVALID: Final = -32602

Mode = Literal["form", "url"]


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """A form to be filled in; the person sees the answers before they are sent."""

    message: str
    """What it is about, in the words of whoever asks."""
    form: Form
    schema: Mapping[str, Any]
    """The `requestedSchema` that the fields come from."""


@dataclass(frozen=True, slots=True)
class PageQuestion:
    """A page to be visited: show the whole address and the host, and open it only after a yes."""

    message: str
    page: Page


@dataclass(frozen=True, slots=True)
class Said:
    """What a person said."""

    action: Action
    content: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The fields of an accepted form; a page visit has none."""


DECLINED: Final = Said("decline")
"""The person said no."""

CANCELLED: Final = Said("cancel")
"""The person dismissed the question without an answer."""

OnElicit = Callable[[str, FormQuestion | PageQuestion], Awaitable[Said]]
"""Answers for a server, whose configured id comes first; empty: toolcrib itself asks."""

OnRequest = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Answers a sampling or roots request of a server: (server, parameters) -> raw result."""


class Callbacks:
    """Answers questions with callbacks, and says which can be asked.

    Args:
        on_elicit: Answers forms and page visits; None: nobody can be asked.
        modes: Which of the two it answers.
        on_sampling: Answers `sampling/createMessage`.
        on_roots: Answers `roots/list`.
    """

    def __init__(
        self,
        on_elicit: OnElicit | None = None,
        *,
        modes: tuple[Mode, ...] = ("form", "url"),
        on_sampling: OnRequest | None = None,
        on_roots: OnRequest | None = None,
    ) -> None:
        self._on_elicit = on_elicit if modes else None
        self._modes = modes
        self._others = {"sampling/createMessage": on_sampling, "roots/list": on_roots}

    @property
    def capabilities(self) -> dict[str, Any]:
        """What can be asked, as `ClientCapabilities`."""
        declared: dict[str, Any] = {}
        if self._on_elicit is not None:
            declared["elicitation"] = {mode: {} for mode in self._modes}
        if self._others["sampling/createMessage"] is not None:
            declared["sampling"] = {}
        if self._others["roots/list"] is not None:
            declared["roots"] = {}
        return declared

    def requester(
        self,
        principal: Principal = LOCAL,
        *,
        handle: str = "",
        heard: Heard | None = None,
        log_level: str = "",
    ) -> Requester:
        """Whoever calls with these callbacks."""
        capabilities = self.capabilities
        return Requester(
            principal=principal,
            handle=handle,
            capabilities=capabilities,
            ask=self.ask if capabilities else None,
            heard=heard,
            log_level=log_level,
        )

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one question; raises `UpstreamRefused` for one that no callback answers."""
        meta = params.get("_meta")
        server = meta.get(SERVER_KEY, "") if is_object(meta) else ""
        if method == "elicitation/create" and self._on_elicit is not None:
            question = _question(server, params)
            said = await self._on_elicit(server, question)
            if said.action == "accept" and isinstance(question, FormQuestion):
                return {"action": "accept", "content": dict(said.content)}
            return {"action": said.action}
        other = self._others.get(method)
        if other is None:
            raise UpstreamRefused(f"{quoted(method)} is not answered here", rpc_code=_UNSUPPORTED)
        return await other(server, params)


def _question(server: str, params: Mapping[str, Any]) -> FormQuestion | PageQuestion:
    message = str(params.get("message", "")).removeprefix(stamp_of(server))
    found = examine(params)
    if isinstance(found, Form):
        return FormQuestion(message, found, params["requestedSchema"])
    if isinstance(found, Page):
        return PageQuestion(message, found)
    raise UpstreamRefused("this cannot be shown to a person", rpc_code=_INVALID)
