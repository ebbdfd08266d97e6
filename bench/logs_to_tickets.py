"""One task done by direct calls and by a program, counted in tokens; and tasks too short for one.

2,000 log entries are on one server; on another a ticket is to be made for each distinct error. A
model that calls tools directly reads the whole log and makes all tickets in one turn. One that has
`run_code` finds the two tools, reads their definitions, and writes a program; it reads one line.
Every definition and result is what the gateway really answers; the model, its sentences and its
programs are made up. Tokens are o200k, exact.
"""

import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from conversation import Model
from prompt_cache import PromptCache
from toolcrib.adapters.quicktok_counter import QuicktokCounter
from toolcrib.settings import Exposure, GatewaySettings
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway

ENTRIES = 2_000
ERRORS = (
    "payment gateway timed out",
    "could not lock the stock of an item",
    "mail to a customer was refused",
    "the currency table is stale",
    "address could not be resolved",
    "disk quota of uploads is used up",
    "session was signed by an unknown key",
    "label printer does not answer",
)
TASK = "Make a ticket for each distinct error in the log of today, with how often it occurred."
LOOK_UP = "Who is on call today?"
PROGRAM = """\
from collections import Counter
from logs import read_entries
from tracker import create_ticket
log = await read_entries(day="2026-07-28")
errors = Counter(it["message"] for it in log["entries"] if it["level"] == "error")
for message, count in errors.items():
    await create_ticket(title=message, body=f"It occurred {count} times.")
f"{len(errors)} tickets for {sum(errors.values())} errors"
"""
SHORT = 'from tracker import on_call\nawait on_call(day="2026-07-28")'


def described(name: str, does: str, **parameters: str) -> dict[str, Any]:
    """A tool whose parameters are texts, all of them needed."""
    properties = {it: {"type": "string", "description": text} for it, text in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": [*parameters]}
    return {"name": name, "description": does, "inputSchema": schema}


DAY = "As 2026-07-28."
ENTRY = {name: {"type": "string"} for name in ("at", "level", "service", "message")}
LOG = {
    "type": "object",
    "properties": {
        "entries": {
            "type": "array",
            "items": {"type": "object", "properties": ENTRY, "required": [*ENTRY]},
        }
    },
    "required": ["entries"],
}
LOGS = (
    {**described("read_entries", "Reads all log entries of a day.", day=DAY), "outputSchema": LOG},
)
TRACKER = (
    described("create_ticket", "Makes a ticket.", title="One line.", body="What is known of it."),
    described("on_call", "Tells who is on call on a day.", day=DAY),
)


def entries() -> list[dict[str, Any]]:
    """A day: one entry in eight is an error."""
    made: list[dict[str, Any]] = []
    for number in range(ENTRIES):
        failed = number % 8 == 0
        what = ERRORS[number // 8 % len(ERRORS)] if failed else f"order {number:05} was taken"
        at = f"2026-07-28T{number // 84:02}:{number % 60:02}:00Z"
        level = "error" if failed else "info"
        made.append({"at": at, "level": level, "service": "shop", "message": what})
    return made


@dataclass(frozen=True, slots=True)
class World:
    """The two servers behind a gateway, and what was made on them."""

    gateway: ScriptedGateway
    tickets: list[Mapping[str, Any]]


@asynccontextmanager
async def world(exposure: Exposure) -> AsyncGenerator[World]:
    """A gateway that shows them in that way."""
    logs, tracker = ScriptedUpstream(LOGS), ScriptedUpstream(TRACKER)
    tickets: list[Mapping[str, Any]] = []

    async def read(_: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        log = {"entries": entries()}
        return {"content": [text_block(json.dumps(log))], "structuredContent": log}

    async def track(_: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if params["name"] == "on_call":
            return {"content": [text_block("Ada is on call.")]}
        tickets.append(params["arguments"])
        return {"content": [text_block(f"Ticket {len(tickets)} was made.")]}

    logs.on_call, tracker.on_call = read, track
    shown = GatewaySettings(exposure=exposure)
    async with scripted_gateway({"logs": logs, "tracker": tracker}, gateway=shown) as gateway:
        await gateway.crib.catalogs().reach()
        yield World(gateway, tickets)


def text_block(text: str) -> dict[str, Any]:
    """A content block."""
    return {"type": "text", "text": text}


async def directly(model: Model) -> None:
    """The task by direct calls: as few turns as it takes."""
    await model.call("logs__read_entries", day="2026-07-28")
    found = Counter(it["message"] for it in entries() if it["level"] == "error")
    tickets = [
        {"title": message, "body": f"It occurred {count} times."}
        for message, count in found.items()
    ]
    await model.call_all("tracker__create_ticket", tickets)


async def by_program(model: Model) -> None:
    """The task by a program, for a model that has seen neither tool."""
    await model.call("search_tools", query="read log entries")
    await model.call("search_tools", query="make a ticket")
    names = ["logs__read_entries", "tracker__create_ticket"]
    await model.call("get_tool_details", names=names)
    await model.call("run_code", code=PROGRAM)


async def look_up_directly(model: Model) -> None:
    """One call of one tool."""
    await model.call("tracker__on_call", day="2026-07-28")


async def look_up_by_program(model: Model) -> None:
    """The same call from a program."""
    await model.call("search_tools", query="who is on call", detail="full")
    await model.call("run_code", code=SHORT)


async def look_up_by_call(model: Model) -> None:
    """The same call under `code`, as `run_code` itself advises for one call."""
    await model.call("search_tools", query="who is on call", detail="full")
    await model.call("tracker__on_call", day="2026-07-28")


Way = Callable[[Model], Awaitable[None]]


async def counted(exposure: Exposure, task: str, way: Way, *, tickets: int) -> dict[str, Any]:
    """What a model reads and writes on the way."""
    cache = PromptCache(QuicktokCounter().count)
    async with world(exposure) as made:
        model = Model(made.gateway, cache, task)
        await model.list()
        await way(model)
        model.say("It is done.")
        assert len(made.tickets) == tickets, made.tickets
        bill = cache.bill
    return {
        "requests": bill.requests,
        "window": bill.longest,
        "prompt_tokens": bill.prompt,
        "written": bill.written,
        "weighed": round(bill.cost),
    }


async def main() -> None:
    """Each task, each way."""
    tasks: list[tuple[str, str, int, dict[str, tuple[Exposure, Way]]]] = [
        (
            f"a ticket for each error of {ENTRIES:,} log entries",
            TASK,
            len(ERRORS),
            {"direct": ("full", directly), "program": ("code", by_program)},
        ),
        (
            "one look-up",
            LOOK_UP,
            0,
            {
                "direct": ("full", look_up_directly),
                "program": ("code", look_up_by_program),
                "direct under code": ("code", look_up_by_call),
            },
        ),
    ]
    for named, task, tickets, ways in tasks:
        first = 0
        for how, (exposure, way) in ways.items():
            line = await counted(exposure, task, way, tickets=tickets)
            first = first or line["prompt_tokens"]
            share = round(line["prompt_tokens"] / first, 4)
            print(json.dumps({"figure": f"{named}, {how}", **line, "of_direct": share}), flush=True)


if __name__ == "__main__":
    anyio.run(main)
