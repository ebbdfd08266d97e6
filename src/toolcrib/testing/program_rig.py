"""A program run in a scripted sandbox, with tools that are functions of a test."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolcrib.calls.call import Requester, Retry, ToolCall
from toolcrib.codemode.broker import Around
from toolcrib.codemode.callees import Callee
from toolcrib.codemode.program_run import Ending, ProgramRun, Progress
from toolcrib.codemode.turns import Turns
from toolcrib.errors import ToolGone
from toolcrib.facts import Fact
from toolcrib.ports import Program
from toolcrib.ports import Progress as Steps
from toolcrib.settings import CodeSettings
from toolcrib.testing.scripted_sandbox import Script, ScriptedSandbox

Tool = Callable[[ToolCall], Awaitable[dict[str, Any]]]


def text_result(text: str, *, failed: bool = False) -> dict[str, Any]:
    """A `CallToolResult` of one text."""
    return {"content": [{"type": "text", "text": text}], **({"isError": True} if failed else {})}


def asking_result(key: str = "q", state: str = "state") -> dict[str, Any]:
    """An `input_required` result with one question."""
    question = {"method": "elicitation/create", "params": {"message": "May I?"}}
    return {"resultType": "input_required", "inputRequests": {key: question}, "requestState": state}


@dataclass(eq=False)
class ProgramRig:
    """Runs programs over tools named `server.tool`."""

    tools: Mapping[str, Tool]
    settings: CodeSettings = field(default_factory=CodeSettings)
    snapshots: bool = True
    progress: Steps | None = None
    shared: ScriptedSandbox | None = None
    """Where all programs run, under the names of their functions; None: each in a new one."""
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    """What went through the pipeline."""
    facts: list[Fact] = field(default_factory=list[Fact])
    sandbox: ScriptedSandbox = field(init=False)
    """Of the program that was begun last."""
    turns: Turns = field(init=False)
    """At the workers, which all programs of this rig share."""

    def __post_init__(self) -> None:
        self.turns = Turns(self.settings)

    async def run(
        self,
        script: Script,
        *,
        requester: Requester | None = None,
        before: Progress | None = None,
        retries: Mapping[int, Retry] | None = None,
    ) -> Ending:
        """How the program ends; with `before`, after a person answered."""
        name = script.__name__
        self.sandbox = self.shared or ScriptedSandbox({name: script}, snapshots=self.snapshots)
        who = requester or Requester()
        run = ProgramRun(
            Around(self, self, self.settings, self, self.set_aside),
            self.sandbox,
            await self.sandbox.abilities(),
            who,
            run="r",
            before=before or Progress(),
            retries=retries,
            progress=self.progress,
        )
        async with self.turns.turn(who.principal, "python") as turn:
            return await run.end(Program(name, {}), turn)

    async def call(self, call: ToolCall) -> dict[str, Any]:
        """The pipeline."""
        if (tool := self.tools.get(f"{call.server}.{call.key}")) is None:
            raise ToolGone(f"there is no tool {call.key!r}", server=call.server)
        self.calls.append(call)
        if call.sent is not None:
            call.sent()
        return await tool(call)

    def named(self, module: str, function: str) -> Callee | None:
        """Functions are called what the tools are."""
        known = f"{module}.{function}" in self.tools
        return Callee(module, function, "contract") if known else None

    async def reach(self, server: str, requester: Requester) -> None:
        """Whatever some tool is on."""
        del requester
        if not any(name.startswith(f"{server}.") for name in self.tools):
            raise ToolGone(f"there is no server {server!r}", server=server)

    def in_own_names(self, gone: ToolGone, server: str, tool: str) -> ToolGone:
        """As it is."""
        del server, tool
        return gone

    async def set_aside(self, requester: Requester, result: dict[str, Any]) -> dict[str, Any]:
        """Nothing is kept."""
        del requester
        return result

    def note(self, fact: Fact) -> None:
        """The observer."""
        self.facts.append(fact)
