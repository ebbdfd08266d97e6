"""The life of one call: admit, confirm, admit again, forward, answer (DESIGN section 6)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, assert_never

import anyio

from toolcrib.calls.admission import TOOLS, Admission, Admitted
from toolcrib.calls.call import ToolCall
from toolcrib.calls.peers import outdated, seen_of
from toolcrib.calls.refused import Refusals, Shown
from toolcrib.calls.results.results import INPUT_REQUIRED, finished, output_faults, output_invalid
from toolcrib.calls.rounds.own_questions import InputNeeded
from toolcrib.calls.seams import Approving, Past, Sending, Sights
from toolcrib.calls.second_look import SecondLook
from toolcrib.calls.telling import UNEXECUTED, Complaint, complaint_in, complaint_of
from toolcrib.catalog.access import CatalogAccess
from toolcrib.core.diff import diff
from toolcrib.core.jsontypes import is_object
from toolcrib.errors import (
    AuthRequired,
    ChangedSilently,
    NotAllowed,
    RequestTimedOut,
    SchemaChanged,
    ToolcribError,
    ToolGone,
    UpstreamRefused,
)
from toolcrib.facts import CallFailed, CallRefused
from toolcrib.ports import Observer, RequestContext, SchemaChecker, Unchecked
from toolcrib.protocol.envelope import OWN_PREFIX, SEEN_KEY
from toolcrib.protocol.laundering import RpcError, ToolErrorResult, launder
from toolcrib.settings import Limits

CHANGES_KEY: Final = f"{OWN_PREFIX}changes"
"""In `_meta` of a result: how the tools of its server changed while the call was under way, in
sentences."""

AFTERTHOUGHT: Final = 1.0
"""Seconds that a result is held back, at most, for the refresh of what changed meanwhile."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the calls of one principal are made with; see the seams."""

    access: CatalogAccess
    checker: SchemaChecker
    sights: Sights
    past: Past
    approving: Approving
    sending: Sending
    shown: Shown
    """(server, original name) -> exposed name."""
    limits: Limits
    observer: Observer


