"""Rules: which of them act on what, in which order, and what cannot be a rule."""

from typing import get_args

import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.testing.server.actions import (
    Action,
    Ask,
    Cut,
    Delay,
    Exit,
    Fail,
    Forget,
    Hang,
    Honour,
    Leave,
    Mute,
    Noise,
    Pad,
    Refuse,
    Signal,
)
from toolcrib.testing.server.rulebook import Rulebook, Wire


def take(book: Rulebook, *names: str, request: bool = True) -> list[Action]:
    return list(book.take(*names, request=request))


def test_a_rule_acts_on_its_name_and_no_other() -> None:
    book = Rulebook("stdio")
    book.add("tools/list", [Hang()])
    assert take(book, "tools/list") == [Hang()]
    assert take(book, "tools/call") == []


def test_a_pattern_acts_on_every_name_that_fits() -> None:
    book = Rulebook("stdio")
    book.add("*/list", [Hang()])
    assert take(book, "tools/list") == [Hang()]
    assert take(book, "prompts/list") == [Hang()]
    assert take(book, "tools/call") == []


def test_the_star_acts_on_requests_only() -> None:
    book = Rulebook("http")
    book.add("*", [Hang()])
    assert take(book, "server/discover") == [Hang()]
    assert take(book, "notifications/initialized", request=False) == []
    assert take(book, "connect", request=False) == []


def test_a_finer_name_acts_on_one_page_or_tool() -> None:
    book = Rulebook("stdio")
    book.add("tools/list:2", [Hang()])
    book.add("tools/call:grow", [Cut()])
    assert take(book, "tools/list", "tools/list:1") == []
    assert take(book, "tools/list", "tools/list:2") == [Hang()]
    assert take(book, "tools/call", "tools/call:add") == []
    assert take(book, "tools/call", "tools/call:grow") == [Cut()]


@pytest.mark.parametrize("skip", [0, 1, 3])
@pytest.mark.parametrize("times", [1, 2])
def test_a_rule_skips_first_and_acts_so_many_times(skip: int, times: int) -> None:
    book = Rulebook("stdio")
    book.add("*", [Exit()], skip=skip, times=times)
    acted = [bool(take(book, "tools/list")) for _ in range(skip + times + 2)]
    assert acted == [False] * skip + [True] * times + [False, False]


def test_passing_actions_add_up_until_an_ending() -> None:
    book = Rulebook("stdio")
    book.add("tools/list", [Delay(1), Signal()])
    book.add("*", [Pad(5), Fail(-1), Delay(9)])
    book.add("tools/list", [Hang()])
    assert take(book, "tools/list") == [Delay(1), Signal(), Pad(5), Fail(-1)]


def test_a_rule_behind_an_ending_does_not_count() -> None:
    book = Rulebook("stdio")
    book.add("tools/list", [Hang()], times=1)
    book.add("tools/list", [Cut()], times=1)
    assert take(book, "tools/list") == [Hang()]
    assert take(book, "tools/list") == [Cut()]
    assert take(book, "tools/list") == []


def test_clearing_forgets_every_rule() -> None:
    book = Rulebook("stdio")
    book.add("*", [Hang()])
    book.clear()
    assert take(book, "tools/list") == []


@pytest.mark.parametrize(
    ("event", "near"), [("tool/list", "tools/list"), ("discover", "server/discover")]
)
def test_a_name_that_never_arrives_is_refused_with_the_one_that_was_meant(
    event: str, near: str
) -> None:
    with pytest.raises(ValueError, match=near):
        Rulebook("stdio").add(event, [Hang()])


@pytest.mark.parametrize(
    ("wire", "event", "action"),
    [
        ("stdio", "tools/list", Refuse(503)),
        ("stdio", "tools/list", Forget()),
        ("sse", "tools/list", Forget()),
        ("http", "tools/list", Noise()),
        ("sse", "tools/list", Noise()),
        ("http", "tools/list", Mute()),
        ("http", "GET", Honour((Kind.TOOLS,))),
        ("http", "GET", Fail(-1)),
        ("http", "DELETE", Mute()),
        ("stdio", "connect", Cut()),
        ("stdio", "notifications/initialized", Ask("ping")),
        ("stdio", "connect", Leave()),
        ("http", "tools/list", Signal(late=True, unasked=True)),
    ],
)
def test_what_cannot_be_done_is_refused_when_the_rule_is_made(
    wire: Wire, event: str, action: Action
) -> None:
    book = Rulebook(wire)
    with pytest.raises(ValueError, match=type(action).__name__):
        book.add(event, [action])
    assert take(book, event) == []


@pytest.mark.parametrize("wire", get_args(Wire))
def test_every_action_but_those_of_a_wire_can_be_done_with_a_request(wire: Wire) -> None:
    book = Rulebook(wire)
    unable = {
        "stdio": {"Refuse", "Forget", "Mute", "Honour"},
        "http": {"Noise", "Mute", "Honour"},
        "sse": {"Noise", "Forget", "Mute", "Honour"},
    }
    made: dict[str, list[object]] = {
        "Delay": [0],
        "Change": [None],
        "Pad": [1],
        "Progress": [1],
        "Ask": ["ping"],
        "Say": ["notifications/message"],
        "Answer": [{}],
        "Fail": [-1],
        "Refuse": [503],
    }
    for action in get_args(Action):
        if action.__name__ not in unable[wire]:
            book.add("tools/call", [action(*made.get(action.__name__, []))])
