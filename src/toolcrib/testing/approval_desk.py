"""Everything around the approval of calls, without a gateway: a person, a store, an inbox."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio

from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.calls.approval.answers import Answers
from toolcrib.calls.approval.approval import Approval
from toolcrib.calls.approval.inbox import Waiting
from toolcrib.calls.call import Requester, ToolCall
from toolcrib.calls.rounds.own_questions import OwnAnswer, OwnQuestion
from toolcrib.config.keys import InstallationKey
from toolcrib.core.partition import Principal
from toolcrib.core.quarantine import judge
from toolcrib.core.snapshot import Item, Kind
from toolcrib.errors import CapabilityMissing
from toolcrib.ports import EntryStore
from toolcrib.settings import ApprovalRule, ApprovalSettings, ApprovalVerdict, Limits
from toolcrib.testing.virtual_clock import LoopClock

ASK = ApprovalRule("ask", source="toolcrib.toml:3")
RUN = replace(ASK, remember="run")
HOUR = replace(ASK, remember="principal", seconds=3_600.0)
ALICE = Principal("https://issuer.test", "alice")


def tool(name: str = "delete", **properties: Any) -> Item:
    """A tool with these properties in its input schema."""
    schema = {"type": "object", "properties": properties}
    verdict = judge(Kind.TOOLS, {"name": name, "inputSchema": schema}).verdict
    if not isinstance(verdict, Item):
        raise TypeError(verdict.detail)
    return verdict


def call(
    arguments: Mapping[str, Any] | None = None, requester: Requester | None = None
) -> ToolCall:
    """A call of `delete` on the server `files`."""
    given = {"path": "/a"} if arguments is None else arguments
    return ToolCall("files__delete", "files", "delete", given, requester or Requester())


def says(text: str) -> OwnAnswer:
    """The form, sent with this choice."""
    return OwnAnswer("accept", {"answer": text})


class Person:
    """Answers in turn what is asked; then, or where an answer is an error, cannot be asked."""

    def __init__(self, *answers: OwnAnswer | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[OwnQuestion] = []

    async def ask_own(self, call: ToolCall, question: OwnQuestion) -> OwnAnswer:
        """The next answer."""
        del call
        self.asked.append(question)
        answer = self.answers.pop(0) if self.answers else CapabilityMissing("no elicitation")
        if isinstance(answer, Exception):
            raise answer
        return answer


class ApprovalDesk:
    """One process; another one over the same store sees what it kept."""

    def __init__(
        self,
        *rules: ApprovalRule,
        person: Person | None = None,
        otherwise: ApprovalVerdict = "allow",
        store: EntryStore | None = None,
        run: str = "run-1",
    ) -> None:
        self.person = person or Person()
        self.clock = LoopClock()
        self.store = store or MemoryEntries(self.clock)
        self.launches = {"files": "launch-a"}
        """How servers are launched now."""
        self.answers = Answers(
            self.store, keys=InstallationKey(b"k" * 32), limits=Limits(), run=run
        )
        self.inbox = self.answers.inbox
        self.approval = Approval(
            ApprovalSettings(rules, otherwise),
            asking=self.person,
            answers=self.answers,
            launch=self.launches.__getitem__,
            clock=self.clock,
        )

    async def confirm(self, made: ToolCall | None = None, item: Item | None = None) -> None:
        """What the pipeline does with a call."""
        with anyio.fail_after(5):
            await self.approval.confirm(made or call(), item or tool())

    async def the_question(self) -> Waiting:
        """The one question that waits."""
        (waiting,) = await self.inbox.waiting()
        return waiting
