"""Asking a host: only what it declared, bounded in time and number, errors told as they are."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.errors import CapabilityMissing, UpstreamRefused
from toolcrib.wire.asking import AT_ONCE, Asking

FORM: dict[str, Any] = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}


class Host:
    """Remembers questions, and answers them once it is let."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.answers = anyio.Event()

    async def put(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append((method, params))
        await self.answers.wait()
        return {"action": "accept"}


async def test_the_question_and_the_answer_pass_unchanged() -> None:
    host = Host()
    host.answers.set()
    asking = Asking({"elicitation": {}}, host.put, 1.0)
    assert await asking("elicitation/create", FORM) == {"action": "accept"}
    assert host.asked == [("elicitation/create", FORM)]


@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage", "roots/list"])
async def test_nothing_is_sent_to_a_host_that_did_not_declare_it(method: str) -> None:
    host = Host()
    with pytest.raises(CapabilityMissing) as raised:
        await Asking({"x": {}}, host.put, 1.0)(method, FORM)
    assert host.asked == []
    assert raised.value.details["requiredCapabilities"]
    assert method in raised.value.message


async def test_a_mode_that_was_not_declared_is_named() -> None:
    with pytest.raises(CapabilityMissing, match=r"elicitation\.url"):
        await Asking({"elicitation": {}}, Host().put, 1.0)("elicitation/create", {"mode": "url"})


@pytest.mark.parametrize("method", ["ping", "tools/list", "tasks/get", ""])
async def test_anything_else_is_asked_of_no_host(method: str) -> None:
    host = Host()
    with pytest.raises(UpstreamRefused) as raised:
        await Asking({"elicitation": {}}, host.put, 1.0)(method, {})
    assert raised.value.rpc_code == -32601
    assert host.asked == []


@pytest.mark.virtual_time
async def test_a_host_that_never_answers_is_waited_for_so_long_and_no_longer() -> None:
    asking = Asking({"roots": {}}, Host().put, 900.0)
    with anyio.fail_after(901), pytest.raises(UpstreamRefused, match="900 s") as raised:
        await asking("roots/list", {})
    assert raised.value.rpc_code == -32603


@pytest.mark.virtual_time
async def test_open_questions_are_bounded_and_answered_ones_make_room() -> None:
    host = Host()
    asking = Asking({"roots": {}}, host.put, 900.0)

    async def ask() -> None:
        await asking("roots/list", {})

    async with anyio.create_task_group() as tasks:
        for _ in range(AT_ONCE):
            tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(UpstreamRefused, match=str(AT_ONCE)):
            await asking("roots/list", {})
        host.answers.set()
    await asking("roots/list", {})
    assert len(host.asked) == AT_ONCE + 1
