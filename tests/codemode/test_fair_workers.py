"""Callers of one gateway share its real workers; a program that asks a person leaves its own."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.calls.call import Requester
from toolcrib.codemode.ran import Ran
from toolcrib.core.partition import Principal
from toolcrib.crib import Crib
from toolcrib.errors import ScriptFailed
from toolcrib.facts import ProgramEnded
from toolcrib.settings import ApprovalRule, ApprovalSettings, CodeSettings
from toolcrib.testing.coded_server import ASKABLE, CodedServer, CodingHost, coded, structured
from toolcrib.testing.scripted import tool

ADA, BO, CY = (Principal("issuer", who) for who in ("ada", "bo", "cy"))
BRANCH: Mapping[str, Any] = {
    "message": "Which branch?",
    "requestedSchema": {"type": "object", "properties": {"branch": {"type": "string"}}},
}
ASKS = """
from s import read, release, wipe
kept = [await read(n=n) for n in range(3)]
print("begun")
said = await {}
print("went on")
return [kept, said, await read(n=3)]
"""

HANGS = "from s import hang\nawait hang(n=1)"


class Server(CodedServer):
    """A server of the handshake era, one of whose tools asks for a branch."""

    def __init__(self) -> None:
        numbered = [tool(name, n={"type": "integer"}) for name in ("read", "wipe", "hang")]
        super().__init__({"release": self._release, "hang": self._hang}, *numbered, era="handshake")
        self.hung: list[dict[str, Any]] = []
        self.hangs = anyio.Event()
        """Set by the next call that hangs."""

    async def _release(self, _: dict[str, Any]) -> dict[str, Any]:
        context = self.contexts[-1]
        assert context is not None
        assert context.ask is not None
        return structured((await context.ask("elicitation/create", BRANCH))["content"])

    async def _hang(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self.hung.append(arguments)
        self.hangs.set()
        await anyio.sleep_forever()
        raise AssertionError


class Person:
    """Whoever sits before the host: thinks until told otherwise."""

    def __init__(self, **content: str) -> None:
        self.asked = anyio.Event()
        self.knows = anyio.Event()
        self._content = content

    async def __call__(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        del method, params
        self.asked.set()
        await self.knows.wait()
        return {"action": "accept", "content": self._content}

    def of(self, principal: Principal) -> Requester:
        return Requester(principal, capabilities=ASKABLE, ask=self)


@pytest.mark.parametrize(
    ("call", "content", "value"),
    [
        ("release()", {"branch": "main"}, {"branch": "main"}),
        ("wipe(n=9)", {"answer": "yes, for this program"}, {"n": 9}),
    ],
)
async def test_the_only_worker_serves_another_caller_while_a_person_thinks(
    call: str, content: dict[str, str], value: Any
) -> None:
    server, person = Server(), Person(**content)
    approval = ApprovalSettings((ApprovalRule("ask", tools=("wipe",)),))
    few = CodeSettings(programs=1)
    async with coded({"s": server}, approval=approval, code=few) as (_, gateway):
        crib = gateway.crib
        ran: list[Ran] = []

        async def ask() -> None:
            ran.append(await crib.run(ASKS.format(call), requester=person.of(ADA)))

        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask)
                await person.asked.wait()
                for n in range(3):
                    code = f"from s import read\nreturn await read(n={n})"
                    assert (await crib.run(code, requester=Requester(BO))).value == {"n": n}
                assert not ran
                person.knows.set()
        assert ran[0].value == [[{"n": 0}, {"n": 1}, {"n": 2}], value, {"n": 3}]
        assert ran[0].printed == "begun\nwent on\n"
        assert [row["outcome"] for row in ran[0].calls] == ["returned"] * 5
        assert len(server.called) == 5 + 3
        assert [it.why for it in gateway.recorder.of(ProgramEnded)] == ["finished"] * 4


async def test_a_program_whose_caller_goes_away_while_it_is_away_leaves_nothing_behind() -> None:
    server, few = Server(), CodeSettings(programs=1, suspended=1)
    async with coded({"s": server}, code=few) as (host, gateway):
        with anyio.fail_after(20):
            for _ in range(3):
                person = Person()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(run, gateway.crib, ASKS.format("release()"), person.of(ADA))
                    await person.asked.wait()
                    assert await host.value("return 1") == 1
                    tasks.cancel_scope.cancel()
            assert await host.value("return 2") == 2


async def run(crib: Crib, code: str, requester: Requester) -> None:
    await crib.run(code, requester=requester)


async def test_a_program_that_cannot_leave_the_only_worker_is_broken_off_with_its_calls() -> None:
    server, person = Server(), Person()
    few = CodeSettings(programs=1, question_seconds=0.1, suspended_bytes=100)
    async with coded({"s": server}, code=few) as (_, gateway):
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:

                async def ask() -> None:
                    with pytest.raises(ScriptFailed, match=r"code\.question_seconds") as failed:
                        await run(gateway.crib, ASKS.format("release()"), person.of(ADA))
                    assert "code.suspended_bytes allows 100" in failed.value.for_model()
                    outcomes = [call["outcome"] for call in failed.value.details["calls"]]
                    assert outcomes == ["returned"] * 3 + ["cancelled"]

                tasks.start_soon(ask)
                await person.asked.wait()
                ran = await gateway.crib.run("return 1", requester=Requester(BO))
                assert ran.value == 1


async def test_two_callers_who_hang_together_leave_a_worker_to_a_third() -> None:
    server = Server()
    async with coded({"s": server}) as (_, gateway):
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                for who in (ADA, ADA, BO):
                    server.hangs = anyio.Event()
                    tasks.start_soon(CodingHost(gateway, principal=who).run, HANGS)
                    await server.hangs.wait()
                for who in (ADA, BO):
                    tasks.start_soon(CodingHost(gateway, principal=who).run, HANGS)
                assert await CodingHost(gateway, principal=CY).value("return 1") == 1
                assert len(server.hung) == 3
                tasks.cancel_scope.cancel()
