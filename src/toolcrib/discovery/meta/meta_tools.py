"""The meta-tools of one principal: what they are called, shown as, and answer.

Results are text and nothing else. Hosts differ in what of a result they show a model: the text, the
structured content, or both; of hits in both forms some models would pay twice, and read JSON where
lines are shorter. So no meta-tool has an `outputSchema`; programs ask `ToolSearch` itself.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from toolcrib.calls.call import Requester, Retry
from toolcrib.core.quoting import quoted
from toolcrib.core.snapshot import Item
from toolcrib.discovery.meta.arguments import inner_call
from toolcrib.discovery.meta.definitions import (
    CALL,
    DETAILS,
    SEARCH,
    call_definition,
    details_definition,
    item_of,
    search_definition,
)
from toolcrib.discovery.meta.details import Details
from toolcrib.discovery.meta.seams import ExtraTool, ProgramTool, Surroundings
from toolcrib.discovery.meta.searching import Searching
from toolcrib.discovery.seams import Inner, Shown
from toolcrib.errors import BadArguments, ToolcribBug
from toolcrib.ports import Progress


class MetaTools:
    """Implements `MetaToolSet`.

    Args:
        around: What it works with.
        servers: The tools that enable servers; there only where some are on demand.
        programs: The tools of exposure `code`.
    """

    def __init__(
        self,
        around: Surroundings,
        *,
        servers: Sequence[ExtraTool] = (),
        programs: Sequence[ProgramTool] = (),
    ) -> None:
        self._limits = around.limits
        serving = servers if around.enabling.dynamic else ()
        own = map(
            item_of, (search_definition(self._limits), details_definition(), call_definition())
        )
        self._finding = tuple(own)
        self._serving = tuple(item_of(tool.definition) for tool in serving)
        self._programs = tuple(item_of(tool.definition) for tool in programs)
        self._extra = dict(zip((it.key for it in self._serving), serving, strict=True))
        self._running = dict(zip((it.key for it in self._programs), programs, strict=True))
        self._names = frozenset({SEARCH, DETAILS, CALL, *self._extra, *self._running})
        self._searching = Searching(around)
        self._details = Details(around, self._names)

    def names(self) -> Collection[str]:
        """All names that are meta-tools under this configuration, whatever is shown now."""
        return self._names

    def items(self, exposure: Shown) -> tuple[Item, ...]:
        """What is shown of them, judged like the definitions of servers.

        Always in the same order: finding tools, enabling servers, running programs.
        """
        match exposure:
            case "full" if not self._serving:
                return ()
            case "full" | "search":
                # Of a server that is enabled later nothing is listed, so its tools have to be found
                # and called through these, whatever else is shown.
                return (*self._finding, *self._serving)
            case "code":
                return (*self._finding, *self._serving, *self._programs)

    def definitions(self, exposure: Shown) -> tuple[Mapping[str, Any], ...]:
        """The same as `Tool` objects."""
        return tuple(item.definition for item in self.items(exposure))

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        requester: Requester,
        retry: Retry | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """The result of any of them but `call_tool`; raises what stopped it."""
        if (running := self._running.get(name)) is not None:
            return await running.call(arguments, requester, retry, progress)
        if (extra := self._extra.get(name)) is not None:
            return await extra.call(arguments, requester)
        if name == SEARCH:
            return _result(await self._searching.answer(arguments, requester))
        if name == DETAILS:
            return _result(await self._details.answer(arguments, requester))
        raise ToolcribBug(f"{quoted(name)} is no meta-tool that answers by itself")

    def inner(self, arguments: Mapping[str, Any]) -> Inner:
        """The call that the arguments of `call_tool` are about. Raises `BadArguments`."""
        inner = inner_call(arguments, self._limits)
        if inner.name in self._names:
            what = f"{quoted(inner.name)} is in your own list of tools: call it directly"
            raise BadArguments(f"{what}, not through {CALL}.")
        return inner


def _result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}
