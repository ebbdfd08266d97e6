"""An unchanged catalog gives the same bytes: refresh after refresh, and process after process."""

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from toolcrib.context.tokens import Costs, HeuristicCounter
from toolcrib.context.toolset import Toolset
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.testing.fake_exhibits import FakeExhibits

WORKER = Path(__file__).with_name("prompt_bytes_worker.py")


def definitions(server: str) -> list[dict[str, Any]]:
    properties = {
        f"{server}_{n}": {"type": ["string", "null"], "description": f"D{n}", "maxLength": n}
        for n in range(6)
    }
    schema = {
        "type": "object",
        "properties": {**properties, "node": {"$ref": "#/$defs/node"}},
        "required": [f"{server}_3", f"{server}_1"],
        "anyOf": [{"required": [f"{server}_0"]}, {"required": [f"{server}_2"]}],
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    }
    return [{"name": f"t{n}", "description": "Does.", "inputSchema": schema} for n in range(4)]


def disordered(value: Any, chance: random.Random) -> Any:
    """The same JSON with its members in any order, as servers without ordered maps send it."""
    if is_object(value):
        names = list(value)
        chance.shuffle(names)
        return {name: disordered(value[name], chance) for name in names}
    return [disordered(inner, chance) for inner in value] if is_array(value) else value


def settled(chance: random.Random, exposure: Any = "full") -> FakeExhibits:
    """Three servers that came in any order, with tools listed in any order."""
    servers = ["alpha", "beta", "gamma"]
    chance.shuffle(servers)
    fake = FakeExhibits(exposure, pinned=("beta__t1",))
    for server in servers:
        tools = disordered(definitions(server), chance)
        chance.shuffle(tools)
        fake.servers[server] = tools
    return fake


def digest(toolset: Toolset) -> str:
    """A hash over every form of what is shown."""
    forms = [
        toolset.for_anthropic(),
        toolset.for_anthropic(native_search=True, cache="1h"),
        toolset.for_openai_chat(strict=True),
        toolset.for_openai_responses(native_search=True),
        toolset.for_gemini(),
        toolset.for_gemini(json_schema=True),
        toolset.for_json(),
    ]
    return hashlib.sha256(json.dumps(forms).encode()).hexdigest()


async def started(fake: FakeExhibits) -> Toolset:
    return await Toolset.begin(fake, fake, Costs(HeuristicCounter()))


async def test_a_thousand_refreshes_give_one_string_of_bytes() -> None:
    chance = random.Random(7)  # noqa: S311 - no secret
    fake = settled(chance)
    toolset = await started(fake)
    seen = {json.dumps(toolset.for_anthropic())}
    for _ in range(1_000):
        fake.servers = settled(chance).servers
        await toolset.refresh()
        seen.add(json.dumps(toolset.for_anthropic()))
    assert len(seen) == 1
    assert not toolset.delta()


async def test_conversations_begin_with_the_same_bytes_however_servers_settle() -> None:
    for exposure in ("full", "search"):
        seen = {
            digest(await started(settled(random.Random(seed), exposure)))  # noqa: S311 - as above
            for seed in range(50)
        }
        assert len(seen) == 1


async def test_an_added_server_renames_and_moves_nothing() -> None:
    fake = settled(random.Random(1))  # noqa: S311 - as above
    toolset = await started(fake)
    before = toolset.for_openai_chat()
    fake.servers["aardvark"] = definitions("aardvark")
    await toolset.refresh()
    assert toolset.for_openai_chat()[: len(before)] == before


def test_processes_agree_whatever_their_hashes_are_seeded_with() -> None:
    seen = {
        subprocess.run(
            [sys.executable, WORKER, str(seed)],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (0, 1, 4_242)
    }
    assert len(seen) == 1
    assert len(next(iter(seen)).strip()) == 64
