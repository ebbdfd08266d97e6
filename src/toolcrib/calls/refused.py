"""Verdicts as errors: why a call cannot be made, and what its caller has seen after that."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, assert_never

from toolcrib.calls.call import ToolCall
from toolcrib.calls.results.encoding import NotFinite
from toolcrib.calls.seams import Past, Sights
from toolcrib.core import admit as verdicts
from toolcrib.core import refusal_words
from toolcrib.core.admit import Asked, Refusal, admit
from toolcrib.core.quoting import quoted
from toolcrib.core.snapshot import Item, Snapshot
from toolcrib.errors import (
    BadArguments,
    CatalogTooOld,
    NotAllowed,
    SchemaChanged,
    ToolcribBug,
    ToolcribError,
    ToolGone,
)

Shown = Callable[[str, str], str]
"""(server, original name) -> exposed name."""

Fits = Callable[[Item], bool]
"""Whether the arguments of a call fit a definition."""


class Refusals:
    """Makes refusals for the callers of one principal.

    What a refusal shows counts as seen, so that the corrected call passes.
    """

    def __init__(self, sights: Sights, past: Past, shown: Shown) -> None:
        self._sights = sights
        self._past = past
        self._shown = shown

    async def refused(
        self, call: ToolCall, asked: Asked, snapshot: Snapshot, fits: Fits
    ) -> ToolcribError:
        """The error for what was not admitted, with everything that helps to correct it."""
        if asked.item is None:
            asked = replace(asked, was_there=await self.known_to_have_been(call))
        verdict = admit(self._informed(call, asked, snapshot, fits))
        if isinstance(verdict, verdicts.Go):
            raise ToolcribBug("a refused call was admitted by what is known besides")
        return await self._error(call, verdict, snapshot, verdict.in_words())

    async def turned_down(
        self, call: ToolCall, was: Item, item: Item | None, snapshot: Snapshot, *, why: str
    ) -> ToolcribError:
        """The error for a call that its server refused because the tool is gone, or another now.

        `why` is the first sentence of the text.
        """
        asked = Asked(name=call.name, item=item, seen=was.contract, earlier=was)
        verdict = admit(self._informed(call, asked, snapshot, lambda _: True))
        if isinstance(verdict, verdicts.SchemaChanged):
            text = refusal_words.turned_down(why, verdict.changes, verdict.item)
        else:
            text = f"{why} {_hint(verdict)}".strip()
        if isinstance(verdict, verdicts.Go):
            raise ToolcribBug("an unchanged tool was told as changed")
        return await self._error(call, verdict, snapshot, text)

    async def known_to_have_been(self, call: ToolCall) -> bool:
        """Whether a tool that is not there was: its caller saw it, or a generation had it."""
        if call.seen.contract or self._past.item(call.server, call.key) is not None:
            return True
        seen = await self._sights.contract(call.requester, call.server, call.key)
        return seen is not None

    @staticmethod
    def no_json(call: ToolCall, broken: NotFinite) -> BadArguments:
        """An argument is no JSON value, so that no server could be sent it."""
        fault = {"where": broken.place, "what": "is no number that JSON has"}
        return BadArguments(
            f"the arguments are no JSON: {broken}", server=call.server, details={"faults": [fault]}
        )

    def _informed(self, call: ToolCall, asked: Asked, snapshot: Snapshot, fits: Fits) -> Asked:
        """The question with what is remembered of earlier generations."""
        server, key = call.server, call.key
        if asked.item is None:
            renamed = self._past.successor(server, key)
            if renamed is None or snapshot.get(renamed) is None:
                renamed = ""
            names = self._names(server, snapshot)
            shown = self._shown(server, renamed) if renamed else ""
            return replace(asked, renamed=shown, names=names)
        earlier = self._past.item(server, key, asked.seen or None)
        if earlier is None:
            return asked
        return replace(asked, earlier=earlier, fitted_earlier=fits(earlier))

    def _names(self, server: str, snapshot: Snapshot) -> Iterator[str]:
        return (self._shown(server, item.key) for item in snapshot.items)

    async def _error(
        self, call: ToolCall, verdict: Refusal, snapshot: Snapshot, text: str
    ) -> ToolcribError:
        details = verdict.details()
        match verdict:
            case verdicts.SchemaChanged(item=item):
                await self._saw(call, item)
                return SchemaChanged(text, server=call.server, details=details)
            case verdicts.BadArguments(item=item):
                await self._saw(call, item)
                return BadArguments(text, server=call.server, details=details)
            case verdicts.ToolGone(renamed=renamed):
                if renamed:
                    shown, text = await self._successor(call, snapshot, text)
                    details |= shown
                return ToolGone(text, server=call.server, details=details)
            case verdicts.TooOld():
                return CatalogTooOld(text, server=call.server, details=details)
            case verdicts.NotAllowed():
                return NotAllowed(text, server=call.server, details=details)
            case _:
                assert_never(verdict)

    async def _successor(
        self, call: ToolCall, snapshot: Snapshot, text: str
    ) -> tuple[dict[str, Any], str]:
        """What is shown of the tool that a missing one seems to be now."""
        key = self._past.successor(call.server, call.key) or ""
        item = snapshot.get(key)
        if item is None:
            return {}, text
        name = self._shown(call.server, key)
        await self._saw(call, item)
        changes = [f"{quoted(call.name)} is now {quoted(name)}, it seems"]
        schema = item.definition.get("inputSchema")
        shown = {"changes": changes, "contract": item.contract, "inputSchema": schema}
        return shown, refusal_words.turned_down(text, (), item)

    async def _saw(self, call: ToolCall, item: Item) -> None:
        await self._sights.saw(call.requester, call.server, (item,))


def _hint(verdict: verdicts.Verdict) -> str:
    """What may be meant instead of a tool that is gone."""
    if not isinstance(verdict, verdicts.ToolGone):
        return ""
    if verdict.renamed:
        return f"It seems to be {quoted(verdict.renamed)} now, with the same parameters."
    names = ", ".join(map(quoted, verdict.near))
    return f"Similar names: {names}." if names else "List the tools anew."
