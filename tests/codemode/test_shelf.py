"""Programs that wait for a person: kept for their caller, once, in any process, and no longer."""

from dataclasses import replace
from typing import Any

import anyio
import pytest

from toolcrib.adapters.sealing import AesSealer
from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.calls.call import Requester, Retry
from toolcrib.codemode.callees import Callee
from toolcrib.codemode.journal import Row
from toolcrib.codemode.progress import Progress
from toolcrib.codemode.put_aside import PutAside
from toolcrib.codemode.shelf import Shelf
from toolcrib.config.keys import InstallationKey
from toolcrib.core.partition import Principal
from toolcrib.errors import LimitExceeded, RetryRefused
from toolcrib.ports import Place, Raised, Returned
from toolcrib.settings import CodeSettings
from toolcrib.testing.program_rig import asking_result
from toolcrib.testing.virtual_clock import LoopClock

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

ME = Requester(Principal("https://issuer.test", "alice"), handle="h" * 16)

CALLEES = {"a.t": Callee("a", "t", "c", {"from_": "from"}), "a.u": Callee("a", "u")}


class Shop:
    """Processes that share one store and one key."""

    def __init__(self) -> None:
        self.clock = LoopClock()
        self.entries = MemoryEntries(self.clock)

    def shelf(self, run: str = "run-1", key: bytes = b"k", **settings: Any) -> Shelf:
        keys = InstallationKey(key * 32)
        return Shelf(
            self.entries,
            sealer=AesSealer(keys, self.clock),
            keys=keys,
            settings=CodeSettings(**settings),
            seconds=900.0,
            run=run,
        )


def waiting(*numbers: int, snapshot: bytes | None = b"\x00snapshot\xff", **more: Any) -> PutAside:
    rows = (
        Row(1, "a", "t", {"x": "\ud800"}, "c", 7, Place(3, 2), "returned", "", Returned([1]), 1),
        Row(2, "a", "u", {}, "", 8, Place(4), "raised", "why", Raised("why"), 2),
        *(Row(number, "b", "v", {"n": number}, outcome="asking") for number in numbers),
    )
    progress = Progress(
        rows=rows,
        printed="said\n",
        printed_bytes=5,
        seconds=1.5,
        received=frozenset({"a"}),
        said={"kind": True},
        snapshot=snapshot,
        asked={number: asking_result(state=f"s{number}") for number in numbers},
    )
    return PutAside("r", "python", "monty 1", CALLEES, None, "", replace(progress, **more))


def rows_of(program: PutAside) -> list[Any]:
    return [(row.number, row.arguments, row.outcome, row.answer) for row in program.progress.rows]


async def test_another_process_goes_on_with_all_that_the_program_was() -> None:
    shop = Shop()
    result = await shop.shelf().put(ME, "m", waiting(3))
    assert result["resultType"] == "input_required"
    assert list(result["inputRequests"]) == ["3/q"]
    said = {"3/q": {"action": "accept"}, "4/q": {}, "x": {}}
    taken = await shop.shelf("run-2").take(ME, "m", Retry(result["requestState"], said))
    found, retries = taken.program, taken.retries
    assert retries == {3: Retry("s3", {"q": {"action": "accept"}})}
    assert (found.run, found.version, found.callees) == ("r", "monty 1", CALLEES)
    assert found.progress.snapshot == b"\x00snapshot\xff"
    assert (found.progress.printed, found.progress.seconds) == ("said\n", 1.5)
    assert (found.progress.received, found.progress.said) == (frozenset({"a"}), {"kind": True})


async def test_what_a_snapshot_holds_is_not_kept_twice_and_the_rest_is_kept_whole() -> None:
    shop = Shop()
    result = await shop.shelf().put(ME, "m", waiting(3))
    found = (await shop.shelf().take(ME, "m", Retry(result["requestState"]))).program
    assert rows_of(found) == [
        (1, {}, "returned", None),
        (2, {}, "raised", None),
        (3, {"n": 3}, "asking", None),
    ]
    result = await shop.shelf("run-2").put(ME, "m", waiting(3, snapshot=None))
    found = (await shop.shelf().take(ME, "m", Retry(result["requestState"]))).program
    assert rows_of(found) == [
        (1, {"x": "\ud800"}, "returned", Returned([1])),
        (2, {}, "raised", Raised("why")),
        (3, {"n": 3}, "asking", None),
    ]


async def test_of_all_who_bring_the_same_state_one_goes_on() -> None:
    shop = Shop()
    result = await shop.shelf().put(ME, "m", waiting(3))
    went_on: list[str] = []
    told: list[str] = []

    async def go_on(run: str) -> None:
        try:
            await shop.shelf(run).take(ME, "m", Retry(result["requestState"]))
        except RetryRefused as refused:
            told.append(refused.message)
        else:
            went_on.append(run)

    async with anyio.create_task_group() as tasks:
        for n in range(8):
            tasks.start_soon(go_on, f"run-{n}")
    assert len(went_on) == 1
    assert ["used already" in text for text in told] == [True] * 7


