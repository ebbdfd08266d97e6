"""Whether a program that is told everything again waits for what cannot come any more."""

from typing import Any

from toolcrib.codemode.callees import Callee
from toolcrib.codemode.journal import Row
from toolcrib.codemode.replay import Replay
from toolcrib.ports import Answer, Returned

ASK, ECHO = Callee("b", "ask"), Callee("a", "echo")


def answered(number: int, settled: int) -> Row:
    return Row(
        number, "a", "echo", {"n": number}, outcome="returned", answer=Returned(number),
        settled=settled,
    )  # fmt: skip


def asking(number: int) -> Row:
    return Row(number, "b", "ask", {"n": number}, outcome="asking")


class Again:
    """A program that comes to its rows again; calls are numbered as its rows were."""

    def __init__(self, *rows: Row) -> None:
        self.replay = Replay(rows)
        self.told: list[int] = []

    def calls(self, callee: Callee, number: int) -> None:
        row = self.replay.row(callee, {"n": number})
        assert row is not None
        row.call = number
        if row.answer is None:
            self.replay.hold(number, lambda: None)
        else:
            self.replay.tell(row, row.answer, self._answer)

    def _answer(self, id_: int, _: Answer) -> None:
        self.told.append(id_)

    def in_vain(self, *ids: int) -> bool:
        return self.replay.in_vain(ids)


def test_who_waits_for_calls_that_are_held_alone_waits_in_vain() -> None:
    again = Again(answered(1, 1), asking(2), asking(3))
    again.calls(ASK, 2)
    again.calls(ASK, 3)
    assert again.in_vain(2)
    assert again.in_vain(2, 3)


def test_who_waits_for_a_call_that_is_answered_besides_goes_on() -> None:
    """Its answer is on its way: the program may say that it waits before it has heard it."""
    again = Again(answered(1, 1), asking(2), asking(3))
    again.calls(ASK, 2)
    again.calls(ECHO, 1)
    assert again.told == [1]
    assert not again.in_vain(1, 2)
    assert not again.in_vain(1)
    assert again.in_vain(2)


def test_an_answer_whose_turn_has_not_come_is_one_that_is_held() -> None:
    again = Again(answered(1, 1), answered(2, 2), asking(3))
    again.calls(ECHO, 2)
    assert again.told == []
    assert again.in_vain(2)
    again.calls(ECHO, 1)
    assert again.told == [1, 2]
    assert not again.in_vain(2)


def test_who_waits_for_nothing_sleeps_and_who_has_come_so_far_waits_for_a_person() -> None:
    again = Again(answered(1, 1), asking(2))
    again.calls(ASK, 2)
    assert not again.in_vain()
    assert again.in_vain(2)
    again.calls(ECHO, 1)
    assert again.replay.over
    assert not again.in_vain(2)


def test_a_call_that_was_not_made_before_is_held_like_the_others() -> None:
    again: Any = Again(answered(1, 1), asking(2))
    assert again.replay.row(ECHO, {"n": 9}) is None
    again.replay.hold(9, lambda: None, ECHO)
    assert again.in_vain(9)
    assert str(again.replay.apart()) == "it calls `echo` of `a`, which it did not before"
