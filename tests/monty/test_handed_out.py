"""Texts that may stand for calls, in what comes out of a program."""

import re

import pytest

from toolcrib.adapters.monty import handed_out
from toolcrib.adapters.monty.handed_out import HandedOut
from toolcrib.ports import Unawaited

TEXT = (
    "async def one():\n    pass\nasync  def  zwölf(): pass\nasyncio.gather(one())\ndef two(): ..."
)


def handed(value: object, *, text: str = TEXT, beside: str = "") -> object:
    return HandedOut(text, [beside], {7: Unawaited(7)}.get).value(value)


@pytest.mark.parametrize(
    ("told", "means"),
    [
        ("<coroutine object one>", Unawaited(function="one")),
        ("<coroutine object zwölf>", Unawaited(function="zwölf")),
        ("<coroutine object beside>", Unawaited(function="beside")),
        ("<coroutine external_future(7)>", Unawaited(7)),
        ("<gather(2)>", Unawaited(function="asyncio.gather")),
    ],
)
def test_a_call_that_the_program_can_have_made_is_one(told: str, means: Unawaited) -> None:
    assert handed([told], beside="async def beside(): pass") == [means]
    assert handed({"a": (told, 1)}, beside="async def beside(): pass") == {"a": [means, 1]}


@pytest.mark.parametrize(
    "told",
    [
        "<coroutine object two>",
        "<coroutine object on>",
        "<coroutine object one >",
        "<coroutine external_future(8)>",
        "<gather(x)>",
        "a <coroutine object one>",
    ],
)
def test_any_other_text_is_what_it_says(told: str) -> None:
    assert handed([told]) == [told]
    assert handed(["<gather(1)>"], text="pass") == ["<gather(1)>"]


def test_a_program_is_read_once_however_many_texts_may_mean_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []

    class Reading:
        """Counts how often a text is looked through."""

        def __init__(self, pattern: re.Pattern[str]) -> None:
            self.pattern = pattern

        def findall(self, text: str) -> list[str]:
            read.append(text)
            return self.pattern.findall(text)

        def search(self, text: str) -> re.Match[str] | None:
            read.append(text)
            return self.pattern.search(text)

    for name in ("_DEFINES", "_GATHERS"):
        monkeypatch.setattr(handed_out, name, Reading(getattr(handed_out, name)))
    handed([*(f"<coroutine object f{at}>" for at in range(500)), *["<gather(1)>"] * 500])
    assert len(read) == 3
