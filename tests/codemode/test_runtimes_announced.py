"""The start of a runtime is told once: what it is, and in which jail it runs or why in none."""

from collections.abc import Mapping

import anyio
import pytest

from toolcrib.adapters.jail.bubblewrap import NoJail
from toolcrib.adapters.monty.sandbox import MontySandbox
from toolcrib.codemode.announcing import Announcing
from toolcrib.errors import SandboxUnavailable
from toolcrib.facts import ProgramStarted, RuntimeStarted
from toolcrib.ports import Abilities, Program, Sandbox
from toolcrib.settings import CodeSettings, Language
from toolcrib.testing.coded_server import coded
from toolcrib.testing.program_host import run_in
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted_crib import scripted_crib
from toolcrib.testing.scripted_sandbox import ScriptedSandbox, World


class Runtimes:
    """Implements `Sandboxes` with these."""

    def __init__(self, runtimes: Mapping[Language, Sandbox]) -> None:
        self._runtimes = runtimes

    def sandbox(self, language: Language) -> Sandbox:
        return self._runtimes[language]

    async def aclose(self) -> None:
        for runtime in self._runtimes.values():
            await runtime.aclose()


class Jailed(ScriptedSandbox):
    """Cannot run at first, and is in a jail."""

    def __init__(self, failures: int = 0) -> None:
        super().__init__({}, language="typescript")
        self._failures = failures

    async def abilities(self) -> Abilities:
        await anyio.lowlevel.checkpoint()
        self._failures -= 1
        if self._failures >= 0:
            raise SandboxUnavailable("not yet")
        return Abilities(
            "typescript", "deno 2", snapshots=False, type_check=False, jail="bubblewrap 0.11.0"
        )


async def one(world: World) -> object:
    await anyio.lowlevel.checkpoint()
    del world
    return 1


async def test_each_runtime_is_told_once_however_many_programs_come_at_a_time() -> None:
    recorder = Recorder()
    runtimes = Runtimes({"python": ScriptedSandbox({"one": one}), "typescript": Jailed()})
    announcing = Announcing(runtimes, recorder)
    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(announcing.sandbox("typescript").abilities)
            tasks.start_soon(announcing.sandbox("python").abilities)
    told = sorted(recorder.of(RuntimeStarted), key=lambda it: it.language)
    assert told == [
        RuntimeStarted("python", "scripted 1", "", "scripted"),
        RuntimeStarted("typescript", "deno 2", "bubblewrap 0.11.0"),
    ]
    assert (await run_in(announcing.sandbox("python"), Program("one", {}))).value == 1
    assert len(recorder.of(RuntimeStarted)) == 2


async def test_a_runtime_that_does_not_start_is_told_when_it_does() -> None:
    recorder = Recorder()
    announcing = Announcing(Runtimes({"typescript": Jailed(failures=1)}), recorder)
    with pytest.raises(SandboxUnavailable):
        await announcing.sandbox("typescript").abilities()
    assert recorder.of(RuntimeStarted) == []
    await announcing.sandbox("typescript").abilities()
    assert len(recorder.of(RuntimeStarted)) == 1


async def test_python_without_a_jail_is_told_before_its_first_program_and_not_again() -> None:
    monty = MontySandbox(CodeSettings(), find=lambda: NoJail("there is no bubblewrap"))
    async with scripted_crib({}, sandboxes=Runtimes({"python": monty})) as (crib, world):
        for _ in range(2):
            assert (await crib.run("return 1")).value == 1
        kinds = [type(it) for it in world.recorder.facts]
        told = [it for it in kinds if it in {RuntimeStarted, ProgramStarted}]
        assert told == [RuntimeStarted, ProgramStarted, ProgramStarted]
        [started] = world.recorder.of(RuntimeStarted)
        assert (started.language, started.jail) == ("python", "")
        assert started.version.startswith("monty 1.4.")
        assert started.reason == "there is no bubblewrap"


async def test_hosts_and_principals_of_one_gateway_share_the_runtime_and_its_announcement() -> None:
    async with coded({}) as (host, gateway):
        assert await host.value("return 1") == 1
        assert await host.value("return 2") == 2
        [started] = gateway.recorder.of(RuntimeStarted)
        assert started.jail.startswith("bubblewrap ")
