"""Progress as hosts hear it."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.wire.progress import PER_SECOND, ProgressRelay, progress_token


class Heard(list[Mapping[str, Any]]):
    async def __call__(self, method: str, params: Mapping[str, Any]) -> None:
        assert method == "notifications/progress"
        self.append(params)


@pytest.mark.duty(35)
async def test_only_steps_ahead_of_the_last_one_are_relayed() -> None:
    heard = Heard()
    relay = ProgressRelay("t", heard)
    for value in (1.0, 3.0, 2.0, 3.0, float("nan"), float("inf"), 4.0):
        await relay(value, None, None)
    assert [params["progress"] for params in heard] == [1.0, 3.0, 4.0]


async def test_the_host_hears_its_own_token_total_and_message() -> None:
    heard = Heard()
    await ProgressRelay(7, heard)(1.0, 10.0, "half")
    await ProgressRelay("7", heard)(1.0, float("nan"), None)
    assert heard == [
        {"progressToken": 7, "progress": 1.0, "total": 10.0, "message": "half"},
        {"progressToken": "7", "progress": 1.0},
    ]


@pytest.mark.duty(35)
async def test_nothing_is_relayed_once_the_request_is_about_to_be_answered() -> None:
    heard = Heard()
    relay = ProgressRelay("t", heard)
    relay.close()
    await relay(1.0, None, None)
    assert heard == []


@pytest.mark.virtual_time
async def test_a_flood_is_thinned_and_what_comes_later_is_relayed_again() -> None:
    heard = Heard()
    relay = ProgressRelay("t", heard)
    for step in range(1_000):
        await relay(float(step), None, None)
    assert len(heard) == PER_SECOND
    await anyio.sleep(1)
    await relay(1_000.0, None, None)
    assert heard[-1]["progress"] == 1_000.0


@pytest.mark.parametrize(
    ("params", "token"),
    [
        ({"_meta": {"progressToken": 0}}, 0),
        ({"_meta": {"progressToken": ""}}, ""),
        ({"_meta": {"progressToken": True}}, None),
        ({"_meta": {"progressToken": 1.5}}, None),
        ({"_meta": {"progressToken": None}}, None),
        ({"_meta": []}, None),
        ({}, None),
    ],
)
def test_a_token_is_a_string_or_an_integer(params: dict[str, Any], token: object) -> None:
    assert progress_token(params) == token
