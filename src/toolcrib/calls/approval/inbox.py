"""Questions that nobody could be asked when they came up, until a person answers or they expire.

They lie in the store under the principal that called, so whoever runs the crib reads them from
another process (`toolcrib approve`). The person at this machine answers for its own principal and
for anonymous callers; questions of named principals are theirs.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import anyio

from toolcrib.calls.approval.grants import Asked, Grants, Whose
from toolcrib.calls.call import Requester
from toolcrib.core.fingerprint import hashed
from toolcrib.core.jsontypes import is_object
from toolcrib.core.partition import ANONYMOUS, LOCAL, Principal
from toolcrib.errors import NotAllowed, TooBusy
from toolcrib.ports import EntryStore
from toolcrib.settings import Remember

INBOX: Final = "inbox"
"""The space of an `EntryStore` that they are kept in."""
MOST: Final = 200
"""Questions of one principal that wait; beyond, new ones are refused and none is dropped."""
MOST_OF_ONE: Final = 50
"""Those of one caller: the anonymous share a principal, and nobody may use up their room."""
ANSWERED_HERE: Final = (LOCAL, ANONYMOUS)
"""The principals whose questions the person at this machine answers."""
_ID: Final = 10
_ROOM: Final = 2 * MOST
"""What the store keeps at most: processes that count at once never push out what waits."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """One question, with all that its answer needs."""

    server: str
    tool: str
    """The tool's own name on its server."""
    arguments: str
    """As a person is shown them."""
    caller: str
    """`local`, `anonymous`, or the subject of the principal."""
    rule: str
    """The file and line of the rule that asks; empty: the default does."""
    remember: Remember
    """How long a yes may be good, at most."""
    seconds: float
    """With `principal`: for so long at most."""
    asked_at: float
    """Seconds since the epoch, as is the next."""
    expires_at: float
    run: str
    """The run of the process that asked."""
    owner: str
    call: str
    kind: str

    @property
    def id(self) -> str:
        """What the question is called: the same for the same call of the same caller."""
        return hashed(f"{self.owner}/{self.call}".encode())[:_ID]

    @property
    def asked(self) -> Asked:
        """What the answer is about."""
        return Asked(self.owner, self.call, self.kind)


class Inbox:
    """Keeps questions, and takes answers to them.

    Args:
        store: The same for every process on a configuration.
        whose: The owner of what is kept for a caller.
        grants: Where answers go.
        life: Seconds that a question waits, and after it an answer (`limits.state_seconds`).
    """

    def __init__(self, store: EntryStore, *, whose: Whose, grants: Grants, life: float) -> None:
        self._store = store
        self._whose = whose
        self._grants = grants
        self.life = life
        self._counting = anyio.Lock()

    async def put(self, principal: Principal, waiting: Waiting) -> None:
        """Keep a question; one that waits already keeps its time.

        Raises:
            StoreUnreachable: It is not kept.
            TooBusy: Nor is it where as many wait as there is room for.
        """
        owner = self._whose(Requester(principal))
        async with self._counting:
            if await self._store.get(INBOX, owner, waiting.id) is not None:
                return
            _check_room([it.owner for it in (await self._entries(principal)).values()], waiting)
            value = json.dumps(asdict(waiting)).encode()
            await self._store.add(INBOX, owner, waiting.id, value, lifetime=self.life, most=_ROOM)

    async def waiting(self, principals: Sequence[Principal] = ANSWERED_HERE) -> tuple[Waiting, ...]:
        """Every question of these principals, the oldest first."""
        found = [it for who in principals for it in (await self._entries(who)).values()]
        return tuple(sorted(found, key=lambda it: (it.asked_at, it.id)))

    async def answer(
        self,
        question_id: str,
        *,
        yes: bool,
        seconds: float = 0.0,
        run: bool = False,
        principals: Sequence[Principal] = ANSWERED_HERE,
    ) -> Waiting | None:
        """Answer a question; None where there is none (any more) of that id.

        Args:
            question_id: Its id, or how it begins where no other begins so.
            yes: Whether the call may go out.
            seconds: Above 0: so may all calls that the same rule asks about, for so long.
            run: So may they, until the process that asked ends.
            principals: Whose questions are looked at.

        Raises:
            NotAllowed: The rule does not let a yes be good for so long.
            StoreUnreachable: Nothing was answered.
        """
        found = await self._find(question_id, principals)
        if found is None:
            return None
        principal, waiting = found
        if yes:
            _permit(waiting, seconds, run=run)
        owner = self._whose(Requester(principal))
        if await self._store.take(INBOX, owner, waiting.id) is None:
            return None  # somebody else answered it in this moment
        if not yes:
            await self._grants.say(waiting.asked, "no", self.life)
        elif run:
            await self._grants.say_for_run(waiting.asked, waiting.run)
        elif seconds > 0:
            await self._grants.remember(waiting.asked, seconds)
        else:
            await self._grants.say(waiting.asked, "yes", self.life)
        return waiting

    async def _find(
        self, question_id: str, principals: Sequence[Principal]
    ) -> tuple[Principal, Waiting] | None:
        found = [
            (who, it)
            for who in principals
            for key, it in (await self._entries(who)).items()
            if question_id and key.startswith(question_id)
        ]
        return found[0] if len(found) == 1 else None

    async def _entries(self, principal: Principal) -> dict[str, Waiting]:
        raw = await self._store.entries(INBOX, self._whose(Requester(principal)))
        read = {key: _read(value) for key, value in raw.items()}
        return {key: it for key, it in read.items() if it is not None}


def _check_room(owners: Sequence[str], waiting: Waiting) -> None:
    """Raise `TooBusy` where the owners of what waits leave no room for one more question."""
    own = owners.count(waiting.owner)
    if own >= MOST_OF_ONE or len(owners) >= MOST:
        full = f"{own} of this caller" if own >= MOST_OF_ONE else f"{len(owners)}"
        raise TooBusy(
            f"the inbox is full: {full} questions wait already",
            server=waiting.server,
            remedy="answer them with `toolcrib approve`, or let them expire",
        )


def _permit(waiting: Waiting, seconds: float, *, run: bool) -> None:
    """Refuse a yes that is good for longer than the rule lets it be."""
    if run and waiting.remember == "call":
        raise NotAllowed(
            "the rule lets a yes be good once only", remedy="approve the call without --for"
        )
    longest = waiting.seconds if waiting.remember == "principal" else 0.0
    if seconds > longest:
        much = f"for {longest:g} seconds at most" if longest else "for no length of time"
        raise NotAllowed(
            f"the rule lets a yes be good {much}",
            remedy="approve it for less, or change the rule in toolcrib.toml",
        )


def _read(value: bytes) -> Waiting | None:
    """A question as it was kept; None for what another version wrote."""
    try:
        fields: Any = json.loads(value)
        return Waiting(**fields) if is_object(fields) else None
    except (TypeError, ValueError):
        return None
