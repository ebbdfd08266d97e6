"""Questions in mid-call, whoever asks them and however the caller can be asked.

    parking = Parking(limits, process_id=...)         # one per process
    async with parking.running():                     # whoever owns the process enters it
        rounds = Rounds(access, parking=parking, ...) # one per principal
        result = await rounds.send(call, item, params, context)   # an admitted tool call
        result = await rounds.request(outgoing)       # prompts/get, resources/read
        answer = await rounds.ask_own(call, OwnQuestion(topic, message))

Servers ask in one of two ways and callers are asked in one of two, so there are four pairs:

| server | caller is asked | what happens |
|---|---|---|
| by a result | by a result | its questions go on, its state is sealed inside ours |
| by a result | at once | the caller is asked, and the request sent again with the answers |
| in mid-call | at once | each question is put to the caller while the call is open |
| in mid-call | by a result | the call stays open in this process (`parked`) |

What a caller did not declare is never asked of it (MCP 2026-07-28, multi round-trip requests:
server requirements); nothing of a round is ever cached; no address in a question is ever fetched.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import anyio

from toolcrib.calls.call import Requester, ToolCall
from toolcrib.calls.rounds.asking import (
    Answers,
    as_passed_on,
    asked_at_once,
    brought_by,
    check_answers,
    check_visited,
)
from toolcrib.calls.rounds.leg import Asks, Reply, sent
from toolcrib.calls.rounds.outgoing import Outgoing, outgoing_call
from toolcrib.calls.rounds.own_questions import InputNeeded, OwnAnswer, OwnQuestion
from toolcrib.calls.rounds.own_rounds import OwnRounds
from toolcrib.calls.rounds.parked import ParkedCall, Parking
from toolcrib.calls.rounds.relay import Put, Relay
from toolcrib.calls.rounds.screening import askable, check_capabilities, screened
from toolcrib.calls.rounds.single_use import SingleUse
from toolcrib.calls.rounds.state import RoundState, Seals, gathered
from toolcrib.catalog.access import CatalogAccess
from toolcrib.core.partition import ANONYMOUS
from toolcrib.core.quoting import quoted
from toolcrib.core.snapshot import Item
from toolcrib.errors import (
    LimitExceeded,
    RetryRefused,
    SchemaChanged,
    ToolcribBug,
    ToolcribError,
    UpstreamUnreachable,
)
from toolcrib.ports import EntryStore, RequestContext, Sealer
from toolcrib.protocol.mrtr import Brought, InputRequired, Question, missing
from toolcrib.settings import Limits, Relayed

__all__ = ["InputNeeded", "OwnAnswer", "OwnQuestion", "Rounds"]

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0
"""Seconds before a server that only wants to be called again is, doubled each time."""


class Rounds:
    """Sends the requests of one principal, and has what servers ask in mid-call answered."""

    def __init__(
        self,
        access: CatalogAccess,
        *,
        parking: Parking,
        sealer: Sealer,
        entries: EntryStore,
        owner: Callable[[Requester], str],
        relay: tuple[Relayed, ...],
        limits: Limits,
    ) -> None:
        """Take what rounds are made of.

        Args:
            access: The catalogs of the principal.
            parking: The open calls of this process.
            sealer: Has the keys of this installation.
            entries: Remembers what was used once.
            owner: The keyed digest of a principal and its handle.
            relay: What servers may ask callers for through us.
            limits: `rounds`, `state_seconds`, `parked_calls`, `argument_bytes`.
        """
        self._access = access
        self._parking = parking
        self._relay = relay
        self._limits = limits
        self._owner = owner
        self._seals = Seals(sealer, owner=owner, limits=limits)
        self._single_use = SingleUse(entries, owner=owner, limits=limits)
        self._own = OwnRounds(self._seals, self._single_use, parking)

    async def send(
        self, call: ToolCall, item: Item, params: Mapping[str, Any], context: RequestContext
    ) -> dict[str, Any]:
        """Send an admitted tool call; see `request`."""
        return await self.request(outgoing_call(call, item, params, context))

    async def request(self, outgoing: Outgoing) -> dict[str, Any]:
        """The server's final result as received, or an `input_required` result of ours.

        Raises as `CatalogAccess.request` does, and `CapabilityMissing` (-32021), `RetryRefused`
        (-32602: a state that is foreign, expired, of another request…), `NotAllowed` (a form that
        asks for secrets), `LimitExceeded` (`rounds`, `parked_calls`), `SchemaChanged`.
        """
        outgoing, state, granted = self._own.unwrapped(outgoing)
        brought = brought_by(outgoing.responses, outgoing.server)
        if state is None:
            return await self._sent(outgoing, brought, RoundState("server", granted=granted))
        state = replace(state, granted=granted)
        if state.kind != "parked" and state.contract != outgoing.contract:
            raise _changed_meanwhile(outgoing)
        answers = gathered(state, brought)
        check_answers(outgoing.server, state.asked, answers)
        if state.asked.keys() - answers.keys():
            return self._asked_again(outgoing, state, answers)
        if state.kind == "parked":
            return await self._continued(outgoing, state, answers)
        await self._single_use.spend(
            outgoing.server, outgoing.requester, state.mark, consent=bool(state.granted)
        )
        if state.kind == "visit":
            check_visited(outgoing.server, answers)
            brought = Brought()
        else:
            brought = Brought(state.state, as_passed_on(state.asked, answers))
        return await self._sent(outgoing, brought, state)

    def continues(self, call: ToolCall) -> bool:
        """Whether a retry goes on with a call that is open at its server: nothing is sent anew."""
        try:
            state = self._seals.opened(_of(call))
        except RetryRefused:
            return False
        return state is not None and state.kind == "parked"

    async def ask_own(self, call: ToolCall, question: OwnQuestion) -> OwnAnswer:
        """What the person behind a call says to a question of ours.

        A caller that can be asked at once is asked. One that takes rounds gets `InputNeeded`, whose
        `result` the pipeline returns; when it calls again with the answer, the same `ask_own`
        returns it, once (a replay is refused), and so it does in later rounds of the same call.

        Raises:
            CapabilityMissing: The caller cannot be asked: the question has to wait elsewhere.
            InputNeeded: Return its `result` to the caller.
            RetryRefused: The answer was used before, or does not fit the question.
        """
        return await self._own.ask(_of(call), question)

    # ---- the four pairs ----

    async def _sent(
        self, outgoing: Outgoing, brought: Brought, state: RoundState
    ) -> dict[str, Any]:
        """Send a request in the way that suits its caller and its server."""
        facts = self._access.status(outgoing.server).facts
        if facts is not None and facts.era == "handshake":
            brought = Brought()  # which such a server has no word for
        requester = outgoing.requester
        if requester.ask is not None or not askable(requester, self._relay):
            return await self._asking_at_once(outgoing, brought)
        if facts is not None and facts.era == "modern":
            relay = self._relaying(outgoing, _unexpected)
            return self._told(outgoing, await self._leg(outgoing, brought, relay), state)
        call = self._parking.start(outgoing, lambda call: self._parked_leg(call, brought))
        return await self._next(outgoing, call, state)

    async def _asking_at_once(self, outgoing: Outgoing, brought: Brought) -> dict[str, Any]:
        """Send a request as often as its server asks, and ask the caller each time."""
        server, requester = outgoing.server, outgoing.requester
        ask = requester.ask or _nobody

        async def put(question: Question) -> Mapping[str, Any]:
            return await ask(question.method, self._numbered(question).params)

        pause = _FIRST_PAUSE
        relay = self._relaying(outgoing, put)
        reply = await self._leg(outgoing, brought, relay)
        for _ in range(self._limits.rounds):
            if not isinstance(reply, Asks):
                return reply
            asked = screened(server, reply.questions, requester, self._relay)
            numbered = {key: self._numbered(question) for key, question in asked.items()}
            answers = await asked_at_once(server, numbered, ask)
            if not asked:
                await anyio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            brought = Brought(reply.state, as_passed_on(asked, answers))
            if reply.kind == "visit":
                check_visited(server, answers)
                brought = Brought()
            reply = await self._leg(outgoing, brought, relay)
        if isinstance(reply, Asks):
            raise self._too_often(server)
        return reply

    async def _parked_leg(self, call: ParkedCall, brought: Brought) -> Reply:
        """The one request of a call that may have to stay open."""
        first = call.outgoing
        heard = call.heard if first.context.heard is not None else None
        outgoing = replace(
            first,
            context=replace(first.context, heard=heard),
            progress=call.progressed if first.progress is not None else None,
        )
        relay = self._relaying(first, call.put, lambda: call.outgoing)
        return await self._leg(outgoing, brought, relay)

    async def _continued(
        self, outgoing: Outgoing, state: RoundState, answers: Answers
    ) -> dict[str, Any]:
        """Go on with an open call, which is never sent twice."""
        call = self._parking.find(state.place)
        if call is None:
            raise _gone(outgoing)
        call.resume(outgoing, answers)
        return await self._next(outgoing, call, state)

    async def _next(
        self, outgoing: Outgoing, call: ParkedCall, state: RoundState
    ) -> dict[str, Any]:
        """What an open call wants next: an answer, or that its result is taken."""
        questions = await call.next()
        if questions is None:
            return self._told(outgoing, call.result, state)
        try:
            # Screened when they were asked; but this request may declare less than the one before.
            able = askable(outgoing.requester, self._relay)
            lacks = missing(able, questions.values())
            check_capabilities(outgoing.server, lacks, outgoing.requester)
            return self._asked(outgoing, replace(state, kind="parked", place=call.name), questions)
        except ToolcribError:
            call.cancel()
            raise

    # ---- one leg, and the result of a round ----

    async def _leg(self, outgoing: Outgoing, brought: Brought, relay: Relay) -> Reply:
        capabilities = askable(outgoing.requester, self._relay)
        return await sent(self._access, outgoing, brought, relay, capabilities)

    def _relaying(
        self, outgoing: Outgoing, put: Put, attending: Callable[[], Outgoing] | None = None
    ) -> Relay:
        requester = outgoing.requester
        nobody = requester.principal == ANONYMOUS and not requester.handle
        return Relay(
            attending or (lambda: outgoing),
            put,
            whose=object() if nobody else self._owner(requester),
            relayed=self._relay,
            limits=self._limits,
        )

    def _told(self, outgoing: Outgoing, reply: Reply, state: RoundState) -> dict[str, Any]:
        """A reply as a caller that takes rounds gets it."""
        if not isinstance(reply, Asks):
            return reply
        asked = screened(outgoing.server, reply.questions, outgoing.requester, self._relay)
        return self._asked(
            outgoing, replace(state, kind=reply.kind, state=reply.state, place=""), asked
        )

    def _asked(
        self, outgoing: Outgoing, state: RoundState, asked: Mapping[str, Question]
    ) -> dict[str, Any]:
        """The result that asks a caller what its server wants to know."""
        plain = {key: _unnumbered(question) for key, question in asked.items()}
        return self._sealed(outgoing, replace(state, asked=plain, given={}), plain)

    def _asked_again(
        self, outgoing: Outgoing, state: RoundState, answers: Answers
    ) -> dict[str, Any]:
        """The result that asks for what was left out (MRTR: error handling)."""
        if (call := self._parking.find(state.place)) is not None:
            call.linger()
        rest = {key: asked for key, asked in state.asked.items() if key not in answers}
        # Its mark stays: what a person agreed to once must not be multiplied by half answers.
        return self._sealed(outgoing, replace(state, given=answers), rest, mark=state.mark)

    def _sealed(
        self, outgoing: Outgoing, state: RoundState, shown: Mapping[str, Question], mark: str = ""
    ) -> dict[str, Any]:
        if state.round >= self._limits.rounds:
            raise self._too_often(outgoing.server)
        following = replace(
            state,
            round=state.round + 1,
            contract=outgoing.contract,
            mark=mark or self._parking.mark(),
        )
        return InputRequired(shown, self._seals.seal(outgoing, following)).as_result()

    def _numbered(self, question: Question) -> Question:
        """A page visit with the id that revision 2025-11-25 wants and 2026-07-28 has no more."""
        if question.params.get("mode") != "url" or "elicitationId" in question.params:
            return question
        return replace(question, params={**question.params, "elicitationId": self._parking.mark()})

    def _too_often(self, server: str) -> LimitExceeded:
        return LimitExceeded(
            f"{quoted(server)} asked more often in one call than rounds allows "
            f"({self._limits.rounds})",
            server=server,
            remedy="raise rounds, if so many questions are meant",
        )


def _of(call: ToolCall) -> Outgoing:
    """The call, as far as states are bound to it."""
    return Outgoing(
        server=call.server,
        method="tools/call",
        key=call.key,
        params={},
        requester=call.requester,
        arguments=call.arguments,
        retry=call.retry,
    )


def _unnumbered(question: Question) -> Question:
    params = {key: value for key, value in question.params.items() if key != "elicitationId"}
    return replace(question, params=params)


async def _nobody(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    raise ToolcribBug(f"{quoted(method)} was asked where nothing is askable: {sorted(params)}")


async def _unexpected(question: Question) -> Mapping[str, Any]:
    raise UpstreamUnreachable(
        f"the server asked for {quoted(question.method)} in the way of another protocol revision "
        "than the one it was found with",
    )


def _changed_meanwhile(outgoing: Outgoing) -> SchemaChanged:
    return SchemaChanged(
        f"the schema of {quoted(outgoing.key)} changed while its questions were open",
        server=outgoing.server,
        details={
            "changes": ["it changed while the questions of an earlier call were open"],
            "inputSchema": outgoing.context.input_schema,
        },
        remedy="call again with arguments that fit the schema that holds now, and without state",
    )


def _gone(outgoing: Outgoing) -> RetryRefused:
    return RetryRefused(
        "the call that waited for these answers is not open here any more: it ended, was given up, "
        "or is held by another process",
        server=outgoing.server,
        remedy="find out whether it took effect, then send it anew without requestState",
    )
