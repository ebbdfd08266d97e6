"""Programs as models write them, through every check, the real interpreter and the whole gateway.

Each stands in a file of `written/`, with the value and the calls that it must come to; those of
`wrong.txt` must be refused before anything ran, with the line that is wrong.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from toolcrib.testing.coded_server import CodedServer, CodingHost, coded, text_of, value_of
from toolcrib.testing.written_programs import Written, servers, written

pytestmark = pytest.mark.anyio

FILES = Path(__file__).resolve().parent / "written"
RIGHT = [it for file in sorted(FILES.glob("*.txt")) if file.stem != "wrong" for it in written(file)]
WRONG = written(FILES / "wrong.txt")


@dataclass
class World:
    """A host, and what arrives at its servers."""

    host: CodingHost
    arrived: list[tuple[str, str, dict[str, Any]]]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def world() -> AsyncGenerator[World]:
    """One gateway for all programs, whose workers they take in turn."""
    there = servers()
    arrived: list[tuple[str, str, dict[str, Any]]] = []

    def listen(name: str, server: CodedServer) -> None:
        answered = server.on_call
        assert answered is not None

        async def heard(method: str, params: Mapping[str, Any]) -> Any:
            arrived.append((name, params["name"], dict(params.get("arguments") or {})))
            return await answered(method, params)

        server.on_call = heard

    for name, server in there.items():
        listen(name, server)
    async with coded(there) as (host, _):
        yield World(host, arrived)


@pytest.mark.parametrize("it", RIGHT, ids=[it.name for it in RIGHT])
async def test_a_right_program_is_let_through_and_comes_to_its_end(
    it: Written, world: World
) -> None:
    world.arrived.clear()
    result = await world.host.run(it.code)
    assert value_of(result) == json.loads(it.end)
    assert tuple(world.arrived) == it.calls


@pytest.mark.parametrize("it", WRONG, ids=[it.name for it in WRONG])
async def test_a_wrong_program_is_refused_at_its_line_before_anything_ran(
    it: Written, world: World
) -> None:
    world.arrived.clear()
    result = await world.host.run(it.code)
    text = text_of(result)
    line, _, named = it.end.partition(": ")
    assert result.get("isError"), text
    assert "Nothing was executed." in text
    assert text.startswith(f"script.py:{line}:"), text
    assert named in text
    assert not world.arrived


def test_there_are_enough_of_them_and_none_twice() -> None:
    assert len({it.code for it in RIGHT}) == len(RIGHT) >= 150
    assert len({it.code for it in WRONG}) == len(WRONG) >= 40
    assert len({it.name for it in (*RIGHT, *WRONG)}) == len(RIGHT) + len(WRONG)
