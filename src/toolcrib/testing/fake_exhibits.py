"""Tools to show and to call without any server: for what is built on `Toolset`."""

from collections.abc import Mapping
from typing import Any, Final

from toolcrib.calls.results.refusal import refusal
from toolcrib.context.exhibit import Exhibit, Exposed
from toolcrib.core.exposure import Shown, Wanted
from toolcrib.core.naming import expose
from toolcrib.core.quarantine import judge
from toolcrib.core.snapshot import Item, Kind
from toolcrib.errors import SchemaChanged, ToolcribError, ToolGone

META: Final[tuple[Mapping[str, Any], ...]] = tuple(
    {
        "name": name,
        "description": words,
        "inputSchema": {"type": "object", "properties": {it: {"type": "string"} for it in members}},
    }
    for name, words, members in (
        ("search_tools", "Find tools.", ("query",)),
        ("get_tool_details", "Show definitions.", ("names",)),
        ("call_tool", "Call a tool that is not shown.", ("name", "args")),
    )
)
"""Stand-ins for meta-tools."""


def item_of(definition: Mapping[str, Any]) -> Item:
    """A usable definition; without an input schema it takes no arguments."""
    verdict = judge(Kind.TOOLS, {"inputSchema": {"type": "object"}, **definition}).verdict
    if not isinstance(verdict, Item):
        raise TypeError(f"this definition is not usable: {verdict.detail}")
    return verdict


class FakeExhibits:
    """Implements `Exhibits` and `Caller` over definitions that a test changes.

    Args:
        exposure: What `auto` is decided as.
        pinned: Exposed names that are visible where not all are.
        servers: Definitions by server id.
    """

    def __init__(
        self,
        exposure: Shown = "full",
        *,
        pinned: tuple[str, ...] = (),
        **servers: list[dict[str, Any]],
    ) -> None:
        self.exposure: Shown = exposure
        self.pinned = pinned
        self.servers = dict(servers)
        self.calls: list[tuple[str, dict[str, Any], str]] = []
        """Name, arguments and contract seen of every call, whatever became of it."""
        self.asked: list[Wanted] = []

    async def current(self, exposure: Wanted) -> Exhibit:
        """What may be shown now."""
        self.asked.append(exposure)
        decided: Shown = self.exposure if exposure == "auto" else exposure
        tools = self.tools()
        if decided == "full":
            return Exhibit("full", tuple(tools.values()))
        visible = tuple(it for it in tools.values() if it.name in self.pinned)
        deferred = tuple(it for it in tools.values() if it.name not in self.pinned)
        about = {server: f"About {server}" for server in self.servers}
        return Exhibit(decided, visible, deferred, META, about=about)

    def tools(self) -> dict[str, Exposed]:
        """All tools by exposed name, in the order of (server id, original name)."""
        found: dict[str, Exposed] = {}
        for server in sorted(self.servers):
            for definition in sorted(self.servers[server], key=lambda it: str(it["name"])):
                name = expose(server, str(definition["name"]))
                found[name] = Exposed(name, server, item_of(definition))
        return found

    async def call(self, name: str, arguments: dict[str, Any], *, seen: str) -> dict[str, Any]:
        """What was called, as text. Raises as calls of `Crib` do."""
        self.calls.append((name, arguments, seen))
        found = self.tools().get(name)
        if found is None and name not in {it["name"] for it in META}:
            raise ToolGone(f"there is no {name} any more")
        if found is not None and seen and seen != found.item.contract:
            schema = found.item.definition["inputSchema"]
            raise SchemaChanged(f"{name} has changed", details={"inputSchema": schema})
        return {"content": [{"type": "text", "text": f"{name} ran"}]}

    def refusal(self, error: ToolcribError, name: str) -> dict[str, Any]:
        """The result that tells a model of an error."""
        return refusal(error, name)
