"""Which digest in an answer of a peer speaks against the listing that is held."""

from typing import Any

import pytest

from toolcrib.catalog.peer_watch import PeerWatch
from toolcrib.core.snapshot import Hints, Kind, Snapshot
from toolcrib.facts import Finding
from toolcrib.testing.recorder import Recorder


def held(digest: str) -> Snapshot:
    return Snapshot(Kind.TOOLS, (), "own", hints=Hints(peer_digest=digest))


def sent(digest: str) -> dict[str, Any]:
    return {"name": "t", "_meta": {"dev.toolcrib/seen": {"digest": digest}}}


def answer(digest: object, **members: Any) -> dict[str, Any]:
    return {"content": [], "_meta": {"dev.toolcrib/digest": digest}, **members}


@pytest.mark.parametrize(
    ("now", "went_out_with", "answered", "moved"),
    [
        ("a", "a", "a", False),
        ("a", "a", "b", True),
        ("b", "a", "a", False),
        ("b", "a", "b", False),
        ("b", "a", "c", True),
        ("", "", "b", False),
        ("a", "a", None, False),
        ("a", "a", 3, False),
    ],
)
def test_only_another_digest_than_before_and_after_the_call_speaks_against_it(
    now: str, went_out_with: str, answered: object, *, moved: bool
) -> None:
    watch = PeerWatch("s", Recorder())
    assert watch.moved(held(now), sent(went_out_with), answer(answered)) is moved
    assert not watch.moved(held(now), sent(went_out_with), answer(answered))


def test_nothing_held_is_contradicted_by_nothing() -> None:
    watch = PeerWatch("s", Recorder())
    assert not watch.moved(None, sent("a"), answer("b"))
    assert not watch.unmasks(None, sent("a"), answer("b"))


@pytest.mark.parametrize(
    ("digest", "params", "result", "foreign"),
    [
        ("a", sent("a"), answer("a"), False),
        ("a", sent("a"), {"content": []}, True),
        ("a", {"name": "t"}, {"content": []}, False),
        ("", {"name": "t"}, {"content": []}, True),
        ("", sent("a"), answer("a"), True),
        ("a", sent("a"), {"content": [], "isError": True}, False),
        ("a", sent("a"), {"resultType": "input_required"}, False),
    ],
)
def test_who_marks_no_answer_is_no_peer_and_that_is_told_once(
    digest: str, params: dict[str, Any], result: dict[str, Any], *, foreign: bool
) -> None:
    recorder = Recorder()
    watch = PeerWatch("s", recorder)
    assert watch.unmasks(held(digest), params, result) is foreign
    assert not watch.unmasks(held(digest), params, result)
    assert watch.foreign is foreign
    assert len(recorder.of(Finding)) == foreign
