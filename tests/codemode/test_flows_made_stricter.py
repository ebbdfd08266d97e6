"""Rules of flow that became others while a program waited: the rest of it goes by those of now."""

from typing import Any

import anyio
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.calls.call import Retry, ToolCall
from toolcrib.codemode.program_run import Aside, Done
from toolcrib.codemode.put_aside import PutAside
from toolcrib.settings import ApprovalRule, ApprovalSettings, CodeSettings, FlowRule, FlowVerdict
from toolcrib.testing.coded_server import CodedServer, answering, coded, text_of, value_of
from toolcrib.testing.program_rig import ProgramRig, asking_result
from toolcrib.testing.scripted import tool
from toolcrib.testing.scripted_sandbox import Script, ToolError, World
from toolcrib.testing.virtual_clock import LoopClock

DENIED = "toolcrib.not_allowed: what `crm` answered may not go into calls of `mail` within one"


async def echo(call: ToolCall) -> dict[str, Any]:
    return {"content": [], "structuredContent": dict(call.arguments)}


async def person_first(call: ToolCall) -> dict[str, Any]:
    await anyio.sleep(1)  # so that others come back before
    return asking_result() if call.retry is None else await echo(call)


TOOLS = {"crm.read": echo, "mail.send": echo, "mail.ask": person_first, "web.ask": person_first}


def rules(verdict: FlowVerdict | None, **others: Any) -> CodeSettings:
    """Settings with one rule, or none."""
    flows = () if verdict is None else (FlowRule("crm", "mail", verdict),)
    return CodeSettings(flows=flows, **others)


class Waited:
    """A program whose rules are others when it goes on."""

    def __init__(
        self,
        *,
        snapshots: bool,
        first: FlowVerdict | None,
        then: FlowVerdict | None,
        in_flight: int = 16,
    ) -> None:
        self.rig = ProgramRig(TOOLS, rules(first, in_flight=in_flight), snapshots)
        self._then = rules(then, in_flight=in_flight)

    async def value(self, script: Script) -> Any:
        """What it returns at last."""
        aside = await self.rig.run(script)
        assert isinstance(aside, Aside), aside
        self.outcomes = [row.outcome for row in aside.progress.rows]
        self.before = len(self.rig.calls)
        self.rig.settings = self._then
        retries = {number: Retry("state") for number in aside.progress.asked}
        done = await self.rig.run(script, before=aside.progress, retries=retries)
        assert isinstance(done, Done), done
        return done.value

    @property
    def sent(self) -> list[ToolCall]:
        """What went out after that."""
        return self.rig.calls[self.before :]


async def told(call: Any) -> Any:
    try:
        return await call
    except ToolError as error:
        return str(error)


async def reads_asks_and_sends(world: World) -> object:
    """Two calls are open while a person thinks; another one follows."""
    await world.call("crm", "read", n=1)
    asked, sent = world.call("web", "ask", n=2), world.call("mail", "send", n=3)
    await told(asked)
    return [await told(sent), await told(world.call("mail", "send", n=4))]


async def asks_with_what_it_read(world: World) -> object:
    await world.call("crm", "read", n=1)
    asked = await told(world.call("mail", "ask", n=2))
    return [asked, await told(world.call("crm", "read", n=3))]


async def sends_before_it_reads(world: World) -> object:
    """What is asked about was called before anything was read."""
    asked = world.call("mail", "ask", n=1)
    await world.call("crm", "read", n=2)
    return await told(asked)


pytestmark = [pytest.mark.anyio]
by_snapshot = pytest.mark.parametrize("snapshots", [True, False])


@pytest.mark.virtual_time
@by_snapshot
async def test_calls_that_were_held_and_later_ones_are_refused(*, snapshots: bool) -> None:
    waited = Waited(snapshots=snapshots, first=None, then="deny", in_flight=1)
    held, later = await waited.value(reads_asks_and_sends)
    assert waited.outcomes == ["returned", "asking", "held"]
    assert held.startswith(DENIED)
    assert later.startswith(DENIED)
    assert [it.server for it in waited.sent] == ["web"]


@pytest.mark.virtual_time
@by_snapshot
async def test_a_call_that_a_person_agreed_to_is_refused_and_those_behind_it_go_out(
    *, snapshots: bool
) -> None:
    waited = Waited(snapshots=snapshots, first="ask", then="deny")
    asked, other = await waited.value(asks_with_what_it_read)
    assert asked.startswith(DENIED)
    assert other == {"n": 3}
    assert [it.server for it in waited.sent if it.server == "mail"] == []


