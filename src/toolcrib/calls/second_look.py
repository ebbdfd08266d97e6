"""What a server's complaint about a call comes down to, once its catalog was looked at again.

"Unknown tool" or "invalid params" for a tool that we hold may mean that the tool is gone, that its
contract is another one, that the right to it is gone, or that the arguments are wrong whatever the
schema says. One refresh tells these apart; where nothing announced the change that it brings, the
server changed silently.
"""

from typing import Final

from toolcrib.calls.admission import TOOLS, Admitted
from toolcrib.calls.call import ToolCall
from toolcrib.calls.refused import Refusals
from toolcrib.calls.telling import Complaint
from toolcrib.catalog.access import CatalogAccess
from toolcrib.catalog.reading import Reading
from toolcrib.core.quoting import clipped, enumerated, quoted
from toolcrib.core.snapshot import Item, Snapshot
from toolcrib.errors import (
    BadArguments,
    ChangedSilently,
    NotAllowed,
    RefreshFailed,
    ToolcribError,
)
from toolcrib.facts import Finding
from toolcrib.ports import Observer

_SAID: Final = 600
"""Characters that are quoted of what a server said."""


class SecondLook:
    """Looks again at the catalogs of one principal, at most once per `min_interval` each."""

    def __init__(self, access: CatalogAccess, refusals: Refusals, observer: Observer) -> None:
        self._access = access
        self._refusals = refusals
        self._observer = observer

    async def verdict(
        self, call: ToolCall, admitted: Admitted, complaint: Complaint, said: str
    ) -> ToolcribError | None:
        """What the complaint comes down to; None: what the server said stands as it is.

        Args:
            call: The call that was sent.
            admitted: What it went out with.
            complaint: What the server found wrong.
            said: In its own words.
        """
        reading = await self._again(call, why=f"its answer to a call of {call.key}: {said}")
        if reading is None or reading.withdrawn:
            return NotAllowed(
                f"the tools of {quoted(call.server)} may not be used any more: "
                f"{clipped(said, _SAID)}",
                server=call.server,
            )
        if reading.snapshot is None or not reading.current:
            return self._unrefreshed(call, reading, said)
        item = reading.snapshot.get(call.key)
        silent = complaint is not Complaint.OUTDATED and _silent(admitted, reading)
        if item is None or item.contract != admitted.item.contract:
            return await self._other(call, admitted.item, item, reading.snapshot, silent=silent)
        return self._unchanged(call, complaint, said)

    async def newer(self, call: ToolCall, admitted: Admitted) -> Item | None:
        """The tool under another contract than it was called with, if a refresh brings one."""
        reading = await self._again(call, why=f"its result of {call.key} does not fit")
        snapshot = None if reading is None or not reading.current else reading.snapshot
        item = None if snapshot is None else snapshot.get(call.key)
        return None if item is None or item.contract == admitted.item.contract else item

    async def _again(self, call: ToolCall, *, why: str) -> Reading | None:
        """The refreshed catalog; None when the server was taken out of the configuration."""
        if call.server not in self._access.server_ids():
            return None
        self._access.invalidate(call.server, TOOLS, why=clipped(why, _SAID))
        return await self._access.renewed(call.server, TOOLS)

    def _unrefreshed(self, call: ToolCall, reading: Reading, said: str) -> RefreshFailed:
        return RefreshFailed(
            f"{quoted(call.server)} refused the call ({clipped(said, _SAID)}), and whether "
            f"{quoted(call.name)} changed is not known, because its catalog could not be refreshed",
            server=call.server,
            operator_note=reading.trouble or None,
        )

    async def _other(
        self, call: ToolCall, was: Item, item: Item | None, snapshot: Snapshot, *, silent: bool
    ) -> ToolcribError:
        """The tool is gone, or another now; where nothing announced it, that is said, too."""
        what = "there is none any more" if item is None else "it changed"
        told = ", and it had not told of that" if silent else ""
        why = (
            f"{quoted(call.server)} turned the call of {quoted(call.name)} down, because "
            f"{what}{told}."
        )
        error = await self._refusals.turned_down(call, was, item, snapshot, why=why)
        return self._silently(call, error) if silent else error

    def _silently(self, call: ToolCall, error: ToolcribError) -> ChangedSilently:
        """The same, of a server that had not told; its operator hears of it, too."""
        changes = error.details.get("changes", ())
        detail = f"{quoted(call.key)} ({error.code}): {enumerated(changes, 500)}"
        self._observer.note(Finding(call.server, ChangedSilently.code, detail))
        return ChangedSilently(
            error.message,
            server=call.server,
            remedy="let the server send list_changed, or set its strategy to `always`",
            details={"cause": error.code, **error.details},
        )

    def _unchanged(self, call: ToolCall, complaint: Complaint, said: str) -> ToolcribError | None:
        match complaint:
            case Complaint.ARGUMENTS:
                return BadArguments(clipped(said, 2_000), server=call.server)
            case Complaint.RIGHT:
                return NotAllowed(clipped(said, 2_000), server=call.server)
            case Complaint.OUTDATED:
                # It refused something that its listing does not show: its own words stand.
                return None
            case Complaint.TOOL:
                detail = f"it lists {quoted(call.key)} and says that there is no such tool"
                self._observer.note(Finding(call.server, "listed_tool_denied", detail))
                return None


def _silent(admitted: Admitted, reading: Reading) -> bool:
    """Whether nothing had announced a change when the call went out, nor since."""
    return not admitted.reading.invalidated and reading.signals == admitted.reading.signals
