"""A person answered, and the program can neither go on nor wait: that is told, with its calls."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from toolcrib.adapters.monty.sandbox import MontySandbox
from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.errors import StoreUnreachable, TooBusy
from toolcrib.ports import Abilities, Program, Running
from toolcrib.settings import ApprovalRule, ApprovalSettings, CodeSettings, Language
from toolcrib.testing.coded_server import CodedServer, answering, coded, text_of, value_of
from toolcrib.testing.scripted import tool
from toolcrib.testing.virtual_clock import LoopClock

PATH = "/srv/secret/place/store.db"
YES = {"action": "accept", "content": {"answer": "yes, for this program"}}
RULES = ApprovalSettings((ApprovalRule("ask", tools=("wipe",)), ApprovalRule("ask", tools=("go",))))
CODE = "from s import read, wipe, go\nawait read()\nawait wipe()\nawait go()\nreturn 1"


class Failing(MemoryEntries):
    """Entries that cannot be written in one space, when a test says so."""

    def __init__(self) -> None:
        super().__init__(LoopClock())
        self.fails = False

    async def put(self, space: str, *args: Any, **kwargs: Any) -> None:
        if self.fails and space == "programs":
            raise StoreUnreachable(
                "the store is locked by another process", remedy="end it", operator_note=PATH
            )
        await super().put(space, *args, **kwargs)


class Full:
    """The real runtime, whose workers are all taken when a test says so."""

    def __init__(self) -> None:
        self._sandbox = MontySandbox(CodeSettings())
        self.full = False

    def sandbox(self, language: Language) -> "Full":
        assert language == "python"
        return self

    async def abilities(self) -> Abilities:
        return await self._sandbox.abilities()

    def open(
        self, program: Program, *, snapshot: bytes | None = None
    ) -> AbstractAsyncContextManager[Running]:
        if self.full:
            raise TooBusy("no worker became free")
        return self._sandbox.open(program, snapshot=snapshot)

    async def aclose(self) -> None:
        await self._sandbox.aclose()


class House:
    """Everything that can fail, and what a gateway over it takes."""

    def __init__(self) -> None:
        self.entries = Failing()
        self.store = MemoryStore(LoopClock())
        self.store.entries = self.entries
        self.workers = Full()
        self.server = CodedServer({}, tool("read"), tool("wipe"), tool("go"))
        self.options: dict[str, Any] = {
            "approval": RULES,
            "store": self.store,
            "sandboxes": self.workers,
        }


async def test_what_was_answered_is_not_lost_silently_where_the_store_fails_behind_it() -> None:
    house = House()
    async with coded({"s": house.server}, **house.options) as (host, _):
        aside = await host.run(CODE)
        house.workers.full = house.entries.fails = True
        result = await host.run(CODE, **answering(aside, YES))
        house.workers.full = house.entries.fails = False
        again = await host.run(CODE, **answering(aside, YES))
    assert result["isError"]
    assert text_of(result) == (
        "the program cannot go on now (no worker became free), and it cannot wait on: the store "
        "is locked by another process; what was answered is lost: run it anew, without "
        "requestState and inputResponses\n"
        "It had made 2 calls; they are not undone:\n"
        "1. `s` `read` (line 2) returned\n"
        "2. `s` `wipe` (line 3) stopped: what was answered to its question is lost"
    )
    assert "was used already" in again["message"]
    assert house.server.called == ["read"]


async def test_what_was_answered_is_good_once_more_where_only_the_workers_are_taken() -> None:
    house = House()
    async with coded({"s": house.server}, **house.options) as (host, _):
        aside = await host.run(CODE)
        house.workers.full = True
        assert "no worker became free" in text_of(await host.run(CODE, **answering(aside, YES)))
        house.workers.full = False
        aside = await host.run(CODE, **answering(aside, YES))
        assert value_of(await host.run(CODE, **answering(aside, YES))) == 1
    assert house.server.called == ["read", "wipe", "go"]


async def test_the_next_question_cannot_be_kept_and_what_was_called_is_told() -> None:
    house = House()
    async with coded({"s": house.server}, **house.options) as (host, _):
        aside = await host.run(CODE)
        house.entries.fails = True
        result = await host.run(CODE, **answering(aside, YES))
    assert result["isError"]
    assert text_of(result) == (
        "a person has to be asked, and the store is locked by another process\n"
        "It had made 3 calls; they are not undone:\n"
        "1. `s` `read` (line 2) returned\n"
        "2. `s` `wipe` (line 3) returned\n"
        "3. `s` `go` (line 4) stopped: its question was not answered"
    )
    assert PATH not in repr(result)
    assert house.server.called == ["read", "wipe"]


@pytest.mark.parametrize("full", [False, True])
async def test_the_first_question_cannot_be_kept(*, full: bool) -> None:
    """Whether the store fails, or there is no room for more."""
    house = House()
    house.entries.fails = not full
    code = CodeSettings(all_suspended_bytes=20_000) if full else CodeSettings()
    async with coded({"s": house.server}, code=code, **house.options) as (host, _):
        said = await host.failure(CODE)
    why = "code.all_suspended_bytes, 20,000" if full else "the store is locked"
    assert said.startswith("a person has to be asked, and the ")
    assert why in said
    assert "1. `s` `read` (line 2) returned\n2. `s` `wipe` (line 3) stopped" in said
