"""Small MCP servers, which the pages on discovery and code mode use: `servers.py shop` is one.

The first argument names it; it speaks on standard streams. `goods.toml` and `tickets.json` beside
this file start them all.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
Answer = Callable[[Mapping[str, Any]], str | dict[str, Any]]
"""Takes the arguments; gives a text, or an object that is the structured content."""


class Refused(Exception):
    """What a tool cannot do; its text is what the caller reads."""


@dataclass(frozen=True)
class ExampleTool:
    """A definition, and what answers a call of it."""

    name: str
    does: str
    arguments: Mapping[str, Any]
    answer: Answer
    optional: tuple[str, ...] = ()
    result: Mapping[str, Any] | None = None

    @property
    def definition(self) -> dict[str, Any]:
        """As it is listed."""
        schema = {
            "type": "object",
            "properties": dict(self.arguments),
            "required": [it for it in self.arguments if it not in self.optional],
        }
        made = {"name": self.name, "description": self.does, "inputSchema": schema}
        return made if self.result is None else {**made, "outputSchema": dict(self.result)}


def called(tool: ExampleTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The result of one call, as `CallToolResult`."""
    try:
        given = tool.answer(arguments)
    except Refused as refused:
        return {"content": [{"type": "text", "text": str(refused)}], "isError": True}
    if isinstance(given, str):
        return {"content": [{"type": "text", "text": given}]}
    return {"content": [{"type": "text", "text": json.dumps(given)}], "structuredContent": given}


@dataclass
class Desk:
    """The tickets of one tracker."""

    tickets: list[str] = field(default_factory=list[str])

    def create(self, given: Mapping[str, Any]) -> str:
        """Make one more ticket."""
        self.tickets.append(given["title"])
        return f"Ticket {len(self.tickets)} was made."

    def close(self, given: Mapping[str, Any]) -> str:
        """Close one of those that were made."""
        if not 0 < given["id"] <= len(self.tickets):
            raise Refused(f"There is no ticket {given['id']}.")
        return f"Ticket {given['id']} is closed."


def on_call(given: Mapping[str, Any]) -> str:
    """Ada on odd days, Bo on even ones."""
    return "Ada" if int(given["day"][-1]) % 2 else "Bo"


def entries(_: Mapping[str, Any]) -> dict[str, Any]:
    """2,000 entries, of which each eighth is an error, of eight kinds."""
    fine = {"level": "info", "message": "fine"}
    return {
        "entries": [{"at": str(n), **(fine if n % 8 else mishap(n // 8 % 8))} for n in range(2_000)]
    }


def mishap(number: int) -> dict[str, str]:
    """An error of one kind."""
    return {"level": "error", "message": f"mishap {number}"}


ENTRY = {
    "type": "object",
    "properties": dict.fromkeys(("at", "level", "message"), STRING),
    "required": ["at", "level", "message"],
}
LOG = {
    "type": "object",
    "properties": {"entries": {"type": "array", "items": ENTRY}},
    "required": ["entries"],
}
CITY = {**STRING, "description": "The city that the deliveries go to."}


def tools_of(server: str) -> list[ExampleTool]:
    """The tools of a server as it starts; KeyError for one that is not here."""
    desk = Desk()
    return {
        "logs": [
            ExampleTool(
                "read_entries", "Reads the log of a day.", {"day": STRING}, entries, (), LOG
            )
        ],
        "tracker": [
            ExampleTool(
                "create_ticket", "Makes a ticket.", {"title": STRING, "body": STRING}, desk.create
            ),
            ExampleTool("on_call", "Tells who is on call that day.", {"day": STRING}, on_call),
            ExampleTool("close-ticket", "Closes a ticket.", {"id": INTEGER}, desk.close),
        ],
        "shop": [
            ExampleTool(
                "late_deliveries",
                "Lists deliveries that are late, by the city they go to.",
                {"city": CITY, "days": INTEGER},
                lambda it: f"Two deliveries to {it['city']} are late.",
                ("days",),
            ),
            ExampleTool(
                "create_order",
                "Orders goods from a supplier.",
                {"item": STRING},
                lambda it: f"{it['item']} was ordered.",
            ),
            ExampleTool(
                "cancel_order",
                "Cancels an order that was not sent.",
                {"id": STRING},
                lambda it: f"Order {it['id']} was cancelled.",
            ),
        ],
        "mail": [
            ExampleTool(
                "send_message",
                "Sends an email.",
                {"to": STRING, "text": STRING},
                lambda it: f"It was sent to {it['to']}.",
                ("text",),
            ),
            ExampleTool(
                "search_messages",
                "Finds emails by words in them.",
                {"words": STRING},
                lambda it: f"No email has {it['words']!r} in it.",
            ),
        ],
        "warehouse": [
            ExampleTool(
                "stock",
                "Tells how much of an item is there.",
                {"item": STRING},
                lambda it: f"There are 12 of {it['item']}.",
            )
        ],
    }[server]


async def main(server: str) -> None:
    """Serve until the host hangs up."""
    tools = {it.name: it for it in tools_of(server)}

    async def listed(*_: object) -> mcp_types.ListToolsResult:
        definitions = [mcp_types.Tool.model_validate(it.definition) for it in tools.values()]
        return mcp_types.ListToolsResult(tools=definitions)

    async def answer(_: object, asked: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        result = called(tools[asked.name], asked.arguments or {})
        return mcp_types.CallToolResult.model_validate(result)

    served = Server(server, on_list_tools=listed, on_call_tool=answer)
    async with stdio_server() as (reading, writing):
        await served.run(reading, writing, served.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