OTHERS = {
    "another handle": replace(ME, handle="i" * 16),
    "another subject": replace(ME, principal=Principal("https://issuer.test", "bob")),
    "another tenant": replace(ME, principal=replace(ME.principal, tenant="t")),
    "nobody in particular": Requester(),
}


@pytest.mark.parametrize("who", OTHERS.values(), ids=OTHERS)
async def test_a_state_is_good_for_nobody_else_and_is_not_used_up_by_them(who: Requester) -> None:
    shop = Shop()
    result = await shop.shelf().put(ME, "m", waiting(3))
    with pytest.raises(RetryRefused, match="not good for this program"):
        await shop.shelf().take(who, "m", Retry(result["requestState"]))
    await shop.shelf().take(ME, "m", Retry(result["requestState"]))


@pytest.mark.parametrize("broken", [None, "", "x", "A" * 64])
async def test_a_broken_state_is_refused_with_the_remedy(broken: str | None) -> None:
    shop = Shop()
    result = await shop.shelf().put(ME, "m", waiting(3))
    states = [broken, result["requestState"][:-2], result["requestState"] + "AA"]
    for state in states:
        with pytest.raises(RetryRefused) as refused:
            await shop.shelf().take(ME, "m", Retry(state))
        assert refused.value.remedy == (
            "run the program anew, without requestState and inputResponses"
        )


async def test_a_state_is_good_for_its_program_alone_and_with_its_own_key_alone() -> None:
    shop = Shop()
    result = await shop.shelf().put(ME, "m", waiting(3))
    with pytest.raises(RetryRefused):
        await shop.shelf().take(ME, "another program", Retry(result["requestState"]))
    with pytest.raises(RetryRefused):
        await shop.shelf(key=b"q").take(ME, "m", Retry(result["requestState"]))


async def test_nobody_waits_for_ever() -> None:
    shop = Shop()
    result = await shop.shelf().put(ME, "m", waiting(3))
    await anyio.sleep(901)
    with pytest.raises(RetryRefused, match="900 s"):
        await shop.shelf().take(ME, "m", Retry(result["requestState"]))


async def test_of_too_many_programs_that_wait_the_oldest_makes_room() -> None:
    shop = Shop()
    shelf = shop.shelf(suspended=3)
    states = [(await shelf.put(ME, "m", waiting(3)))["requestState"] for _ in range(4)]
    with pytest.raises(RetryRefused, match="had to make room"):
        await shelf.take(ME, "m", Retry(states[0]))
    await shelf.take(ME, "m", Retry(states[3]))


async def test_a_program_that_is_too_large_to_wait_says_which_limit_it_met() -> None:
    with pytest.raises(LimitExceeded, match=r"code\.suspended_bytes allows 100"):
        await Shop().shelf(suspended_bytes=100).put(ME, "m", waiting(3))


async def test_no_more_is_asked_at_once_than_a_host_may_be_asked() -> None:
    shop, numbers = Shop(), range(3, 53)
    result = await shop.shelf().put(ME, "m", waiting(*numbers))
    assert len(result["inputRequests"]) == 32
    taken = await shop.shelf().take(ME, "m", Retry(result["requestState"]))
    found, retries = taken.program, taken.retries
    assert list(retries) == list(range(3, 35))
    outcomes = [row.outcome for row in found.progress.rows[2:]]
    assert outcomes == ["asking"] * 32 + ["held"] * 18


async def test_nothing_of_a_program_is_kept_in_clear() -> None:
    shop = Shop()
    await shop.shelf().put(ME, "m", waiting(3, printed="the secret of the crown"))
    rows = repr(shop.entries.__dict__)
    assert "secret of the crown" not in rows
    assert "alice" not in rows


async def test_a_program_that_was_put_back_is_good_once_more() -> None:
    shop = Shop()
    result = await shop.shelf().put(ME, "m", waiting(3))
    retry = Retry(result["requestState"])
    taken = await shop.shelf().take(ME, "m", retry)
    await shop.shelf("run-2").put_back(ME, taken)
    again = await shop.shelf("run-3").take(ME, "m", retry)
    assert rows_of(again.program) == rows_of(taken.program)
    with pytest.raises(RetryRefused, match="used already"):
        await shop.shelf().take(ME, "m", retry)


async def test_large_programs_are_packed_in_a_thread_and_come_back_whole() -> None:
    shop = Shop()
    snapshot = bytes(range(256)) * 2_000
    result = await shop.shelf().put(ME, "m", waiting(3, snapshot=snapshot))
    taken = await shop.shelf().take(ME, "m", Retry(result["requestState"]))
    assert taken.program.progress.snapshot == snapshot
