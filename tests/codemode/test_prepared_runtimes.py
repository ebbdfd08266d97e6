"""What runs programs is started before the first one comes, where one may come."""

from typing import Literal

import pytest

from toolcrib.errors import SandboxUnavailable
from toolcrib.facts import RuntimeStarted
from toolcrib.ports import Sandbox
from toolcrib.settings import (
    CodeSettings,
    Exposure,
    ExposureSettings,
    GatewaySettings,
    Language,
)
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_crib import scripted_crib
from toolcrib.testing.scripted_sandbox import ScriptedSandbox


class Runtimes:
    """One scripted runtime for each language but those that cannot run here."""

    def __init__(self, *missing: Language) -> None:
        self._missing = missing

    def sandbox(self, language: Language) -> Sandbox:
        if language in self._missing:
            raise SandboxUnavailable(f"programs in {language} cannot run here")
        return ScriptedSandbox({}, language=language)

    async def aclose(self) -> None:
        pass


async def started(
    *missing: Language, exposure: Exposure, above: Literal["search", "code"] = "search"
) -> list[str]:
    """The languages whose runtimes are up after `Crib.prepare`."""
    script = ScriptedUpstream()
    async with scripted_crib(
        {"s": script},
        gateway=GatewaySettings(exposure=exposure),
        exposure=ExposureSettings(above=above),
        code=CodeSettings(languages=("typescript", "python")),
        sandboxes=Runtimes(*missing),
    ) as (crib, world):
        await crib.prepare()
        assert script.connects == 0, "whose servers are needed shows only with callers"
        return [it.language for it in world.recorder.of(RuntimeStarted)]


async def test_runtimes_are_up_where_hosts_are_shown_what_runs_programs() -> None:
    assert await started(exposure="code") == ["typescript", "python"]
    assert await started(exposure="auto", above="code") == ["typescript", "python"]


@pytest.mark.parametrize("exposure", ["full", "search", "auto"])
async def test_nothing_is_started_where_they_are_not(exposure: Exposure) -> None:
    assert await started(exposure=exposure) == []


async def test_a_runtime_that_cannot_run_here_keeps_no_other_from_being_started() -> None:
    assert await started("typescript", exposure="code") == ["python"]
