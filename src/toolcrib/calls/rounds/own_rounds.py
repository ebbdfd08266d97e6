"""Our own questions on their way to a person and back, at once or by a round."""

from toolcrib.calls.call import Retry
from toolcrib.calls.rounds.asking import asked_once, brought_by, check_answers
from toolcrib.calls.rounds.outgoing import Outgoing
from toolcrib.calls.rounds.own_questions import OWN_KEY, InputNeeded, OwnAnswer, OwnQuestion
from toolcrib.calls.rounds.parked import Parking
from toolcrib.calls.rounds.screening import askable, check_capabilities
from toolcrib.calls.rounds.single_use import SingleUse
from toolcrib.calls.rounds.state import RoundState, Seals
from toolcrib.core.jsontypes import is_object
from toolcrib.protocol.mrtr import InputRequired, missing


class OwnRounds:
    """Asks callers what toolcrib itself has to know, and knows their answers when they return."""

    def __init__(self, seals: Seals, single_use: SingleUse, parking: Parking) -> None:
        self._seals = seals
        self._single_use = single_use
        self._parking = parking

    async def ask(self, outgoing: Outgoing, question: OwnQuestion) -> OwnAnswer:
        """The person's answer; raises as `Rounds.ask_own` says."""
        server, requester = outgoing.server, outgoing.requester
        state = self._seals.opened(outgoing)
        asked = {OWN_KEY: question.as_question()}
        if state is not None and question.topic in state.granted:
            if state.kind != "own":
                return OwnAnswer("accept")
            said = brought_by(outgoing.responses, server).responses.get(OWN_KEY)
            if said is not None:
                check_answers(server, asked, {OWN_KEY: said})
                await self._single_use.spend(server, requester, state.mark)
                return OwnAnswer(said["action"], said.get("content") or {})
        # What servers may ask is configured; a question of ours is no server's.
        needed = missing(askable(requester, ("elicitation",)), asked.values())
        check_capabilities(server, needed, requester)
        if requester.ask is None:
            raise InputNeeded(self._result(outgoing, state, question), server=server)
        said = await asked_once(server, asked[OWN_KEY], requester.ask)
        check_answers(server, asked, {OWN_KEY: said})
        return OwnAnswer(said["action"], said.get("content") or {})

    def unwrapped(self, outgoing: Outgoing) -> tuple[Outgoing, RoundState | None, tuple[str, ...]]:
        """A request without the round that was ours: what it brings to its server, if anything.

        Also the topics that a person said yes to. Raises `RetryRefused` for a state that is not
        good.
        """
        state = self._seals.opened(outgoing)
        if state is None or state.kind != "own":
            return outgoing, state, state.granted if state is not None else ()
        said = outgoing.responses.get(OWN_KEY)
        agreed = is_object(said) and said.get("action") == "accept"
        inner = outgoing.bringing(_interrupted(state))
        before = self._seals.opened(inner)
        granted = (*(before.granted if before else ()), *(state.granted if agreed else ()))
        return inner, before, granted

    def _result(
        self, outgoing: Outgoing, state: RoundState | None, question: OwnQuestion
    ) -> dict[str, object]:
        """The result that asks; what the request brought for its server is kept inside."""
        carried = _interrupted(state) if state and state.kind == "own" else outgoing.retry
        asked = {OWN_KEY: question.as_question()}
        sealed = self._seals.seal(
            outgoing,
            RoundState(
                "own",
                asked=asked,
                given=carried.responses if carried else {},
                state=carried.state if carried else None,
                granted=(question.topic,),
                mark=self._parking.mark(),
            ),
        )
        return InputRequired(asked, sealed).as_result()


def _interrupted(state: RoundState) -> Retry | None:
    """What a request brought when a question of ours interrupted it."""
    return Retry(state.state, state.given) if state.state is not None or state.given else None
