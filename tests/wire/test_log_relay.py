"""Log messages to a host: its level, its request, nothing after the answer."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import anyio
import pytest

from toolcrib.protocol.envelope import LOG_LEVELS
from toolcrib.wire.log_relay import LOGGED, PER_SECOND, LogRelay, log_relay

Told = list[Mapping[str, Any]]


def relay(level: str) -> tuple[LogRelay, Told]:
    told: Told = []

    async def notify(method: str, params: Mapping[str, Any]) -> None:
        assert method == LOGGED
        told.append(params)

    made = log_relay(level, notify)
    assert made is not None
    return made, told


@pytest.mark.parametrize(("wanted", "given"), list(product(LOG_LEVELS, LOG_LEVELS)))
async def test_a_message_is_told_from_the_wanted_level_on(wanted: str, given: str) -> None:
    heard, told = relay(wanted)
    await heard(LOGGED, {"level": given, "data": 1})
    assert bool(told) == (LOG_LEVELS.index(given) >= LOG_LEVELS.index(wanted))


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"data": 1},
        {"level": "loud", "data": 1},
        {"level": "ERROR", "data": 1},
        {"level": None, "data": 1},
        {"level": ["error"], "data": 1},
        {"level": 3, "data": 1},
        {"level": "error"},
    ],
    ids=str,
)
async def test_what_is_no_log_message_is_not_told(params: dict[str, Any]) -> None:
    heard, told = relay("debug")
    await heard(LOGGED, params)
    await heard("notifications/progress", {"level": "error", "data": 1})
    assert told == []


async def test_only_level_logger_and_data_are_passed_on() -> None:
    heard, told = relay("info")
    await heard(LOGGED, {"level": "info", "logger": "db", "data": None, "_meta": {"k": 1}, "x": 2})
    await heard(LOGGED, {"level": "info", "logger": 7, "data": {"a": [1]}})
    assert told == [
        {"level": "info", "logger": "db", "data": None},
        {"level": "info", "data": {"a": [1]}},
    ]


async def test_nothing_is_told_after_the_answer() -> None:
    heard, told = relay("debug")
    heard.close()
    await heard(LOGGED, {"level": "error", "data": 1})
    assert told == []


@pytest.mark.virtual_time
async def test_a_flood_is_thinned_out_and_the_next_second_is_told_again() -> None:
    heard, told = relay("debug")
    for _ in range(10 * PER_SECOND):
        await heard(LOGGED, {"level": "info", "data": "x"})
    assert len(told) == PER_SECOND
    await anyio.sleep(1)
    await heard(LOGGED, {"level": "info", "data": "y"})
    assert told[-1]["data"] == "y"


@pytest.mark.parametrize("level", ["", "loud", "Debug"])
def test_without_a_valid_level_there_is_no_relay(level: str) -> None:
    async def notify(_method: str, _params: Mapping[str, Any]) -> None: ...

    assert log_relay(level, notify) is None
