"""The official suite against the gateway, with a fixture server of either era behind it."""

from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from toolcrib.testing.conformance import Scenario, Suite
from toolcrib.testing.live.gateway import LiveGateway

pytestmark = [pytest.mark.peers, pytest.mark.slow, pytest.mark.timeout(180)]

PACKAGE = Path(__file__).resolve().parents[2] / "peers/node_modules/@modelcontextprotocol"
OLDER, NEWER = "2025-11-25", "2026-07-28"


def required(revision: str) -> tuple[str, ...]:
    """The scenarios that a revision requires of a server."""
    nowhere = Path()
    return Suite(nowhere, PACKAGE / "conformance", nowhere, {}).required(revision, "server")


BEYOND = {
    OLDER: ("json-schema-2020-12", "server-session-lifecycle", "server-sse-polling"),
    NEWER: (
        "json-schema-2020-12",
        "http-header-validation",
        "http-custom-header-server-validation",
    ),
}
"""Scenarios that the revisions do not require yet."""


@pytest.mark.parametrize(("revision", "count"), [(OLDER, 30), (NEWER, 37)], ids=[OLDER, NEWER])
def test_the_suite_requires_as_many_scenarios_as_are_played(revision: str, count: int) -> None:
    assert len(required(revision)) == len(set(required(revision))) == count


OF_ROUNDS = (
    "input-required-result-basic-elicitation",
    "input-required-result-multiple-input-requests",
    "input-required-result-ignore-extra-params",
)
"""Scenarios that name the keys of questions. A server that asks in mid-call has none, asks one
after the other, and cannot be told answers before it asked."""

Played = Mapping[tuple[str, str], Scenario]


async def judged(suite: Suite, gateway: LiveGateway, played: Played, key: tuple[str, str]) -> None:
    """Look at what was found in the run of all; a failure under load gets a second try, alone."""
    found = played.get(key)
    if found is None or not found.passed:
        found = await suite.server(gateway.url, *key)
    assert found.passed, found.told()


@pytest.fixture(scope="module")
def played(suite: Suite, gateway: LiveGateway) -> Played:
    return anyio.run(_play, suite, gateway.url)


@pytest.fixture(scope="module")
def played_before_older(suite: Suite, older_gateway: LiveGateway) -> Played:
    return anyio.run(_play, suite, older_gateway.url)


async def _play(suite: Suite, url: str) -> Played:
    found: dict[tuple[str, str], Scenario] = {}
    for revision in (OLDER, NEWER):
        for name, scenario in (await suite.every_server(url, revision)).items():
            found[name, revision] = scenario
    return found


@pytest.mark.parametrize("scenario", [*required(OLDER), *BEYOND[OLDER]])
async def test_hosts_of_the_handshake_are_served(
    suite: Suite, gateway: LiveGateway, played: Played, scenario: str
) -> None:
    await judged(suite, gateway, played, (scenario, OLDER))


@pytest.mark.parametrize("scenario", [*required(NEWER), *BEYOND[NEWER]])
async def test_hosts_of_the_newest_revision_are_served(
    suite: Suite, gateway: LiveGateway, played: Played, scenario: str
) -> None:
    await judged(suite, gateway, played, (scenario, NEWER))


@pytest.mark.parametrize("scenario", required(OLDER))
async def test_hosts_of_the_handshake_are_served_from_an_older_server(
    suite: Suite, older_gateway: LiveGateway, played_before_older: Played, scenario: str
) -> None:
    await judged(suite, older_gateway, played_before_older, (scenario, OLDER))


@pytest.mark.parametrize("scenario", [it for it in required(NEWER) if it not in OF_ROUNDS])
async def test_hosts_of_the_newest_revision_are_served_from_an_older_server(
    suite: Suite, older_gateway: LiveGateway, played_before_older: Played, scenario: str
) -> None:
    await judged(suite, older_gateway, played_before_older, (scenario, NEWER))
