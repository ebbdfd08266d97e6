"""Each session that checks types serves one program and ends once, whatever the order."""

import threading
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_monty import MontySession

from toolcrib.adapters.jail.bubblewrap import NoJail
from toolcrib.adapters.monty import checkers as under_test
from toolcrib.adapters.monty.checkers import Checkers
from toolcrib.adapters.monty.modules import Modules, external_modules
from toolcrib.adapters.monty.places import Source
from toolcrib.adapters.monty.read_ahead import READ_AHEAD
from toolcrib.adapters.monty.workers import Workers
from toolcrib.ports import Program
from toolcrib.settings import CodeSettings
from toolcrib.testing.monty_rig import MODULES


@dataclass(eq=False)
class Session:
    """Stands for a session, and counts."""

    modules: Modules
    fails: bool = False
    dead: bool = False
    begun: int = 0
    ended: int = 0
    read: list[str] = field(default_factory=list[str])
    """Texts that it has read ahead."""

    def __enter__(self) -> Self:
        self.begun += 1
        if self.fails:
            raise TimeoutError
        return self

    def dump(self) -> bytes:
        if self.dead:
            raise RuntimeError
        return b""

    def __exit__(self, *_: object) -> None:
        self.ended += 1


@dataclass
class Scripted:
    """Checkers over such sessions, with a thread for each that reads."""

    fails: bool = False
    dead: bool = False
    pause: float = 0
    wanted: threading.Event = field(default_factory=threading.Event)
    """Set: sessions read all there is. Else each stops in its first text, until it is."""
    begun: threading.Event = field(default_factory=threading.Event)
    """Set when one begins to read."""
    sessions: list[Session] = field(default_factory=list[Session])
    lent: list[Session] = field(default_factory=list[Session])

    def lend(self, modules: Modules) -> MontySession:
        session = Session(modules, self.fails, self.dead)
        self.sessions.append(session)
        return cast("MontySession", session)

    def check(self, session: MontySession, _: Source, text: str) -> None:
        scripted = cast("Session", session)
        assert not scripted.modules
        self.begun.set()
        assert self.wanted.wait(5)
        scripted.read.append(text)

    def take(self, checkers: Checkers, name: str) -> Session:
        modules = external_modules(Program("", {name: MODULES["github"]}), {})
        session = cast("Session", checkers.lent(modules))
        assert session.modules.keys() == {name}
        assert (session.begun, session.ended) == (1, 0)
        assert session not in self.lent
        self.lent.append(session)
        return session

    @contextmanager
    def checkers(self, *, ahead: bool = True) -> Generator[Checkers]:
        """Closed at the end, when every session must have ended once."""
        with ThreadPoolExecutor(8) as threads, pytest.MonkeyPatch.context() as patch:
            patch.setattr(under_test, "check", self.check)
            patch.setattr(under_test, "_PAUSE", self.pause)
            checkers = Checkers(self.lend, threads.submit if ahead else None)
            try:
                yield checkers
            finally:
                checkers.close()
            assert [it.ended for it in self.sessions if it not in self.lent] == [
                1 for it in self.sessions if it not in self.lent
            ]


def done(checkers: Checkers, session: Session) -> None:
    checkers.done(cast("MontySession", session))


@given(st.lists(st.one_of(st.none(), st.integers(0, 3)), max_size=12))
def test_whatever_the_order_each_session_serves_one_program_and_ends_once(
    steps: list[int | None],
) -> None:
    scripted = Scripted()
    scripted.wanted.set()
    out: list[Session] = []
    with scripted.checkers() as checkers:
        for number, step in enumerate(steps):
            if step is None:
                out.append(scripted.take(checkers, f"m{number}"))
            elif out:
                done(checkers, out.pop(step % len(out)))
        for session in out:
            done(checkers, session)
    assert all((it.begun, it.ended) == (1, 1) for it in scripted.sessions)
    assert len(scripted.lent) == steps.count(None)


@given(st.integers(1, 8))
def test_programs_at_a_time_have_a_session_each(programs: int) -> None:
    scripted = Scripted()
    scripted.wanted.set()
    with scripted.checkers() as checkers, ThreadPoolExecutor(programs) as callers:
        for _ in range(3):
            taking = [callers.submit(scripted.take, checkers, f"m{n}") for n in range(programs)]
            taken = [each.result(5) for each in taking]
            assert len(set(map(id, taken))) == programs
            for ending in [callers.submit(done, checkers, each) for each in taken]:
                ending.result(5)
    assert all((it.begun, it.ended) == (1, 1) for it in scripted.sessions)


def test_a_program_waits_for_no_more_than_one_text() -> None:
    scripted = Scripted()
    with scripted.checkers() as checkers, ThreadPoolExecutor(1) as caller:
        reading = checkers._reading  # pyright: ignore[reportPrivateUsage]
        assert reading is not None
        assert scripted.begun.wait(5)
        taken = caller.submit(scripted.take, checkers, "m")
        reading = checkers._reading  # pyright: ignore[reportPrivateUsage]
        while reading is not None:  # until the program wants it
            reading = checkers._reading  # pyright: ignore[reportPrivateUsage]
        scripted.wanted.set()
        session = taken.result(5)
        assert session.read == [READ_AHEAD[0]]
        done(checkers, session)


def test_a_program_that_follows_at_once_does_not_wait_for_a_session_to_read() -> None:
    scripted = Scripted(pause=60)
    scripted.wanted.set()
    with scripted.checkers() as checkers:
        first = scripted.take(checkers, "m1")
        done(checkers, first)
        second = scripted.take(checkers, "m2")
        assert second.read == []
        assert first.ended == 1
        done(checkers, second)


@pytest.mark.parametrize(("fails", "dead"), [(True, False), (False, True)])
def test_where_none_can_be_made_ready_a_program_is_lent_a_fresh_one(
    *, fails: bool, dead: bool
) -> None:
    scripted = Scripted(fails, dead)
    scripted.wanted.set()
    with scripted.checkers() as checkers:
        first = checkers._reading  # pyright: ignore[reportPrivateUsage]
        assert first is not None
        assert (first.ready.result(5) is None) == fails
        scripted.fails = False
        session = scripted.take(checkers, "m")
        assert session.read == []
        assert scripted.sessions[0].ended == 1
        done(checkers, session)


def test_without_a_place_to_read_sessions_are_fresh_and_end_at_once() -> None:
    scripted = Scripted()
    with scripted.checkers(ahead=False) as checkers:
        session = scripted.take(checkers, "m")
        done(checkers, session)
        assert session.ended == 1
    assert len(scripted.sessions) == 1


def test_nothing_reads_ahead_where_types_are_not_checked() -> None:
    jobs: list[object] = []

    def soon(work: Any) -> Future[Any]:
        jobs.append(work)
        raise AssertionError

    workers = Workers(CodeSettings(type_check=False), NoJail("it is not needed here"), soon)
    workers.close()
    assert jobs == []


def test_what_ends_after_all_is_closed_ends_at_once_and_nothing_follows() -> None:
    scripted = Scripted()
    scripted.wanted.set()
    with scripted.checkers() as checkers:
        session = scripted.take(checkers, "m")
        checkers.close()
        done(checkers, session)
        assert session.ended == 1
    assert len(scripted.sessions) == 1
