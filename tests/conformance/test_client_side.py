"""The official suite against our way to servers: every scenario that needs no authorization."""

import sys
from pathlib import Path

import pytest

from toolcrib.testing.conformance import HARMLESS, Scenario, Suite

pytestmark = [pytest.mark.peers, pytest.mark.slow, pytest.mark.timeout(180)]

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "peers/node_modules/@modelcontextprotocol/conformance"
COMMAND = f"{sys.executable} {HERE / 'client.py'}"
OLDER, NEWER = "2025-11-25", "2026-07-28"


def required(revision: str) -> tuple[str, ...]:
    """The scenarios that a revision requires of a client."""
    nowhere = Path()
    return Suite(nowhere, PACKAGE, nowhere, {}).required(revision, "client")


BEYOND = "json-schema-2020-12-preservation"
"""A scenario that neither revision requires yet."""

PLAYED = [
    (scenario, revision)
    for revision in (OLDER, NEWER)
    for scenario in (*required(revision), BEYOND)
    if not scenario.startswith("auth/")
]

OF_THE_OTHER_ERA = frozenset(
    {"ClientMcpMethodHeader_initialize", "ClientMcpMethodHeader_notifications_initialized"}
)
"""What the suite looks for in messages that a stateless revision does not have."""


@pytest.mark.parametrize(("revision", "count"), [(OLDER, 18), (NEWER, 32)], ids=[OLDER, NEWER])
def test_the_suite_requires_as_many_scenarios_of_a_client(revision: str, count: int) -> None:
    assert len(required(revision)) == len(set(required(revision))) == count


def faults(found: Scenario, revision: str) -> list[str]:
    """What did not succeed, apart from checks of messages that the revision does not have."""
    spared = OF_THE_OTHER_ERA if revision == NEWER else frozenset[str]()
    return [
        f"{check['status']} {check['name']}: {check.get('errorMessage', '')}"
        for check in found.checks
        if check["status"] not in HARMLESS and check["name"] not in spared
    ]


@pytest.mark.parametrize(
    ("scenario", "revision"), PLAYED, ids=[f"{revision}-{name}" for name, revision in PLAYED]
)
async def test_a_scenario_of_the_suite_passes(suite: Suite, scenario: str, revision: str) -> None:
    found = await suite.client(COMMAND, scenario, revision)
    if faults(found, revision):  # under load, a second try alone
        found = await suite.client(COMMAND, scenario, revision)
    assert faults(found, revision) == []
    assert any(check["status"] == "SUCCESS" for check in found.checks)