class Pipeline:
    """Takes the calls of one principal to its servers and their results back.

    A call is sent at most once, unless the server proves that it turned it away unexecuted. Calls
    under way when a newer catalog is published finish on what they were admitted with.
    """

    def __init__(self, around: Surroundings) -> None:
        self._access = around.access
        self._checker = around.checker
        self._approving = around.approving
        self._sending = around.sending
        self._limits = around.limits
        self._observer = around.observer
        self._past = around.past
        refusals = Refusals(around.sights, around.past, around.shown)
        self._second_look = SecondLook(around.access, refusals, around.observer)
        self._admission = Admission(
            around.access,
            checker=around.checker,
            sights=around.sights,
            refusals=refusals,
            limits=around.limits,
            observer=around.observer,
        )

    async def call(self, call: ToolCall) -> dict[str, Any]:
        """The result of a call: the server's own, or one that asks for input.

        `_meta` holds `dev.toolcrib/changes` where the server's tools changed meanwhile.

        Raises:
            SchemaChanged, ToolGone, BadArguments, NotAllowed, ConfirmationNeeded: Nothing was sent,
                or the server turned it away for that reason.
            ChangedSilently: The same, of a server that had not told of the change.
            CapabilityMissing: The caller cannot be asked what the server has to know.
            ResultInvalid: The tool ran, and its result is broken.
            ToolcribError: Whatever else stopped it; see `errors`.
        """
        try:
            admitted = await self._cleared(call)
        except InputNeeded as asking:
            return dict(asking.result)
        except ToolcribError as error:
            self._observer.note(CallRefused(call.server, call.key, error.code))
            raise
        try:
            return await self._forwarded(call, admitted)
        except InputNeeded as asking:
            return dict(asking.result)
        except ToolcribError as error:
            self._observer.note(CallFailed(call.server, call.key, error.code))
            raise

    # ---- before it is sent ----

    async def _cleared(self, call: ToolCall) -> Admitted:
        """The call may go out: as published now, and with the consent that it takes."""
        if call.retry is not None and self._sending.continues(call):
            return self._under_way(call)
        admitted = await self._admission.admit(call)
        await self._approving.confirm(call, admitted.item)
        if self._admission.still_holds(call, admitted):
            return admitted
        again = await self._admission.admit(call)
        if again.item.contract != admitted.item.contract:
            # What was consented to is not what would be sent now.
            await self._approving.confirm(call, again.item)
        return again

    def _under_way(self, call: ToolCall) -> Admitted:
        """A call that is open at its server goes on with what it was admitted with."""
        if call.server not in self._access.server_ids():
            raise ToolGone(f"there is no server {call.server!r} any more", server=call.server)
        reading = self._access.peek(call.server, TOOLS)
        item = None if reading.snapshot is None else reading.snapshot.get(call.key)
        item = item or self._past.item(call.server, call.key)
        if item is None:
            raise ToolGone(f"the tool {call.name!r} is not remembered any more", server=call.server)
        return Admitted(item, reading)

    # ---- sent ----

    async def _forwarded(self, call: ToolCall, admitted: Admitted) -> dict[str, Any]:
        try:
            result = await self._sent(call, admitted)
        except UpstreamRefused as refused:
            if refused.rpc_code not in UNEXECUTED:
                raise await self._told_apart(call, admitted, refused) from None
            # Turned away at the door: headers or revision were those of an older catalog.
            self._access.invalidate(call.server, TOOLS, why="it did not accept our headers")
            await self._access.renewed(call.server, TOOLS)
            again = await self._admission.admit(call)
            if again.item.contract != admitted.item.contract:
                await self._approving.confirm(call, again.item)
            admitted = again
            try:
                result = await self._sent(call, admitted)
            except UpstreamRefused as twice:
                raise await self._told_apart(call, admitted, twice) from None
        except AuthRequired:
            self._access.invalidate(call.server, TOOLS, why="it wants other credentials")
            raise
        except RequestTimedOut as late:
            late.message = f"{late.message}; it may have acted on the call all the same"
            raise
        if result.get("resultType") == INPUT_REQUIRED:
            return result
        return await self._answered(call, admitted, result)

    async def _sent(self, call: ToolCall, admitted: Admitted) -> dict[str, Any]:
        item = admitted.item
        params: dict[str, Any] = {"name": call.key}
        if not call.bare:
            params["arguments"] = dict(call.arguments)
        seen = seen_of(admitted)
        if meta := {**call.meta, **({SEEN_KEY: seen} if seen else {})}:
            params["_meta"] = meta
        requester = call.requester
        context = RequestContext(
            capabilities=requester.capabilities,
            input_schema=item.definition.get("inputSchema"),
            ask=requester.ask,
            heard=requester.heard,
            log_level=requester.log_level,
        )
        if call.sent is not None:
            call.sent()
        return await self._sending.send(call, item, params, context)

    async def _told_apart(
        self, call: ToolCall, admitted: Admitted, refused: UpstreamRefused
    ) -> ToolcribError:
        """What a JSON-RPC error of the server comes down to."""
        said = _in_our_words(call, refused)
        complaint = complaint_of(refused, call.key)
        verdict = None
        if complaint is not None:
            verdict = await self._second_look.verdict(call, admitted, complaint, said)
        return verdict or UpstreamRefused(said, rpc_code=refused.rpc_code, server=call.server)

    # ---- answered ----

    async def _answered(
        self, call: ToolCall, admitted: Admitted, result: Mapping[str, Any]
    ) -> dict[str, Any]:
        answer = finished(call.server, result, self._limits.result_bytes)
        outdates = outdated(admitted.item, answer)
        complaint = Complaint.OUTDATED if outdates else complaint_in(answer, call.key)
        if complaint is not None:
            said = outdates or answer["content"][0]["text"]
            verdict = await self._second_look.verdict(call, admitted, complaint, said)
            if isinstance(verdict, ToolGone | SchemaChanged | ChangedSilently | NotAllowed):
                raise verdict
        await self._check_output(call, admitted, answer)
        await self._add_changes(call, admitted, answer)
        return answer

    async def _check_output(
        self, call: ToolCall, admitted: Admitted, answer: Mapping[str, Any]
    ) -> None:
        """Holds a result to the output schema of its tool.

        A server that was replaced in mid-call may keep the promise of its newer schema.
        """
        faults = output_faults(self._checker, admitted.item, answer)
        if isinstance(faults, Unchecked):
            self._admission.note_unchecked(call, admitted.item, "outputSchema", faults.reason)
            return
        if not faults:
            return
        newer = await self._second_look.newer(call, admitted)
        if newer is None or output_faults(self._checker, newer, answer):
            raise output_invalid(call.server, call.key, faults)

    async def _add_changes(
        self, call: ToolCall, admitted: Admitted, answer: dict[str, Any]
    ) -> None:
        """Tells with the result what the call, or somebody meanwhile, changed."""
        if call.server not in self._access.server_ids():
            return
        held = self._access.peek(call.server, TOOLS)
        if held.signals != admitted.reading.signals and held.invalidated:
            with anyio.move_on_after(AFTERTHOUGHT):
                held = await self._access.renewed(call.server, TOOLS)
        before, after = admitted.reading.snapshot, held.snapshot
        if before is None or after is None or before.digest == after.digest:
            return
        meta = answer.get("_meta")
        changes = list(diff(before, after).in_words())
        answer["_meta"] = {**(meta if is_object(meta) else {}), CHANGES_KEY: changes}


def _in_our_words(call: ToolCall, refused: UpstreamRefused) -> str:
    laundered = launder(refused.rpc_code, refused.message, refused.data, server=call.server)
    match laundered:
        case ToolErrorResult(text):
            return text
        case RpcError(_, message):
            return message
        case _:
            assert_never(laundered)
