"""The tools of one conversation: what its model is shown, what changed, and its calls.

toolset = await Toolset.begin(exhibits, caller, costs)
mark = toolset.mark
…send toolset.for_anthropic() as `tools`; answer calls with `await toolset.call(…)`…
await toolset.refresh()                     # between two turns
news = toolset.delta(since=mark)            # news.text goes behind the conversation
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, Literal, assert_never

import anyio

from toolcrib.context.asked import AskedNames, asked_arguments
from toolcrib.context.delta import Delta, delta_of
from toolcrib.context.exhibit import Caller, Exhibit, Exhibits, Exposed
from toolcrib.context.forms import Forms
from toolcrib.context.front import Entry, Line, Search, Space
from toolcrib.context.providers import openai_responses
from toolcrib.context.tokens import Costs
from toolcrib.core.exposure import Shown, Wanted
from toolcrib.errors import SchemaChanged, ToolcribError

Policy = Literal["keep", "rewrite"]
"""`keep`: the list goes on, and what changed is told. `rewrite`: a new list, and a new prefix."""

CALL_TOOL: Final = "call_tool"
"""The meta-tool whose calls are calls of the tool that its argument `name` names."""


class Toolset(Forms):
    """What one conversation is shown of all tools, in the form of any provider.

    Inside a conversation nothing that was shown is removed, replaced or moved, so that a prompt
    cache keeps its prefix. The same catalog gives the same bytes, run after run.
    """

    def __init__(
        self,
        exhibits: Exhibits,
        caller: Caller,
        costs: Costs,
        *,
        exposure: Wanted = "auto",
        pin_used: int = 0,
        pinned_tokens: int = 2_000,
    ) -> None:
        """Show nothing yet; `begin` does."""
        super().__init__()
        self._exhibits = exhibits
        self._caller = caller
        self._costs = costs
        self._wanted: Wanted = exposure
        self._pin_used = pin_used
        self._pinned_tokens = self._room = pinned_tokens
        self._uses: dict[str, int] = {}
        self._names = AskedNames({})
        self._last = self._conversation.mark
        self._turn = anyio.Lock()

    @classmethod
    async def begin(
        cls,
        exhibits: Exhibits,
        caller: Caller,
        costs: Costs,
        *,
        exposure: Wanted = "auto",
        pin_used: int = 0,
        pinned_tokens: int = 2_000,
    ) -> "Toolset":
        """A toolset at the start of a conversation.

        Args:
            exhibits: Knows what may be shown.
            caller: Makes the calls.
            costs: Counts tokens; may be shared by conversations.
            exposure: What is shown; `auto` is decided here, once for the conversation.
            pin_used: A deferred tool that was called so many times is shown from the next refresh
                on; 0: none is.
            pinned_tokens: Tokens that tools shown for their use may cost together.
        """
        toolset = cls(
            exhibits,
            caller,
            costs,
            exposure=exposure,
            pin_used=pin_used,
            pinned_tokens=pinned_tokens,
        )
        await toolset.refresh("rewrite")
        toolset._last = toolset._conversation.mark
        return toolset

    # ---- what changed ----

    @property
    def mark(self) -> str:
        """This moment of the conversation, for `delta`."""
        return str(self._conversation.mark)

    @property
    def exposure(self) -> Shown:
        """What was decided for this conversation."""
        return self._exhibit.exposure

    @property
    def tokens(self) -> int:
        """What the definitions that are shown cost, by the counter that was handed in."""
        return self._cost(self._conversation.lines)

    async def refresh(self, policy: Policy = "keep") -> None:
        """Take over what is published now; to be called between turns.

        Args:
            policy: With `keep` new tools are appended, and what is gone or changed stays in the
                prefix as it was: `delta` tells the model. With `rewrite` the list is made anew, as
                at the start, which costs a prefix cache all it holds unless nothing changed; the
                exposure is decided again.
        """
        # One at a time: of two at once, the older content could be taken last.
        async with self._turn:
            if policy == "rewrite":
                exhibit = await self._exhibits.current(self._wanted)
                self._room = self._pinned_tokens
                used = self._fitting(self._used(), {it.name: it for it in exhibit.deferred})
                self._take(exhibit, partial(self._conversation.begin, used=used))
            else:
                exhibit = await self._exhibits.current(self._exhibit.exposure)
                self._take(exhibit, self._conversation.take)
        self.show(*self._used())

    def show(self, *names: str) -> tuple[str, ...]:
        """Append deferred tools to what is shown, while `pinned_tokens` last.

        Returns:
            The names that were appended now.
        """
        conversation = self._conversation
        hidden = {it: conversation.now[it] for it in names if it in conversation.now}
        shown = self._fitting([it for it in hidden if not conversation.is_shown(it)], hidden)
        self._conversation.append(shown)
        return tuple(it.name for it in shown)

    def delta(self, since: str | None = None, *, conversation_tokens: int = 0) -> Delta:
        """What happened since a mark, with a text for the model, which counts as told from now on.

        A tool whose contract changed cannot be called by what the model saw of it until then: such
        a call is refused, and the refusal shows the new schema.

        Args:
            since: A mark of this conversation; None: from the delta before, or the start.
            conversation_tokens: Tokens of what stands behind the definitions in the prompt, which
                a cache loses with them; goes into `cost_of_a_miss`.

        Raises:
            ValueError: `since` is no mark of this conversation.
        """
        conversation = self._conversation
        mark = self._last if since is None else conversation.since(since)
        fresh = conversation.fresh_since(mark)
        found = delta_of(
            conversation,
            mark,
            cost=self._cost(fresh) + conversation_tokens if fresh else 0,
            can_search=bool(self._exhibit.meta),
        )
        for name, change in zip(found.changed_names, found.changed, strict=True):
            if name not in found.unsaid:
                conversation.told(name, change.after)
        self._last = conversation.mark
        return found

    # ---- calls ----

    async def call(
        self, name: str, arguments: Mapping[str, Any] | str | None = None
    ) -> dict[str, Any]:
        """The `CallToolResult` of a call that a model made, for it to read.

        Nothing that a model does wrong raises: it gets a result with `isError` that says what is
        wrong. Arguments that were renamed for a provider are led back, and null for a member that
        may be left out counts as left out where the schema takes no null.

        Args:
            name: As the model wrote it: exposed, or as a provider was told it.
            arguments: As parsed, or the JSON text; None and the empty text: no arguments.
        """
        try:
            exposed, definition = self._names.find(name)
            given = asked_arguments(exposed, definition, arguments)
        except ToolcribError as error:
            return self._caller.refusal(error, name)
        inner = given.get("name") if exposed == CALL_TOOL else exposed
        meant = inner if isinstance(inner, str) else exposed
        self._count(meant)
        try:
            seen = self._conversation.seen(meant)
            return await self._caller.call(exposed, given, seen=seen)
        except SchemaChanged as error:
            self._conversation.informed(meant)
            return self._caller.refusal(error, meant)
        except ToolcribError as error:
            return self._caller.refusal(error, exposed)

    # ---- inside ----

    def _cost(self, entries: Iterable[Entry]) -> int:
        """The tokens of what stands in the prompt."""
        return sum(map(self._cost_of, entries))

    def _cost_of(self, entry: Entry) -> int:
        match entry:
            case Line(name, definition, item):
                if item is None:
                    return self._costs.of_definition(definition, name)
                return self._costs.of(name, item)
            case Space(server, about):
                announced = openai_responses.announced(server, about)
                return self._costs.of_definition({"description": announced}, server)
            case Search():
                return 0  # what a provider's own search costs is not known
            case _:
                assert_never(entry)

    def _count(self, name: str) -> None:
        """Count the use of a tool, called by its name or through `call_tool`."""
        if self._pin_used and name in self._conversation.now:
            self._uses[name] = self._uses.get(name, 0) + 1

    def _used(self) -> list[str]:
        """The tools that were used often enough to be shown."""
        return [name for name, times in self._uses.items() if 0 < self._pin_used <= times]

    def _fitting(self, names: Iterable[str], there: Mapping[str, Exposed]) -> list[Exposed]:
        """Those of the tools that are there, in this order, for which there is room; it shrinks."""
        fitting: list[Exposed] = []
        for found in (there[name] for name in names if name in there):
            cost = self._costs.of(found.name, found.item)
            if cost <= self._room:
                self._room -= cost
                fitting.append(found)
        return fitting

    def _take(self, exhibit: Exhibit, into: Callable[[Exhibit], None]) -> None:
        lists = self._conversation.mark.lists
        into(exhibit)
        if self._conversation.mark.lists != lists:
            self._rendering.forget()
        self._exhibit = exhibit
        known = {line.name: line.definition for line in self._conversation.lines}
        known |= {name: it.item.definition for name, it in self._conversation.now.items()}
        self._names = AskedNames(known)

    def __repr__(self) -> str:
        shown, now = len(self._conversation.lines), len(self._conversation.now)
        return f"<Toolset {self.exposure}: {shown} shown, {now} callable>"
