"""Whether a person lets a call go out: policy, remembered answers, a question, or the inbox.

Where the caller cannot be asked, the question waits in the inbox and the call is refused; the same
call, made again after a yes, goes out once.
"""

from collections.abc import Callable
from typing import Final, Protocol

from toolcrib.calls.approval.answers import Answers
from toolcrib.calls.approval.grants import Asked, grantee, may_remember
from toolcrib.calls.approval.inbox import Waiting
from toolcrib.calls.approval.question import Said, question_of, said_in
from toolcrib.calls.call import ToolCall
from toolcrib.calls.rounds.own_questions import InputNeeded, OwnAnswer, OwnQuestion
from toolcrib.core.approval import Allowed, AskFirst, Denied, decide
from toolcrib.core.canonical import canonical
from toolcrib.core.fingerprint import hashed
from toolcrib.core.partition import ANONYMOUS, LOCAL, Principal
from toolcrib.core.plain_sight import in_plain_sight
from toolcrib.core.quoting import quoted
from toolcrib.core.snapshot import Item
from toolcrib.errors import (
    BadArguments,
    CallHeld,
    CapabilityMissing,
    ConfirmationNeeded,
    NotAllowed,
    StoreUnreachable,
    TooBusy,
    UpstreamRefused,
)
from toolcrib.ports import Clock
from toolcrib.settings import ApprovalRule, ApprovalSettings, Remember

_BY_DEFAULT: Final = ApprovalRule("ask")
"""What asks where `otherwise = "ask"` does."""
_FLOW: Final = ApprovalRule("ask", source="code.flows")
"""What asks whether answers of one server may go into a call of another."""


class Asking(Protocol):
    """Asks whoever is behind a call; `calls.rounds.Rounds` does."""

    async def ask_own(self, call: ToolCall, question: OwnQuestion) -> OwnAnswer:
        """What the person says; raises `CapabilityMissing` where nobody can be asked."""
        ...


