"""Where programs wait for a person: in the store, sealed, each good for one return.

    result = await shelf.put(requester, mark, put_aside)            # asks; carries the state
    taken = await shelf.take(requester, mark, retry)                # the same request, with answers

The state that travels through the host names an entry and nothing else. It is bound to the
principal and handle and to the program (`mark`), and the entry is taken, not read: of two requests
that bring the same state one goes on.
"""

import itertools
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from anyio import to_thread

from toolcrib.calls.call import Requester, Retry
from toolcrib.calls.ledger.owners import Owners
from toolcrib.codemode.put_aside import PutAside
from toolcrib.codemode.room import Room
from toolcrib.core.canonical import canonical
from toolcrib.core.jsontypes import is_object
from toolcrib.errors import LimitExceeded, RetryRefused, StoreUnreachable
from toolcrib.ports import EntryStore, Keys, Sealer
from toolcrib.protocol.mrtr import MOST_QUESTIONS
from toolcrib.settings import CodeSettings

_PURPOSE: Final = "toolcrib/program/2"
"""Grows with the shape of what is kept, so that no process reads what another version wrote."""

_SPACE: Final = "programs"

_OFF_LOOP: Final = 256 * 1024
"""Bytes from which on they are packed and sealed in a thread."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Taken:
    """A program that was taken from the shelf, to go on."""

    program: PutAside
    retries: Mapping[int, Retry]
    """What a person said, by the number of the call."""
    name: str
    """Under which it was kept."""
    sealed: bytes


class Shelf:
    """Keeps programs that wait.

    Args:
        entries: Where they are kept; shared with other processes.
        sealer: Seals them, and the states that lead back to them.
        keys: Name their owners.
        settings: How many, and how large they may be.
        seconds: How long they wait (`limits.state_seconds`).
        run: Marks this run of the process.
    """

    def __init__(
        self,
        entries: EntryStore,
        *,
        sealer: Sealer,
        keys: Keys,
        settings: CodeSettings,
        seconds: float,
        run: str,
    ) -> None:
        self._entries = entries
        self._sealer = sealer
        self._owners = Owners(keys, "programs")
        self._settings = settings
        self._seconds = seconds
        self._room = Room(entries, self._owners.digest("all"), settings, seconds)
        self._names = (f"{run}/{number}" for number in itertools.count(1))

    async def put(self, requester: Requester, mark: str, program: PutAside) -> dict[str, Any]:
        """Keep a program; the `input_required` result that asks for what it waits for.

        Raises:
            LimitExceeded: It is larger than may be kept, or too much is kept already.
            StoreUnreachable: It cannot be kept now.
        """
        program, questions = _asked(program)
        bound, name = self._bound(requester, mark), next(self._names)
        sealed = await _off_loop(program.bulk, partial(self._sealed, program, bound))
        owner, key = self._owners.principal(requester), self._key(requester, name)
        await self._room.take(owner, key, len(sealed))
        try:
            await self._keep(owner, key, sealed)
        except StoreUnreachable:
            await self._leave(key)
            raise
        state = self._sealer.seal(name.encode(), bound=bound, lifetime=self._seconds)
        return {
            "resultType": "input_required",
            "inputRequests": questions,
            "requestState": state,
        }

    async def take(self, requester: Requester, mark: str, retry: Retry) -> Taken:
        """The program that a request brings answers for, and the answers by the call.

        Raises:
            RetryRefused: The state is not good for this program of this caller, or not any more.
            StoreUnreachable: Nobody knows.
        """
        bound = self._bound(requester, mark)
        name = None
        if retry.state is not None:
            name = self._sealer.unseal(retry.state, bound=bound)
        if name is None:
            raise self._refused(
                "is not good for this program: it expired, was changed, or is of another"
            )
        key = self._key(requester, name.decode())
        sealed = await self._entries.take(_SPACE, self._owners.principal(requester), key)
        program = None
        if sealed is not None:
            await self._leave(key)
            program = await _off_loop(len(sealed), partial(self._unsealed, sealed, bound))
        if sealed is None or program is None:
            raise self._refused("was used already, or had to make room for another one")
        return Taken(program, _retries(program, retry.responses), name.decode(), sealed)

    async def put_back(self, requester: Requester, taken: Taken) -> None:
        """Let what was taken be taken once more, with the same state: nothing became of it.

        Raises:
            StoreUnreachable: It is lost.
        """
        owner, key = self._owners.principal(requester), self._key(requester, taken.name)
        await self._keep(owner, key, taken.sealed)
        with suppress(StoreUnreachable):  # the answer of a person is worth more than the count
            await self._room.take_back(owner, key, len(taken.sealed))

    async def _keep(self, owner: str, key: str, sealed: bytes) -> None:
        most = self._settings.suspended
        await self._entries.put(_SPACE, owner, {key: sealed}, lifetime=self._seconds, most=most)

    async def _leave(self, key: str) -> None:
        with suppress(StoreUnreachable):  # then it is left when it expires
            await self._room.leave(key)

    def _sealed(self, program: PutAside, bound: bytes) -> bytes:
        raw = program.to_bytes()
        most = self._settings.suspended_bytes
        if len(raw) > most:
            raise LimitExceeded(
                f"the program cannot wait for a person: it has {len(raw):,} bytes, "
                f"code.suspended_bytes allows {most:,}"
            )
        return self._sealer.seal(raw, bound=bound, lifetime=self._seconds).encode()

    def _unsealed(self, sealed: bytes, bound: bytes) -> PutAside | None:
        raw = self._sealer.unseal(sealed.decode(), bound=bound)
        return None if raw is None else PutAside.from_bytes(raw)

    def _bound(self, requester: Requester, mark: str) -> bytes:
        return canonical([_PURPOSE, self._owners.caller(requester), mark])

    def _key(self, requester: Requester, name: str) -> str:
        """Bounds count per principal; who has another handle finds nothing under it."""
        return self._owners.digest("key", self._owners.caller(requester), name)

    def _refused(self, why: str) -> RetryRefused:
        return RetryRefused(
            f"this request state {why} (it is good once, for {self._seconds:g} s)",
            remedy="run the program anew, without requestState and inputResponses",
        )


async def _off_loop(size: int, work: Callable[[], _T]) -> _T:
    """The work, where nobody waits for it if it is much."""
    if size < _OFF_LOOP:
        return work()
    return await to_thread.run_sync(work)


def _asked(program: PutAside) -> tuple[PutAside, dict[str, Any]]:
    """The questions of all its calls, as many as may be asked at a time.

    A call whose questions find no room is made anew when the program goes on.
    """
    questions: dict[str, Any] = {}
    asked: dict[int, Mapping[str, Any]] = {}
    rows = {row.number: row for row in program.progress.rows}
    for number, result in sorted(program.progress.asked.items()):
        requests = result.get("inputRequests")
        own = dict(requests) if is_object(requests) else {}
        if questions and len(questions) + len(own) > MOST_QUESTIONS:
            rows[number].outcome = "held"
            continue
        asked[number] = result
        questions |= {f"{number}/{key}": question for key, question in own.items()}
    return replace(program, progress=replace(program.progress, asked=asked)), questions


def _retries(program: PutAside, responses: Mapping[str, Any]) -> dict[int, Retry]:
    """What each of its calls brings back."""
    asked = program.progress.asked
    said: dict[str, dict[str, Any]] = {str(number): {} for number in asked}
    for key, response in responses.items():
        number, slash, own = key.partition("/")
        if slash and number in said:
            said[number][own] = response
    return {
        number: Retry(result.get("requestState"), said[str(number)])
        for number, result in asked.items()
    }
