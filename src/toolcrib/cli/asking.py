"""Questions of servers and of policy, put to the person at the terminal.

    asking = asking_on(output, sys.stdin, sys.stderr)
    requester = Requester(ask=asking.ask, capabilities=asking.capabilities)

Where nobody is there to be asked nothing is declared, so servers cannot ask, and what policy wants
a person for is refused with a remedy.
"""

import webbrowser
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TextIO

import anyio
import anyio.to_thread

from toolcrib.cli.form_filling import fill_in
from toolcrib.cli.output import Output
from toolcrib.cli.person import Person, Refused, person_at
from toolcrib.cli.terminal_text import visible
from toolcrib.errors import UpstreamRefused
from toolcrib.ports import Ask
from toolcrib.protocol.elicitation import SecretForm, Unusable, examine
from toolcrib.protocol.forms import Form
from toolcrib.protocol.pages import Page

CAPABILITIES: Final[Mapping[str, Any]] = {"elicitation": {"form": {}, "url": {}}}
"""What a person at a terminal can be asked, as `ClientCapabilities`."""

_METHOD_NOT_FOUND: Final = -32601
_INVALID_PARAMS: Final = -32602


@dataclass(frozen=True, slots=True)
class AskingTerminal:
    """How the caller of a command can be asked."""

    ask: Ask | None = None
    """None: nobody is there."""
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])


def asking_on(output: Output, stdin: TextIO, stderr: TextIO) -> AskingTerminal:
    """Asks the person at these streams, where there is one."""
    person = person_at(output, stdin, stderr)
    if person is None:
        return AskingTerminal()
    return AskingTerminal(TerminalAsk(person, output), CAPABILITIES)


class TerminalAsk:
    """A `ports.Ask`; one question at a time, the next ones wait."""

    def __init__(self, person: Person, output: Output) -> None:
        self._person = person
        self._output = output
        self._turn = anyio.Lock()

    async def __call__(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The person's answer, as an `ElicitResult`.

        Raises:
            UpstreamRefused: It is no question for a person, or one that cannot be shown.
        """
        if method != "elicitation/create":
            raise UpstreamRefused(f"{method} is not answered here", rpc_code=_METHOD_NOT_FOUND)
        asked = examine(params)
        if isinstance(asked, Unusable):
            raise UpstreamRefused(f"the question {asked.reason}", rpc_code=_INVALID_PARAMS)
        async with self._turn:
            with self._output.person():
                try:
                    return await self._answer(str(params.get("message")), asked)
                except Refused as refused:
                    return {"action": refused.action}

    async def _answer(self, message: str, asked: Form | Page | SecretForm) -> dict[str, Any]:
        person = self._person
        person.tell(f"\n{visible(message.strip())}")
        match asked:
            case Form():
                return {"action": "accept", "content": await fill_in(asked, person)}
            case SecretForm(fields):
                names = ", ".join(visible(name) for name in fields)
                person.tell(f"Not answered: it asks for secrets in a form ({names}).", "yellow")
                return {"action": "decline"}
            case Page():
                return await self._visit(asked)

    async def _visit(self, page: Page) -> dict[str, Any]:
        """Shows the whole address; nothing is fetched before the person agrees, nor by us after."""
        person = self._person
        person.tell(f"Host: {visible(page.host)}", "bold")
        for warning in page.warnings:
            person.tell(f"Careful: {visible(warning)}.", "yellow")
        person.tell(f"Address: {visible(page.url)}")
        if not await person.agrees("Open it in your browser?"):
            return {"action": "decline"}
        # It takes a list of arguments or an interface of the system, never a shell's command line.
        if not await anyio.to_thread.run_sync(webbrowser.open, page.url):
            person.tell("No browser could be started: open the address yourself.", "yellow")
        return {"action": "accept"}