class Approval:
    """Implements `seams.Approving`.

    Args:
        policy: The rules.
        asking: Asks whoever calls.
        answers: What was answered before, and the inbox.
        launch: The keyed digest of how a server is launched now, by its id.
        clock: Dates the questions.
    """

    def __init__(
        self,
        policy: ApprovalSettings,
        *,
        asking: Asking,
        answers: Answers,
        launch: Callable[[str], str],
        clock: Clock,
    ) -> None:
        self._policy = policy
        self._asking = asking
        self._answers = answers
        self._grants = answers.grants
        self._inbox = answers.inbox
        self._launch = launch
        self._clock = clock

    async def confirm(self, call: ToolCall, item: Item) -> None:
        """Return when the call may go out, as it is and under the contract of `item`.

        Raises:
            NotAllowed: Policy denies it, or a person said no.
            ConfirmationNeeded: Nobody can be asked now; `details` holds `id`, `command` and
                `seconds` of the question that waits.
            InputNeeded: The caller is asked by an `input_required` result.
        """
        policy = self._policy
        decision = decide(policy.rules, policy.otherwise, call.server, item, call.arguments)
        match decision:
            case Allowed():
                pass
            case Denied(rule):
                by = "approval.otherwise" if rule is None else rule.source
                raise NotAllowed(
                    f"policy does not allow this call of {quoted(item.key)}",
                    server=call.server,
                    operator_note=f"denied by {by}",
                )
            case AskFirst(rule, category):
                asked = self._asked(call, item, category)
                await self._ask(call, item, rule or _BY_DEFAULT, asked)
        if call.flow:
            asked = self._asked(call, item, f"flow/{call.flow}")
            await self._ask(call, item, _FLOW, asked)

    async def _ask(self, call: ToolCall, item: Item, rule: ApprovalRule, asked: Asked) -> None:
        """Ask about a call; of the calls of one program about the first of each kind alone."""
        consent, kind = call.requester.consent, asked.kind
        if consent is None:
            await self._ask_first(call, item, rule, asked)
            return
        async with consent.turn(kind):
            if (said := consent.verdict(kind)) is not None:
                if not said:
                    raise _refused(call, "a person said no to calls like this in this program")
                return
            if (left := consent.left(kind)) is not None:
                raise left
            if consent.is_out(kind) and call.retry is None:
                raise CallHeld("a person is asked about another call like this", server=call.server)
            try:
                await self._ask_first(call, item, rule, asked)
            except InputNeeded:
                consent.goes_out(kind)
                raise
            except ConfirmationNeeded as nobody:
                consent.leave(kind, nobody)
                raise

    async def _ask_first(
        self, call: ToolCall, item: Item, rule: ApprovalRule, asked: Asked
    ) -> None:
        remember = rule.remember if may_remember(call.requester) else "call"
        if remember != "call" and await self._grants.stands(asked):
            return
        word = await self._grants.word(asked)
        if word == "yes":
            return
        if word == "no":
            raise _refused(call, "a person said no to this call")
        question = question_of(call, item, rule, topic=asked.call, remember=remember)
        try:
            answer = await self._asking.ask_own(call, question)
        except (CapabilityMissing, UpstreamRefused):
            raise await self._left(call, item, rule, remember, asked) from None
        await self._heed(call, asked, rule, said_in(answer, call, rule, remember))

    async def _heed(self, call: ToolCall, asked: Asked, rule: ApprovalRule, said: Said) -> None:
        if (consent := call.requester.consent) is not None:
            consent.say(asked.kind, yes=said not in {"no", "nothing"})
        match said:
            case "once":
                return
            case "run":
                self._grants.remember_for_run(asked)
            case "principal":
                await self._remember(asked, rule.seconds)
            case "no":
                raise _refused(call, "a person said no to this call")
            case "nothing":
                raise _refused(call, "the question about this call was left unanswered")

    def _asked(self, call: ToolCall, item: Item, category: str) -> Asked:
        owners = self._answers.owners
        tool = (call.server, self._launch(call.server), item.key, item.contract, category)
        try:
            arguments = hashed(canonical(dict(call.arguments)))
        except (TypeError, ValueError):
            raise BadArguments(
                "the arguments hold a value that JSON has not", server=call.server
            ) from None
        return Asked(
            owner=owners.caller(grantee(call.requester)),
            call=owners.digest("call", *tool, arguments),
            kind=owners.digest("kind", *tool),
        )

    async def _remember(self, asked: Asked, seconds: float) -> None:
        """Keep a yes for the principal; until this run ends, where the store cannot be used."""
        try:
            await self._grants.remember(asked, seconds)
        except StoreUnreachable:
            self._grants.remember_for_run(asked)

    async def _left(
        self, call: ToolCall, item: Item, rule: ApprovalRule, remember: Remember, asked: Asked
    ) -> ConfirmationNeeded:
        """Leave the question in the inbox; the error that says so."""
        now = self._clock.now().wall
        principal = call.requester.principal
        waiting = Waiting(
            server=call.server,
            tool=item.key,
            arguments=in_plain_sight(call.arguments),
            caller=_named(principal),
            rule=rule.source,
            remember=remember,
            seconds=rule.seconds,
            asked_at=now,
            expires_at=now + self._inbox.life,
            run=self._grants.run,
            owner=asked.owner,
            call=asked.call,
            kind=asked.kind,
        )
        try:
            await self._inbox.put(principal, waiting)
        except StoreUnreachable as error:
            return ConfirmationNeeded(
                "a person has to approve this call, and nobody can be asked: the host takes no"
                " questions, and none can be kept",
                server=call.server,
                operator_note=error.message,
            )
        except TooBusy as full:
            return ConfirmationNeeded(
                f"a person has to approve this call, and it was not put to them: {full.message};"
                " make the same call again later",
                server=call.server,
                remedy=full.remedy,
            )
        command = f"toolcrib approve {waiting.id}"
        return ConfirmationNeeded(
            f"a person has to approve this call first: `{command}` in a terminal does; then make"
            " the same call again",
            server=call.server,
            remedy=f"run `{command}`",
            details={"id": waiting.id, "command": command, "seconds": self._inbox.life},
        )


def _named(principal: Principal) -> str:
    """Who called, as a person is told."""
    if principal == LOCAL:
        return "local"
    return "anonymous" if principal == ANONYMOUS else principal.subject


def _refused(call: ToolCall, what: str) -> NotAllowed:
    return NotAllowed(f"{what}; do not repeat it unless a person asks for it", server=call.server)