@pytest.mark.virtual_time
@by_snapshot
async def test_what_was_called_before_anything_was_read_goes_out(*, snapshots: bool) -> None:
    waited = Waited(snapshots=snapshots, first=None, then="deny")
    assert await waited.value(sends_before_it_reads) == {"n": 1}
    assert waited.outcomes == ["asking", "returned"]


@pytest.mark.virtual_time
@by_snapshot
@pytest.mark.parametrize(
    ("first", "then", "flow"),
    [(None, "ask", "crm"), ("ask", "ask", "crm"), ("ask", None, ""), ("ask", "allow", "")],
)
async def test_whether_a_person_has_to_agree_is_as_the_rules_say_now(
    first: FlowVerdict | None, then: FlowVerdict | None, flow: str, *, snapshots: bool
) -> None:
    waited = Waited(snapshots=snapshots, first=first, then=then)
    await waited.value(asks_with_what_it_read)
    assert [it.flow for it in waited.sent if it.server == "mail"] == [flow]


ASKING = ApprovalSettings((ApprovalRule("ask", tools=("wipe",)),))
CODE = (
    "import asyncio\nfrom toolcrib import gather_settled\nimport crm, mail, web\n"
    "read = await crm.read(n=1)\n"
    "both = await gather_settled(web.wipe(n=2), mail.wipe(n=3))\n"
    "last = await gather_settled(mail.send(n=4))\n"
    "return [it['error'] for it in [*both, *last]]"
)


async def test_a_program_goes_on_under_the_rules_of_the_process_that_goes_on_with_it() -> None:
    store, sent = MemoryStore(LoopClock()), list[str]()
    members: dict[str, Any] = {}
    for verdict in (None, "deny"):
        servers = {
            "crm": CodedServer({}, tool("read")),
            "mail": CodedServer({}, tool("send"), tool("wipe")),
            "web": CodedServer({}, tool("wipe")),
        }
        others: dict[str, Any] = {"approval": ASKING, "store": store, "code": rules(verdict)}
        async with coded(servers, **others) as (host, _):
            result = await host.run(CODE, **members)
            if verdict is None:
                answers = [{"action": "accept", "content": {"answer": "yes, for this program"}}]
                members = answering(result, *answers * len(result["inputRequests"]))
            else:
                ours, theirs, last = value_of(result)
                assert ours == ""
                assert theirs.startswith(DENIED)
                assert last.startswith(DENIED)
        sent += [f"{server}.{name}" for server, it in servers.items() for name in it.called]
    assert sent == ["crm.read", "web.wipe"]


async def test_a_flow_that_has_to_be_agreed_to_by_now_is_asked_about_before_it_goes_on() -> None:
    store = MemoryStore(LoopClock())
    code = "import crm, mail\nawait crm.read()\nreturn await mail.wipe(n=1)"
    members: dict[str, Any] = {}
    said = list[str]()
    mail = CodedServer({}, tool("wipe"))
    for verdict in (None, "ask", "ask"):
        servers = {"crm": CodedServer({}, tool("read")), "mail": mail}
        others: dict[str, Any] = {"approval": ASKING, "store": store, "code": rules(verdict)}
        async with coded(servers, **others) as (host, _):
            result = await host.run(code, **members)
            if "inputRequests" not in result:
                break
            (question,) = result["inputRequests"].values()
            said.append(question["params"]["message"])
            yes = {"action": "accept", "content": {"answer": "yes, for this program"}}
            members = answering(result, yes)
            assert mail.calls == []
    assert text_of(result) == '{"n":1}'
    assert ["what crm answered" in it for it in said] == [False, True]
    assert len(mail.calls) == 1


async def test_what_was_heard_before_a_call_outlives_its_process() -> None:
    rig = ProgramRig(TOOLS, snapshots=False)
    aside = await rig.run(asks_with_what_it_read)
    assert isinstance(aside, Aside)
    kept = PutAside("r", "typescript", "1", {}, None, "", aside.progress).to_bytes()
    rows = PutAside.from_bytes(kept).progress.rows
    assert [row.heard for row in rows[:2]] == [(), ("crm",)]
