"""A server that has not answered yet is told as such, with how long it has been silent."""

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib

pytestmark = pytest.mark.virtual_time


async def test_a_server_that_does_not_answer_is_told_with_how_long_it_has_been_silent() -> None:
    async with scripted_crib({"dead": ScriptedUpstream(latency=3600)}) as (crib, _):
        catalogs = crib.catalogs()
        catalogs.peek("dead", Kind.TOOLS)
        await anyio.sleep(0.5)
        young = catalogs.status("dead")
        assert (young.state, young.detail) == ("connecting", "")
        await anyio.sleep(9.5)
        old = catalogs.status("dead")
        assert (old.state, old.detail) == ("connecting", "has not answered for 10 s")


async def test_a_server_that_answered_is_not_told_as_silent() -> None:
    async with scripted_crib({"up": ScriptedUpstream([tool("now")])}) as (crib, _):
        await crib.catalogs().read(Kind.TOOLS)
        await anyio.sleep(3600)
        status = crib.catalogs().status("up")
        assert (status.state, status.detail) == ("ready", "")
