"""What is declared to servers follows the settings, and is the same for all of ours."""

from typing import Any

import anyio
import pytest

from toolcrib.crib import profile_of
from toolcrib.ports import RequestContext
from toolcrib.settings import GatewaySettings, Relayed
from toolcrib.testing.connected import connected
from toolcrib.upstreams.supervisor import refuse_requests
from toolcrib.version import __version__

ELICITATION: dict[str, Any] = {"form": {}, "url": {}}


DECLARED: list[tuple[tuple[Relayed, ...], dict[str, Any]]] = [
    ((), {}),
    (("logging",), {}),
    (GatewaySettings().relay, {"elicitation": ELICITATION}),
    (("roots", "roots"), {"roots": {}}),
    (
        ("sampling", "elicitation", "roots", "logging"),
        {"elicitation": ELICITATION, "roots": {}, "sampling": {}},
    ),
]


@pytest.mark.parametrize(("relay", "declared"), DECLARED, ids=str)
def test_what_may_be_relayed_is_declared(
    relay: tuple[Relayed, ...], declared: dict[str, Any]
) -> None:
    profile = profile_of(relay)
    assert profile.capabilities == declared
    assert (profile.name, profile.version) == ("toolcrib", __version__)


def test_the_partition_follows_what_is_declared_and_not_its_order() -> None:
    one, other = profile_of(("roots", "elicitation")), profile_of(("elicitation", "roots"))
    assert one.capability_class == other.capability_class
    assert one.capability_class == ("elicitation.form", "elicitation.url", "roots")


@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_a_server_is_told_by_the_handshake_or_by_each_request(era: Any) -> None:
    profile = profile_of(("elicitation", "roots"))
    with anyio.fail_after(10):
        async with connected("http", era, profile=profile) as peer:
            await peer.upstream.request("tools/list")
            context = RequestContext(capabilities={"elicitation": {"form": {}}})
            called = {"name": "quick", "arguments": dict[str, Any]()}
            await peer.upstream.request("tools/call", called, context=context)
            heard = await peer.server.heard()
    key = "io.modelcontextprotocol/clientCapabilities"
    if era == "handshake":
        (shaken,) = [one for one in heard if one.method == "initialize"]
        assert shaken.message["params"]["capabilities"] == dict(profile.capabilities)
        return
    told = {one.method: one.message["params"]["_meta"][key] for one in heard if one.method}
    assert told["server/discover"] == told["tools/list"] == dict(profile.capabilities)
    assert told["tools/call"] == {"elicitation": {"form": {}}}


async def test_a_question_that_nobody_is_behind_finds_no_roots() -> None:
    assert await refuse_requests("roots/list", {}) == {"roots": []}
