"""Programs that need a person: asked once for each kind, live or by a round, in any process."""

import hashlib
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import anyio
import mcp_types as types
import pytest

from toolcrib.adapters.monty.sandbox import MontySandbox
from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.core.partition import Principal
from toolcrib.core.snapshot import Kind
from toolcrib.facts import ProgramEnded
from toolcrib.ports import Abilities, Era, Program, Running
from toolcrib.settings import (
    ApprovalRule,
    ApprovalSettings,
    CodeSettings,
    FlowRule,
    Language,
)
from toolcrib.testing.coded_server import (
    CodedServer,
    CodingHost,
    answering,
    coded,
    text_of,
    value_of,
)
from toolcrib.testing.git_server import MAIN, Git
from toolcrib.testing.scripted import tool
from toolcrib.testing.scripted_gateway import HostEra
from toolcrib.testing.virtual_clock import LoopClock

INTEGER = {"type": "integer"}
YES = {"action": "accept", "content": {"answer": "yes, for this program"}}
NO = {"action": "decline"}
APPROVAL = ApprovalSettings(
    (
        ApprovalRule("ask", tools=("wipe",), arguments={"n": "1?"}, source="toolcrib.toml:1"),
        ApprovalRule("ask", tools=("wipe",), source="toolcrib.toml:2"),
        ApprovalRule("ask", tools=("drop",), source="toolcrib.toml:3"),
    )
)
FIFTY = (
    "import asyncio\nfrom git import wipe\nprint('begun')\n"
    "done = await asyncio.gather(*[wipe(n=n) for n in range(20, 70)])\n"
    "return [len(done), done[0], done[-1]]"
)
FIFTY_DONE = '[50,{"n":20},{"n":69}]\n[toolcrib: printed]\nbegun'
RELEASE = "from git import release, read\na = await read(n=1)\nreturn [a, await release()]"


