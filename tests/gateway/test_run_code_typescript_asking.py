"""Programs in TypeScript that need a person: run again from what was written down of them."""

from typing import Any

import anyio
import mcp_types as types
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.facts import ProgramEnded
from toolcrib.ports import Era
from toolcrib.settings import ApprovalRule, ApprovalSettings, CodeSettings
from toolcrib.testing.coded_server import (
    answering,
    coded,
    structured,
    text_of,
    texts,
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
        ApprovalRule("ask", tools=("wipe",), source="toolcrib.toml:1"),
        ApprovalRule("ask", tools=("drop",), source="toolcrib.toml:2"),
    )
)
IMPORTS = (
    'import { call, tryCall } from "toolcrib";\nimport { drop, read, release, wipe } from "git";\n'
)
CODE = CodeSettings(languages=("typescript",))
APART = "the program was run again after a person had answered, and did not take the same steps"


class Person:
    """Whoever sits before a host of the SDK, and answers yes or `main`."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, _context: object, params: Any) -> Any:
        self.asked.append(params.message)
        branch = "branch" in params.requested_schema["properties"]
        return types.ElicitResult.model_validate(MAIN if branch else YES)


FIFTY = (
    f"{IMPORTS}console.log('begun');\nconst first = await read({{ n: 1 }});\n"
    "const ns = [...Array(50).keys()];\n"
    "const done = await Promise.all(ns.map((n) => wipe({ n })));\n"
    "return [first.n, done.length, done.at(-1)];"
)
FIFTY_DONE = '[1,50,{"n":49}]\n[toolcrib: printed]\nbegun'
FIFTY_SENT = [("read", 1), *(("wipe", n) for n in range(50))]


# ---- run again ----


async def test_fifty_calls_are_asked_about_once_and_each_is_sent_once() -> None:
    server = Git()
    async with coded({"git": server}, approval=APPROVAL, code=CODE) as (host, gateway):
        aside = await host.run(FIFTY)
        (asked,) = aside["inputRequests"].values()
        assert "holds for all that the same rule asks about" in asked["params"]["message"]
        assert server.sent == [("read", 1)]
        assert text_of(await host.run(FIFTY, **answering(aside, YES))) == FIFTY_DONE
        assert sorted(server.sent) == FIFTY_SENT
        ended = gateway.recorder.of(ProgramEnded)
        assert [(it.why, it.calls) for it in ended] == [("suspended", 51), ("finished", 51)]
        used = await host.run(FIFTY, **answering(aside, YES))
        assert "was used already" in used["message"]
        assert len(server.calls) == 51


async def test_who_says_no_is_believed_and_the_program_may_go_on() -> None:
    code = f"{IMPORTS}return [(await tryCall(wipe({{ n: 2 }}))).error, await read({{ n: 3 }})];"
    server = Git()
    async with coded({"git": server}, approval=APPROVAL, code=CODE) as (host, _):
        aside = await host.run(code)
        error, went_on = value_of(await host.run(code, **answering(aside, NO)))
        assert error.startswith("toolcrib.not_allowed: a person said no")
        assert went_on == {"n": 3}
        assert server.sent == [("read", 3)]


SEVERAL = (
    f"{IMPORTS}const lot = Math.floor(Math.random() * 1e9) + Date.now() % 1000;\n"
    "const id = crypto.randomUUID();\nconsole.log('before');\n"
    "const seen = [await call('git', 'read', { n: lot }), await read({ n: lot, id })];\n"
    "seen.push(await release());\nawait wipe({ n: 2 });\n"
    "console.log('between', id === seen[1].id);\n"
    "const failed = await tryCall(call('git', 'boom', {}));\nawait drop({ n: 3 });\n"
    "return [seen[0].n === seen[1].n, seen[2], failed.error];"
)


async def test_it_goes_on_in_another_process_with_the_same_clock_and_chance() -> None:
    """Four times, though what it called first is gone by then."""
    servers, store = [Git() for _ in range(4)], MemoryStore(LoopClock())

    async def boom(_: dict[str, Any]) -> dict[str, Any]:
        return texts("`boom`\nit was", failed=True)

    for server in servers:
        server.functions["boom"] = boom
        server.change([tool(name, n=INTEGER) for name in ("wipe", "drop", "read", "boom")])
        server.change([*server.items[next(iter(server.items))], tool("release")])
    servers[3].change([tool("drop", n=INTEGER)])
    members: dict[str, Any] = {}
    for server, answer in zip(servers, (MAIN, YES, YES, None), strict=True):
        async with coded({"git": server}, store=store, approval=APPROVAL, code=CODE) as (host, _):
            result = await host.run(SEVERAL, **members)
            if answer is not None:
                members = answering(result, answer)
            else:
                assert text_of(result) == (
                    '[true,"released main","`boom`\\nit was"]\n[toolcrib: printed]\n'
                    "before\nbetween true"
                )
    called = [server.called for server in servers]
    assert called == [["read", "read", "release"], ["release"], ["wipe", "boom"], ["drop"]]


@pytest.mark.parametrize("host", ["auto", "legacy"])
@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_every_host_is_asked_what_servers_and_rules_ask(era: Era, host: HostEra) -> None:
    """Live, while the program waits, where the host can be asked so; else it is run again."""
    code = (
        f"{IMPORTS}const a = await read({{ n: 1 }});\nconst b = await release();\n"
        "await Promise.all([wipe({ n: 2 }), wipe({ n: 3 })]);\nreturn [a, b];"
    )
    server, person = Git(era), Person()
    async with coded({"git": server}, approval=APPROVAL, code=CODE) as (_, gateway):
        with anyio.fail_after(10):
            async with gateway.host(host, elicitation_callback=person) as client:
                result = await client.call_tool("run_code", {"code": code})
    assert value_of(result.model_dump()) == [{"n": 1}, "released main"]
    assert len(person.asked) == 2
    assert sorted(set(server.sent)) == [("read", 1), ("release", None), ("wipe", 2), ("wipe", 3)]
    for name, times in (("read", 1), ("wipe", 2)):
        assert server.called.count(name) == times


async def test_questions_of_several_calls_go_out_together() -> None:
    code = f"{IMPORTS}return await Promise.all([release(), read({{ n: 1 }}), release()]);"
    both = anyio.Event()

    class Slow(Git):
        async def release(self, _: dict[str, Any]) -> dict[str, Any]:
            answer = await super().release(_)
            if self.called.count("release") == 2:
                both.set()
            with anyio.fail_after(5):
                await both.wait()
            return answer

    async with coded({"git": Slow()}, code=CODE) as (host, _):
        aside = await host.run(code)
        assert len(aside["inputRequests"]) == 2
        done = await host.run(code, **answering(aside, MAIN, MAIN))
        assert value_of(done) == ["released main", {"n": 1}, "released main"]


async def test_a_program_whose_timers_never_rest_is_put_aside_all_the_same() -> None:
    code = f"{IMPORTS}setInterval(() => {{}}, 20);\nreturn await wipe({{ n: 2 }});"
    server = Git()
    async with coded({"git": server}, approval=APPROVAL, code=CODE) as (host, _):
        with anyio.fail_after(10):
            aside = await host.run(code)
            assert value_of(await host.run(code, **answering(aside, YES))) == {"n": 2}
        assert server.sent == [("wipe", 2)]


# ---- the same steps in another order of time ----

HURRIED = {
    "a part that slept": "await new Promise((r) => setTimeout(r, 300)); await wipe({ n: 2 });",
    "a part that packed": (
        "for (let i = 0; i < 40; i++) await crypto.subtle.digest('SHA-256', new Uint8Array(9e4));\n"
        "await wipe({ n: 2 });"
    ),
}


@pytest.mark.parametrize("late", HURRIED.values(), ids=HURRIED)
async def test_a_program_whose_answers_come_faster_than_before_takes_the_same_steps(
    late: str,
) -> None:
    """While one part dawdles, the other one gets further than it had when it was put aside."""
    code = (
        f"{IMPORTS}const late = async () => {{ {late} return 'wiped'; }};\n"
        "const early = async () => {\n  await read({ n: 10 });\n"
        "  return await read({ n: 11 });\n};\n"
        "return await Promise.all([late(), early()]);"
    )
    asked = anyio.Event()
    server = Git()

    async def slow(arguments: dict[str, Any]) -> dict[str, Any]:
        if arguments["n"] == 10:  # comes back last of all, just before the program is put aside
            with anyio.fail_after(5):
                await asked.wait()
        return structured(arguments)

    server.functions["read"] = slow
    async with coded({"git": server}, approval=APPROVAL, code=CODE) as (host, gateway):
        aside: dict[str, Any] = {}

        async def first() -> None:
            aside.update(await host.run(code))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first)
            await anyio.sleep(0.8)
            asked.set()
        done = value_of(await host.run(code, **answering(aside, YES)))
        assert done == ["wiped", {"n": 11}]
        assert sorted(server.sent) == [("read", 10), ("read", 11), ("wipe", 2)]
        assert [it.why for it in gateway.recorder.of(ProgramEnded)] == ["suspended", "finished"]


# ---- other steps ----

TURNS = (
    "const turns = async () => {\n  let n = 0, over = false;\n"
    "  setTimeout(() => { over = true; }, 15);\n"
    "  while (!over) { n++; await crypto.subtle.digest('SHA-256', new Uint8Array(8)); }\n"
    "  return n;\n};\nconst lot = [];\nfor (let i = 0; i < 8; i++) lot.push(await turns());\n"
)
"""Counts its own turns: no frozen clock hides that a timer takes as long as it takes."""
OTHERWISE = {
    "calls otherwise": f"{TURNS}await call('git', 'read', {{ lot }});\nawait wipe({{ n: 2 }});",
    "calls otherwise at last": (
        f"await read({{ n: 1 }});\n{TURNS}await call('git', 'wipe', {{ lot }});"
    ),
}


@pytest.mark.parametrize("code", OTHERWISE.values(), ids=OTHERWISE)
async def test_a_program_that_gets_around_the_frozen_clock_is_stopped(code: str) -> None:
    code, server = f"{IMPORTS}{code}\nreturn await read({{ n: 9 }});", Git()
    async with coded({"git": server}, approval=APPROVAL, code=CODE) as (host, gateway):
        aside = await host.run(code)
        before = len(server.calls)
        result = await host.run(code, **answering(aside, YES))
        said = text_of(result)
        assert said.startswith(APART)
        assert "which it did not before" in said
        assert "1. `git` `read` (line " in said
        assert ") returned\n2. `git` `wipe` (line " in said
        assert result["structuredContent"]["error"]["details"]["why"] == "not_deterministic"
        assert len(server.calls) == before == 1
        assert gateway.recorder.of(ProgramEnded)[-1].why == "not_deterministic"
        again = await host.run(code, **answering(aside, YES))
        assert "was used already" in again["message"]
