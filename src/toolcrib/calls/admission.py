"""Whether a call may go out, decided from what is published now (DESIGN sections 5 and 6).

A call is refused for four reasons: its tool is not there any more, its contract is not the one that
the caller saw, its arguments do not fit, or nothing can be relied on. Before any of them is said, a
catalog that is not current gets one refresh. A newer generation, a changed description or an
unknown digest never refuse anything.
"""

from dataclasses import dataclass
from typing import Final

from toolcrib.calls.approval.unapproved import awaits_approval
from toolcrib.calls.call import ToolCall
from toolcrib.calls.refused import Refusals
from toolcrib.calls.results.encoding import NotFinite, encode
from toolcrib.calls.seams import Sights
from toolcrib.calls.tasks import check_no_task
from toolcrib.catalog.absence import reason
from toolcrib.catalog.access import CatalogAccess
from toolcrib.catalog.reading import Reading
from toolcrib.core.admit import Asked, Go, admit
from toolcrib.core.quoting import quoted
from toolcrib.core.snapshot import Item, Kind
from toolcrib.errors import BadArguments, LimitExceeded, NotAllowed, RefreshFailed, ToolGone
from toolcrib.facts import Finding
from toolcrib.ports import Observer, SchemaChecker, SchemaFault, Unchecked
from toolcrib.settings import Limits

TOOLS: Final = Kind.TOOLS

STANDS: Final = 1.0
"""Seconds in which an admission need not be repeated while its catalog stays the same."""

REMEMBERED: Final = 4_096
"""Contracts that were reported as unchecked."""


@dataclass(frozen=True, slots=True, eq=False)
class Admitted:
    """A call that may go out, and what it was admitted with."""

    item: Item
    reading: Reading


class Admission:
    """Admits the calls of one principal.

    Args:
        access: The catalogs of the principal.
        checker: Checks arguments.
        sights: What its callers were shown.
        refusals: Makes the errors.
        limits: Of arguments.
        observer: Hears of what could not be checked.
    """

    def __init__(
        self,
        access: CatalogAccess,
        *,
        checker: SchemaChecker,
        sights: Sights,
        refusals: Refusals,
        limits: Limits,
        observer: Observer,
    ) -> None:
        self._access = access
        self._checker = checker
        self._sights = sights
        self._refusals = refusals
        self._limits = limits
        self._observer = observer
        self._unchecked: dict[str, None] = {}

    async def admit(self, call: ToolCall) -> Admitted:
        """What the call goes out with.

        Raises:
            SchemaChanged, ToolGone, BadArguments: See there; the details hold the new schema.
            ConfirmationNeeded: A person has to see the tool's definition first.
            CatalogTooOld, RefreshFailed, NotAllowed: There is no catalog to admit from.
            LimitExceeded: `argument_bytes`.
            NotAllowed: The tool runs only as a task.
        """
        self._check_size(call)
        if call.server not in self._access.server_ids():
            any_more = " any more" if await self._refusals.known_to_have_been(call) else ""
            told = f"there is no server {quoted(call.server)}{any_more}"
            raise ToolGone(told, server=call.server)
        reading = await self._access.read_one(call.server, TOOLS)
        asked = await self._asked(call, reading)
        if isinstance(verdict := admit(asked), Go):
            return self._go(call, verdict, reading)
        if not reading.current:
            renewed = await self._access.renewed(call.server, TOOLS)
            if renewed.snapshot is not None:
                reading = renewed
                asked = await self._asked(call, reading)
                if isinstance(verdict := admit(asked), Go):
                    return self._go(call, verdict, reading)
        if reading.snapshot is None:
            raise unavailable(reading, self._access)
        if (waits := awaits_approval(call.server, call.key, reading.snapshot)) is not None:
            raise waits
        raise await self._refusals.refused(
            call, asked, reading.snapshot, lambda item: self._fits(call, item)
        )

    def still_holds(self, call: ToolCall, admitted: Admitted) -> bool:
        """Whether the catalog is the one that a call was just admitted from, and still stands.

        A wait for a person may outlast several generations.
        """
        if call.server not in self._access.server_ids():
            return False
        held = self._access.peek(call.server, TOOLS)
        was = admitted.reading
        aged = (held.age or 0.0) - (was.age or 0.0)
        same = held.snapshot is was.snapshot and held.invalidated == was.invalidated
        return same and aged < STANDS

    async def _asked(self, call: ToolCall, reading: Reading) -> Asked:
        """What the catalog, the ledger and the checker say."""
        item = self._item(call, reading)
        if item is None:
            return Asked(name=call.name, item=None)
        seen = call.seen.contract or await self._seen(call, item)
        found = self._check(call, item)
        if isinstance(found, Unchecked):
            return Asked(name=call.name, item=item, seen=seen, unchecked=found.reason)
        return Asked(name=call.name, item=item, seen=seen, faults=found)

    def _go(self, call: ToolCall, verdict: Go, reading: Reading) -> Admitted:
        check_no_task(call, verdict.item)
        if verdict.unchecked:
            self.note_unchecked(call, verdict.item, "inputSchema", verdict.unchecked)
        return Admitted(verdict.item, reading)

    def _item(self, call: ToolCall, reading: Reading) -> Item | None:
        """The tool as published; also as the other one of two disagreeing replicas lists it."""
        item = None if reading.snapshot is None else reading.snapshot.get(call.key)
        if item is None and (other := self._access.held_back(TOOLS).get(call.server)):
            item = other.get(call.key)
        return item

    async def _seen(self, call: ToolCall, item: Item) -> str:
        now = item.contract
        return await self._sights.contract(call.requester, call.server, call.key, now=now) or ""

    def _check(self, call: ToolCall, item: Item) -> tuple[SchemaFault, ...] | Unchecked:
        schema = item.definition.get("inputSchema")
        return self._checker.check(schema, call.arguments, mark=item.contract)

    def _fits(self, call: ToolCall, item: Item) -> bool:
        return self._check(call, item) == ()

    def note_unchecked(self, call: ToolCall, item: Item, member: str, reason: str) -> None:
        """Reports a schema that could not be used, once: the other side decides then."""
        mark = f"{item.contract}/{member}"
        if mark in self._unchecked:
            return
        if len(self._unchecked) >= REMEMBERED:
            self._unchecked.clear()
        self._unchecked[mark] = None
        detail = f"{member} of {quoted(call.key)} is not checked: {reason}"
        self._observer.note(Finding(call.server, "schema_unchecked", detail))

    def _check_size(self, call: ToolCall) -> None:
        try:
            size = len(encode(call.arguments))
        except NotFinite as broken:
            raise self._refusals.no_json(call, broken) from None
        except RecursionError:
            raise BadArguments(
                "the arguments are nested deeper than any tool takes, so the call was not sent",
                server=call.server,
            ) from None
        if size > (limit := self._limits.argument_bytes):
            raise LimitExceeded(
                f"the arguments have {size} bytes, more than argument_bytes allows ({limit})",
                server=call.server,
            )


def unavailable(reading: Reading, access: CatalogAccess) -> NotAllowed | RefreshFailed:
    """Why no catalog of a server can be admitted from."""
    server = reading.server
    held_back = reading.withdrawn or reading.age is not None
    why = f": {reading.trouble if held_back else reason(reading, access)}"
    if reading.withdrawn:
        return NotAllowed(
            f"what {quoted(server)} offers may not be used any more{why}", server=server
        )
    return RefreshFailed(f"the catalog of {quoted(server)} is not available{why}", server=server)
