"""A fault of toolcrib's own in the middle of a program costs one call, not the program's story."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from toolcrib.calls.call import Requester, ToolCall
from toolcrib.codemode.output import Telling
from toolcrib.codemode.program_run import Broken, Done
from toolcrib.facts import ProgramCalled
from toolcrib.settings import CodeSettings
from toolcrib.testing.program_rig import ProgramRig, text_result
from toolcrib.testing.scripted_sandbox import ToolError, World

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

PRIVATE = "the token s3cr3t of /home/x"


async def fine(_: ToolCall) -> dict[str, Any]:
    return text_result("fine")


def breaking(error: Exception) -> Callable[[ToolCall], Awaitable[dict[str, Any]]]:
    async def breaks(_: ToolCall) -> dict[str, Any]:
        raise error

    return breaks


FAULTS = [KeyError(PRIVATE), AssertionError(PRIVATE), ExceptionGroup(PRIVATE, [OSError(PRIVATE)])]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda it: type(it).__name__)
async def test_a_fault_in_a_call_is_an_error_of_that_call_and_the_program_goes_on(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def script(world: World) -> Any:
        said = [await world.call("s", "fine")]
        try:
            await world.call("s", "breaks")
        except ToolError as error:
            said.append(str(error))
        return [*said, await world.call("s", "fine")]

    rig = ProgramRig({"s.fine": fine, "s.breaks": breaking(fault)})
    with caplog.at_level(logging.ERROR):
        ending = await rig.run(script)
    assert isinstance(ending, Done)
    broke = "toolcrib.toolcrib_bug: toolcrib broke during this call; it may have acted"
    assert ending.value == ["fine", broke, "fine"]
    assert [it.outcome for it in ending.progress.rows] == ["returned", "stopped", "returned"]
    assert [it.outcome for it in rig.facts if isinstance(it, ProgramCalled)] == [
        "returned",
        "stopped",
        "returned",
    ]
    [record] = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[1] is fault


async def test_a_program_that_lets_the_fault_end_it_lists_all_its_calls() -> None:
    async def script(world: World) -> Any:
        await world.call("s", "fine")
        return await world.call("s", "breaks")

    rig = ProgramRig({"s.fine": fine, "s.breaks": breaking(KeyError(PRIVATE))})
    ending = await rig.run(script)
    assert isinstance(ending, Broken)

    async def keep(*_: object) -> None: ...

    told = Telling(CodeSettings(), keep).failure(ending).for_model()
    assert "1. `s` `fine` (line 1) returned" in told
    assert "2. `s` `breaks` (line 2) stopped: toolcrib_bug: toolcrib broke during" in told
    assert "s3cr3t" not in told


async def test_a_fault_before_a_call_goes_out_says_that_it_was_not_sent() -> None:
    async def script(world: World) -> Any:
        return await world.call("s", "fine")

    class Unreached(ProgramRig):
        async def reach(self, server: str, requester: Requester) -> None:
            raise LookupError(PRIVATE)

    rig = Unreached({"s.fine": fine})
    ending = await rig.run(script)
    assert isinstance(ending, Broken)
    assert ending.message.endswith("toolcrib broke during this call; it was not sent")
    assert rig.calls == []


async def test_a_fault_while_a_call_is_taken_ends_no_more_than_that_call() -> None:
    class Unlisted(ProgramRig):
        def named(self, module: str, function: str) -> Any:
            raise LookupError(PRIVATE)

    async def script(world: World) -> Any:
        try:
            await world.call("s", "fine")
        except ToolError as error:
            return str(error)

    ending = await Unlisted({"s.fine": fine}).run(script)
    assert isinstance(ending, Done)
    assert ending.value == "toolcrib.toolcrib_bug: toolcrib broke at this call; it was not sent"


# ---- what a tool says of its failure ----


@pytest.mark.parametrize(
    ("said", "most", "seen"),
    [
        ("no quota", 8, "no quota"),
        ("é" * 500, 1_000, "é" * 500),
        ("x" * 200_000, 1_000, "x" * 1_000),
        ("é" * 501, 1_001, "é" * 500),
        ("😀" * 300, 1_000, "😀" * 250),
    ],
    ids=["fits", "fits in bytes", "ascii", "half a character", "wide"],
)
async def test_what_a_tool_says_of_its_failure_is_held_to_the_bytes_of_an_answer(
    said: str, most: int, seen: str
) -> None:
    async def fails(_: ToolCall) -> dict[str, Any]:
        return text_result(said, failed=True)

    async def script(world: World) -> Any:
        try:
            await world.call("s", "fails")
        except ToolError as error:
            return str(error)

    rig = ProgramRig({"s.fails": fails}, CodeSettings(answer_bytes=most))
    ending = await rig.run(script)
    assert isinstance(ending, Done)
    size = len(said.encode())
    if size <= most:
        assert ending.value == said
    else:
        note = f"cut: the tool said {size:,} bytes, code.answer_bytes allows {most:,}"
        assert ending.value == f"{seen}\n[toolcrib: {note}]"


async def test_failures_of_structured_content_are_held_to_it_too() -> None:
    async def fails(_: ToolCall) -> dict[str, Any]:
        content: Mapping[str, Any] = {"why": "x" * 9_000}
        return {"content": [], "structuredContent": content, "isError": True}

    async def script(world: World) -> Any:
        return await world.call("s", "fails")

    ending = await ProgramRig({"s.fails": fails}, CodeSettings(answer_bytes=1_000)).run(script)
    assert isinstance(ending, Broken)
    assert len(ending.message) < 1_200
    assert 'RuntimeError: {"why": "xxx' in ending.message
    assert ending.message.endswith("9,011 bytes, code.answer_bytes allows 1,000]")
