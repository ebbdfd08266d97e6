"""`toolcrib approve`: questions that wait for a person, and how they are answered."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolcrib.calls.approval.answers import Answers
from toolcrib.calls.approval.inbox import Inbox, Waiting
from toolcrib.calls.approval.question import duration
from toolcrib.cli.exits import Exit, UsageError
from toolcrib.cli.inbox_view import answered_view, inbox_view, waiting_lines
from toolcrib.cli.opening import Source, StoreAlarm, parts_of
from toolcrib.cli.output import Output, View
from toolcrib.cli.person import Person, Refused, person_at
from toolcrib.core.quoting import quoted
from toolcrib.settings import Settings

_TIME: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")
_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the command line says to the questions it names."""

    yes: bool = True
    run: bool = False
    seconds: float = 0.0
    sure: bool = False
    """Not asked again after the question was shown."""

    @property
    def word(self) -> str:
        """The answer, as it is told."""
        if not self.yes:
            return "denied"
        if self.run:
            return "approved until the gateway ends"
        return f"approved for {duration(self.seconds)}" if self.seconds else "approved once"


def parse_lasting(text: str | None) -> tuple[bool, float]:
    """What `--for` says: for the run, and for how many seconds.

    Raises:
        UsageError: It is neither `run` nor a time.
    """
    if text is None:
        return False, 0.0
    if text == "run":
        return True, 0.0
    found = _TIME.fullmatch(text)
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if seconds <= 0:
        raise UsageError(f"--for {text!r} is no time", remedy="write run, or 90s, 30m, 8h or 2d")
    return False, seconds


async def approve(source: Source, output: Output, ids: Sequence[str], answer: Answer) -> Exit:
    """Lists what waits, or answers the questions of these ids.

    A yes is said by a person who sees the question: at a terminal it is shown and asked for, and
    anywhere else it takes `--yes`. Questions lie in the store, so no server is needed, and without
    configuration those of the usual store are answered.

    Raises:
        UsageError: There is no such question, nobody is there to be asked, or nothing is kept.
        NotAllowed: The rule does not let a yes last so long.
    """
    with parts_of(source, output, StoreAlarm(output), serverless=True) as (settings, parts, _):
        check_store(settings)
        answers = Answers(parts.entries, keys=parts.keys, limits=settings.limits, run="")
        waiting = await answers.inbox.waiting()
        now = parts.clock.now().wall
        if not ids:
            output.show(inbox_view(waiting, now))
            return Exit.FINE
        chosen = [_named(waiting, one) for one in ids]
        person = None
        if answer.yes and not answer.sure:
            person = _somebody(output, f"toolcrib approve {chosen[0].id}")
        said: list[tuple[Waiting, str]] = []
        for one in chosen:
            if person is not None and not await _agrees(output, person, one, now):
                continue
            await _answer(answers.inbox, one, answer)
            said.append((one, answer.word))
        output.show(answered_view(said))
        return Exit.FINE if len(said) == len(chosen) else Exit.FOUND


def check_store(settings: Settings) -> None:
    """Refuses where no answer could reach anybody.

    Raises:
        UsageError: The configuration keeps nothing on disk.
    """
    if settings.store.path is None:
        raise UsageError(
            'nothing is kept on disk ([store] path = ":memory:"), so no answer reaches a gateway',
            remedy="name a file there, or answer where the host asks",
        )


def _somebody(output: Output, command: str) -> Person:
    person = person_at(output, sys.stdin, sys.stderr)
    if person is None:
        raise UsageError(
            "nobody is there to be asked", remedy=f"run `{command}` in a terminal, or add --yes"
        )
    return person


async def _agrees(output: Output, person: Person, one: Waiting, now: float) -> bool:
    for line in waiting_lines(one, now):
        output.complain(View(line, {}))
    try:
        return await person.agrees("Let this call out?")
    except Refused:
        return False


async def _answer(inbox: Inbox, one: Waiting, answer: Answer) -> None:
    done = await inbox.answer(one.id, yes=answer.yes, seconds=answer.seconds, run=answer.run)
    if done is None:
        raise UsageError(
            f"the question {one.id} was answered elsewhere, or has expired",
            remedy="see `toolcrib approve`",
        )


def _named(waiting: Sequence[Waiting], given: str) -> Waiting:
    found = [one for one in waiting if given and one.id.startswith(given)]
    if len(found) == 1:
        return found[0]
    what = "more than one question" if found else "no question"
    known = ", ".join(one.id for one in (found or waiting)[:8])
    elsewhere = "nothing waits; name the gateway's --config files, if they set another store"
    remedy = f"waiting: {known}" if known else elsewhere
    raise UsageError(f"{what} waits under {quoted(given)}", remedy=remedy)
