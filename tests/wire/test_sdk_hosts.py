"""A host made with the official SDK over HTTP: what it is asked, told, and comes back for."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
import pytest
from anyio.abc import TaskStatus
from mcp.client.client import Client
from starlette.applications import Starlette
from starlette.routing import Route

from toolcrib.core.partition import ANONYMOUS
from toolcrib.testing.fake_service import FakeService
from toolcrib.wire.http.entry import McpEndpoint
from toolcrib.wire.http.guard import HttpLimits
from toolcrib.wire.http.serving import serve_app
from toolcrib.wire.jsonwire import Result
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.service import HostRequest

FORM: dict[str, Any] = {
    "message": "Who?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
QUICK = HttpLimits(resumable_after=0.01, stream_seconds=0.05, retry_seconds=0.05)


def calls(script: Callable[[HostRequest], Awaitable[Result]]) -> FakeService:
    """A service whose calls go as the script says; hosts list the tools before they call one."""
    service = FakeService()

    async def answer(request: HostRequest) -> Result:
        return await script(request) if request.method == "tools/call" else {"tools": []}

    service.script = answer
    return service


def text(told: object) -> Result:
    return {"content": [{"type": "text", "text": str(told)}]}


@asynccontextmanager
async def serving(service: FakeService, limits: HttpLimits = QUICK) -> AsyncGenerator[str]:
    endpoint = McpEndpoint(Kernel(service), limits, lambda _scope: ANONYMOUS)
    app = Starlette(routes=[Route("/mcp", endpoint)])

    async def run(*, task_status: TaskStatus[int]) -> None:
        end = service.audience(ANONYMOUS).close
        await serve_app(lambda: app, "127.0.0.1", 0, on_end=end, task_status=task_status)

    async with anyio.create_task_group() as tasks:
        port = await tasks.start(run)
        yield f"http://127.0.0.1:{port}/mcp"
        tasks.cancel_scope.cancel()


def said(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


async def test_it_is_asked_in_mid_call_and_its_answer_arrives() -> None:
    asked: list[str] = []

    async def ask(request: HostRequest) -> Result:
        assert request.ask is not None
        return text((await request.ask("elicitation/create", FORM))["content"]["name"])

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        del context
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    service = calls(ask)
    with anyio.fail_after(10):
        async with (
            serving(service, HttpLimits()) as url,
            Client(url, mode="legacy", cache=None, elicitation_callback=answer) as client,
        ):
            assert said(await client.call_tool("t")) == "Ada"
    assert asked == ["Who?"]


@pytest.mark.parametrize("steps", [0, 3])
async def test_a_call_that_outlives_its_stream_is_answered_all_the_same(steps: int) -> None:
    begun, polls = anyio.Event(), anyio.Event()
    heard: list[float] = []

    async def slow(request: HostRequest) -> Result:
        begun.set()
        for step in range(steps):
            assert request.progress is not None
            await request.progress(float(step + 1), None, None)
            await anyio.sleep(0.08)  # longer than a stream lasts: the host has to come back
        await polls.wait()
        return text("late")

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        del total, message
        heard.append(progress)

    service = calls(slow)
    with anyio.fail_after(10):
        async with (
            serving(service) as url,
            Client(url, mode="legacy", cache=None) as client,
            anyio.create_task_group() as tasks,
        ):

            async def finish() -> None:
                await begun.wait()
                await anyio.sleep(0.3)
                polls.set()

            tasks.start_soon(finish)
            assert said(await client.call_tool("t", progress_callback=on_progress)) == "late"
    assert heard == [float(step + 1) for step in range(steps)]
    assert [request.method for request in service.asked].count("tools/call") == 1


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_it_is_told_what_it_follows_and_logs_of_its_own_calls() -> None:
    logged: list[object] = []
    updated = anyio.Event()

    async def work(request: HostRequest) -> Result:
        assert request.heard is not None
        for level in ("debug", "error"):
            await request.heard("notifications/message", {"level": level, "data": level})
        service.audience(ANONYMOUS).tell_updated("a:1", "a:1")
        return text("done")

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        logged.append(params.data)

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            assert message.params.uri == "a:1"
            updated.set()

    service = calls(work)
    service.declared = {"logging": {}, "resources": {"subscribe": True}, "tools": {}}
    with anyio.fail_after(10):
        async with (
            serving(service, HttpLimits()) as url,
            Client(
                url,
                mode="legacy",
                cache=None,
                logging_callback=on_log,
                message_handler=on_message,
            ) as client,
        ):
            older: Any = client  # what 2026-07-28 has no more is deprecated in its types
            await older.set_logging_level("warning")
            await older.subscribe_resource("a:1")
            await client.call_tool("t")
            await updated.wait()
    assert logged == ["error"]