class Person:
    """Whoever sits before a host of the SDK, and answers yes or `main`."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, _context: object, params: Any) -> Any:
        self.asked.append(params.message)
        branch = "branch" in params.requested_schema["properties"]
        return types.ElicitResult.model_validate(MAIN if branch else YES)


def question(result: Mapping[str, Any]) -> str:
    """The only question of a result."""
    assert result.get("resultType") == "input_required", result
    (asked,) = result["inputRequests"].values()
    return asked["params"]["message"]


# ---- once for each kind ----


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_fifty_calls_of_a_kind_are_asked_about_once_by_every_host(era: HostEra) -> None:
    server, person = Git(), Person()
    async with coded({"git": server}, approval=APPROVAL) as (_, gateway):
        with anyio.fail_after(10):
            async with gateway.host(era, elicitation_callback=person) as client:
                result = await client.call_tool("run_code", {"code": FIFTY})
                assert text_of(result.model_dump()) == FIFTY_DONE
                (asked,) = person.asked
                assert "holds for all that the same rule asks about" in asked
                assert sorted(it["arguments"]["n"] for _, it in server.calls) == [*range(20, 70)]
                await client.call_tool("run_code", {"code": FIFTY})
                assert len(person.asked) == 2  # a yes is for one program


async def test_each_call_is_held_against_what_was_said_of_its_own_kind() -> None:
    code = (
        "from toolcrib import try_call\nfrom git import wipe, drop\n"
        "calls = [(wipe, 20), (wipe, 21), (wipe, 10), (wipe, 11), (drop, 1), (drop, 2)]\n"
        "return [(await try_call(tool(n=n)))['error'][:40] for tool, n in calls]"
    )
    server = Git()
    async with coded({"git": server}, approval=APPROVAL) as (host, _):
        first = await host.run(code)
        assert "toolcrib.toml:2" in question(first)
        second = await host.run(code, **answering(first, YES))
        assert "toolcrib.toml:1" in question(second)
        third = await host.run(code, **answering(second, NO))
        assert "toolcrib.toml:3" in question(third)
        refused = "toolcrib.not_allowed: a person said no t"
        done = value_of(await host.run(code, **answering(third, YES)))
        assert done[:2] + done[4:] == [""] * 4
        assert done[2] == refused
        assert done[3].startswith("toolcrib.not_allowed")
        assert [it["arguments"]["n"] for _, it in server.calls] == [20, 21, 1, 2]


async def test_who_says_no_is_believed_and_nothing_is_called() -> None:
    server = Git()
    async with coded({"git": server}, approval=APPROVAL) as (host, _):
        aside = await host.run(FIFTY)
        said = text_of(await host.run(FIFTY, **answering(aside, NO)))
        assert said.startswith("RuntimeError: toolcrib.not_allowed: a person said no")
        assert "It had made 50 calls" in said
        assert "may have acted" not in said
        assert server.calls == []


async def test_a_contract_that_changes_while_a_person_thinks_is_another_kind() -> None:
    server = Git()
    async with coded({"git": server}, approval=APPROVAL) as (host, _):
        aside = await host.run(FIFTY)
        server.change([tool("wipe", n=INTEGER, force={"type": "boolean"})])
        await anyio.sleep(0.1)
        said = text_of(await host.run(FIFTY, **answering(aside, YES)))
        assert "toolcrib.schema_changed" in said
        assert server.calls == []


async def test_a_flow_that_a_person_has_to_agree_to_is_asked_about() -> None:
    web, crm = CodedServer({}, tool("read")), CodedServer({}, tool("write"))
    code = "import web, crm\nawait web.read()\nawait crm.write(n=1)\nawait crm.write(n=2)\nreturn 1"
    rules = CodeSettings(flows=(FlowRule("web", "crm", "ask"),))
    async with coded({"web": web, "crm": crm}, code=rules) as (host, _):
        aside = await host.run(code)
        assert "may hold what web answered to this program" in question(aside)
        assert (web.called, crm.called) == (["read"], [])
        assert value_of(await host.run(code, **answering(aside, YES))) == 1
        aside = await host.run(code)
        said = text_of(await host.run(code, **answering(aside, NO)))
        assert "toolcrib.not_allowed" in said
        assert (web.called, crm.called) == (["read"] * 2, ["write"] * 2)


async def test_where_nobody_can_be_asked_the_program_is_told_and_a_question_waits() -> None:
    code = (
        "from toolcrib import try_call\nfrom git import wipe, read\n"
        "tried = [await try_call(wipe(n=n)) for n in (20, 21)]\n"
        "return [*(it['error'] for it in tried), await read(n=3)]"
    )
    server = Git()
    async with coded({"git": server}, approval=APPROVAL) as (_, gateway):
        host = CodingHost(gateway, capabilities={})
        first, second, read = await host.value(code)
        assert first.startswith("toolcrib.needs_confirmation: a person has to approve this call")
        assert second == first
        assert (read, server.called) == ({"n": 3}, ["read"])


# ---- what servers ask ----


@pytest.mark.parametrize("host", ["auto", "legacy"])
@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_what_a_server_asks_reaches_the_person_and_the_answer_goes_on(
    era: Era, host: HostEra
) -> None:
    server, person = Git(era), Person()
    async with coded({"git": server}) as (_, gateway):
        with anyio.fail_after(10):
            async with gateway.host(host, elicitation_callback=person) as client:
                result = await client.call_tool("run_code", {"code": RELEASE})
    assert value_of(result.model_dump()) == [{"n": 1}, "released main"]
    assert len(person.asked) == 1
    assert "Which branch?" in person.asked[0]
    assert server.called.count("read") == 1


async def test_questions_of_several_calls_go_out_together() -> None:
    code = (
        "import asyncio\nfrom git import release, read\n"
        "return await asyncio.gather(release(), release(), read(n=1), release())"
    )

    all_there = anyio.Event()

    class Slow(Git):
        async def release(self, _: dict[str, Any]) -> dict[str, Any]:
            answer = await super().release(_)
            if self.called.count("release") == 3:
                all_there.set()
            with anyio.fail_after(5):
                await all_there.wait()
            return answer

    async with coded({"git": Slow()}) as (host, _):
        aside = await host.run(code)
        assert [key.partition("/")[0] for key in aside["inputRequests"]] == ["1", "2", "4"]
        done = await host.run(code, **answering(aside, MAIN, MAIN, MAIN))
        assert value_of(done) == ["released main", "released main", {"n": 1}, "released main"]


# ---- put aside ----


async def test_a_program_goes_on_in_another_process_on_the_same_store() -> None:
    here, there = Git(), Git()
    store = MemoryStore(LoopClock())
    async with coded({"git": here}, approval=APPROVAL, store=store) as (host, gateway):
        aside = await host.run(f"from git import read\nawait read(n=0)\n{FIFTY}")
        (ended,) = gateway.recorder.of(ProgramEnded)
        assert (ended.why, ended.calls) == ("suspended", 51)
    async with coded({"git": there}, approval=APPROVAL, store=store) as (host, _):
        code = f"from git import read\nawait read(n=0)\n{FIFTY}"
        done = await host.run(code, **answering(aside, YES))
        assert text_of(done) == FIFTY_DONE
    assert (here.called, len(there.calls)) == (["read"], 50)
    assert set(there.called) == {"wipe"}


class Unfrozen:
    """The real runtime as one that cannot be put aside: programs are replayed."""

    def __init__(self) -> None:
        self._sandbox = MontySandbox(CodeSettings())

    def sandbox(self, language: Language) -> "Unfrozen":
        assert language == "python"
        return self

    async def abilities(self) -> Abilities:
        return replace(await self._sandbox.abilities(), snapshots=False)

    def open(
        self, program: Program, *, snapshot: bytes | None = None
    ) -> AbstractAsyncContextManager[Running]:
        assert snapshot is None
        return self._sandbox.open(program)

    async def aclose(self) -> None:
        await self._sandbox.aclose()


REPLAYED = (
    "import random, time, toolcrib\nfrom git import read, release, wipe\n"
    "lot = int(time.time()) + int(random.random() * 1e9)\n"
    "seen = [await toolcrib.call('git', 'read', {'n': lot}), await read(n=lot)]\n"
    "print('before')\nseen.append(await release())\nawait wipe(n=20)\n"
    "print('after')\nreturn [seen[0] == seen[1], seen[2]]"
)


async def test_a_runtime_that_cannot_be_put_aside_is_told_again_what_it_was_told() -> None:
    """Though the tool that it called first is gone, and with the same clock and chance."""
    servers, store = [Git() for _ in range(3)], MemoryStore(LoopClock())
    servers[2].change([tool("wipe", n=INTEGER), tool("release")])
    members: dict[str, Any] = {}
    for server, answer in zip(servers, (MAIN, YES, None), strict=True):
        others: dict[str, Any] = {"store": store, "sandboxes": Unfrozen(), "approval": APPROVAL}
        async with coded({"git": server}, **others) as (host, _):
            result = await host.run(REPLAYED, **members)
            if answer is not None:
                members = answering(result, answer)
            else:
                said = text_of(result)
                assert said == '[true,"released main"]\n[toolcrib: printed]\nbefore\nafter'
    called = [server.called for server in servers]
    assert called == [["read", "read", "release"], ["release"], ["wipe"]]


async def test_an_old_server_that_waits_in_one_process_cannot_be_gone_on_with_in_another() -> None:
    """It holds its question open on a connection of the process that called it."""
    here, there, store = Git("handshake"), Git("handshake"), MemoryStore(LoopClock())
    async with coded({"git": here}, store=store) as (host, _):
        aside = await host.run(RELEASE)
        async with coded({"git": there}, store=store) as (other, _):
            said = text_of(await other.run(RELEASE, **answering(aside, MAIN)))
        assert said.startswith("RuntimeError: toolcrib.")
        assert "1. `git` `read` (line 2) returned" in said
        assert there.calls == []
        used = await host.run(RELEASE, **answering(aside, MAIN))
        assert "was used already" in used["message"]


async def test_a_tool_that_is_gone_meanwhile_is_gone_and_the_rest_of_the_program_goes_on() -> None:
    code = (
        "from toolcrib import try_call\nfrom git import wipe\nawait wipe(n=20)\n"
        "async def more():\n    from git import read\n    return await try_call(read(n=1))\n"
        "return await more()"
    )
    server = Git()
    async with coded({"git": server}, approval=APPROVAL) as (host, _):
        aside = await host.run(code)
        server.change([each for each in server.items[Kind.TOOLS] if each["name"] != "read"])
        await anyio.sleep(0.1)
        settled = value_of(await host.run(code, **answering(aside, YES)))
        assert settled["error"].startswith("toolcrib.tool_gone: `git` has no tool `read`")


ALICE = Principal("https://issuer.test", "alice")


async def test_a_state_is_good_once_for_its_program_and_its_caller() -> None:
    server = Git()
    async with coded({"git": server}, approval=APPROVAL) as (_, gateway):
        host = CodingHost(gateway, "h" * 16, ALICE)
        aside = await host.run(FIFTY)
        answers = answering(aside, YES)
        state = aside["requestState"]
        forged = {**answers, "requestState": state[:-2] + ("A" if state[-2] != "A" else "B") + "A"}
        others = [
            CodingHost(gateway, "g" * 16, ALICE).run(FIFTY, **answers),
            CodingHost(gateway, "h" * 16, Principal(ALICE.issuer, "bob")).run(FIFTY, **answers),
            CodingHost(gateway, "h" * 16).run(FIFTY, **answers),
            host.run(f"{FIFTY}\n", **answers),
            host.run(FIFTY, **forged),
            host.run(FIFTY, **{**answers, "requestState": "nonsense"}),
            host.run(FIFTY, inputResponses=answers["inputResponses"]),
        ]
        for other in others:
            refused = await other
            assert refused["fault"] == -32602
            assert "is not good for this program" in refused["message"]
        assert server.calls == []
        assert text_of(await host.run(FIFTY, **answers)) == FIFTY_DONE
        used = await host.run(FIFTY, **answers)
        assert "was used already" in used["message"]
        assert len(server.calls) == 50


async def test_a_state_expires() -> None:
    server = Git()
    async with coded({"git": server}, approval=APPROVAL) as (host, gateway):
        aside = await host.run(FIFTY)
        gateway.world.clock.wall_offset += 901
        late = await host.run(FIFTY, **answering(aside, YES))
        assert "it expired" in late["message"]
        assert server.calls == []


async def test_of_two_requests_that_bring_the_same_state_one_goes_on() -> None:
    server = Git()
    async with coded({"git": server}, approval=APPROVAL) as (host, _):
        aside = await host.run(FIFTY)
        answers: list[dict[str, Any]] = []

        async def bring() -> None:
            answers.append(await host.run(FIFTY, **answering(aside, YES)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bring)
            tasks.start_soon(bring)
        assert sorted("fault" in it for it in answers) == [False, True]
        assert len(server.calls) == 50


async def test_two_programs_of_one_caller_wait_and_go_on_apart() -> None:
    server = Git()
    code = "from git import wipe\nx = {}\nawait wipe(n=x)\nreturn x"
    async with coded({"git": server}, approval=APPROVAL) as (host, _):
        first, second = await host.run(code.format(30)), await host.run(code.format(40))
        crossed = await host.run(code.format(30), **answering(second, YES))
        assert crossed["fault"] == -32602
        assert value_of(await host.run(code.format(40), **answering(second, YES))) == 40
        assert value_of(await host.run(code.format(30), **answering(first, YES))) == 30
        assert [it["arguments"]["n"] for _, it in server.calls] == [40, 30]


async def test_where_no_worker_is_free_the_program_waits_on_with_the_same_state() -> None:
    server = Git()
    settings = CodeSettings(programs=1, wait_seconds=0.05)
    async with coded({"git": server}, approval=APPROVAL, code=settings) as (host, _):
        aside = await host.run(FIFTY)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.run, "import asyncio\nawait asyncio.sleep(4)")
            await anyio.sleep(0.3)
            busy = await host.run(FIFTY, **answering(aside, YES))
            assert "code.programs" in text_of(busy)
            assert busy["structuredContent"]["error"]["retry"] == "later"
            tasks.cancel_scope.cancel()
        assert text_of(await host.run(FIFTY, **answering(aside, YES))) == FIFTY_DONE


async def test_what_is_too_large_to_wait_is_told_with_what_it_did() -> None:
    code = (
        "from git import read, wipe\nawait read(n=1)\nx = 'ab' * 100_000\nawait wipe(n=20)\nlen(x)"
    )
    server = Git()
    settings = CodeSettings(suspended_bytes=500)
    async with coded({"git": server}, approval=APPROVAL, code=settings) as (host, _):
        said = text_of(await host.run(code))
        assert "a person has to be asked, and the program cannot wait" in said
        assert "code.suspended_bytes allows 500" in said
        assert "1. `git` `read` (line 2) returned" in said
        assert "2. `git` `wipe` (line 4) stopped: its question was not answered" in said


async def test_a_large_program_waits_and_goes_on_with_all_it_holds() -> None:
    """Large enough to be packed and sealed in a thread."""
    code = (
        "import hashlib\nfrom git import wipe\n"
        "x = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(9000)]\n"
        "await wipe(n=20)\nreturn [len(x), x[0][:8], x[-1][:8]]"
    )
    async with coded({"git": Git()}, approval=APPROVAL) as (host, _):
        aside = await host.run(code)
        done = value_of(await host.run(code, **answering(aside, YES)))
        assert done == [9000, *(hashlib.sha256(it).hexdigest()[:8] for it in (b"0", b"8999"))]
