"""What the pipeline asks of the other parts of this room, as small Protocols.

Each has one implementation, which `crib` hands in; tests may hand in their own.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from toolcrib.calls.call import Requester, ToolCall
from toolcrib.core.snapshot import Item
from toolcrib.ports import RequestContext


class Sights(Protocol):
    """What callers were shown, each its own (`calls.ledger.ledger.Ledger`)."""

    async def contract(
        self, requester: Requester, server: str, key: str, *, now: str = ""
    ) -> str | None:
        """The contract of a tool as this caller saw it last; None: not known to have seen it.

        `now` is the contract that holds now: only where memory contradicts it is a store asked.
        """
        ...

    async def saw(self, requester: Requester, server: str, items: Iterable[Item]) -> None:
        """It was shown these definitions: details, or a refusal that holds the new schema."""
        ...


class Past(Protocol):
    """What recent generations held (`calls.ledger.history.History`)."""

    def item(self, server: str, key: str, contract: str | None = None) -> Item | None:
        """The earlier definition with this contract, or the newest earlier one; None: forgotten."""
        ...

    def successor(self, server: str, key: str) -> str | None:
        """The name that a removed tool seems to have now (a guess); None: no guess."""
        ...


class Approving(Protocol):
    """Asks a person, where policy wants that (`calls.approval.approval`)."""

    async def confirm(self, call: ToolCall, item: Item) -> None:
        """Return when the call may go out as it is.

        Raises:
            NotAllowed: Policy denies it, or the person said no.
            ConfirmationNeeded: Nobody can be asked now; the question waits.
            InputNeeded: The caller is asked by the result that the error holds.
        """
        ...


class Sending(Protocol):
    """Sends an admitted call, and has what its server asks meanwhile answered (`calls.rounds`)."""

    def continues(self, call: ToolCall) -> bool:
        """Whether a retry goes on with a call that is open at its server: nothing is sent anew."""
        ...

    async def send(
        self, call: ToolCall, item: Item, params: Mapping[str, Any], context: RequestContext
    ) -> dict[str, Any]:
        """The server's final result as received, or an `input_required` result of ours.

        Raises as `CatalogAccess.request` does, and `CapabilityMissing` where the caller cannot be
        asked what the server has to know.
        """
        ...
