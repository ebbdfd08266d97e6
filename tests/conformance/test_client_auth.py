"""The official suite's authorization scenarios against our connector with OAuth."""

import sys
from pathlib import Path

import pytest

from toolcrib.testing.conformance import Suite

pytestmark = [pytest.mark.peers, pytest.mark.slow, pytest.mark.timeout(180)]

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "peers/node_modules/@modelcontextprotocol/conformance"
COMMAND = f"{sys.executable} {HERE / 'client_auth.py'}"
OLDER, NEWER = "2025-11-25", "2026-07-28"


def required(revision: str) -> tuple[str, ...]:
    """The authorization scenarios that a revision requires of a client."""
    nowhere = Path()
    every = Suite(nowhere, PACKAGE, nowhere, {}).required(revision, "client")
    return tuple(one for one in every if one.startswith("auth/"))


PLAYED = [(name, revision) for revision in (OLDER, NEWER) for name in required(revision)]


@pytest.mark.parametrize(("revision", "count"), [(OLDER, 14), (NEWER, 25)], ids=[OLDER, NEWER])
def test_the_suite_requires_as_many_authorization_scenarios(revision: str, count: int) -> None:
    assert len(required(revision)) == len(set(required(revision))) == count


@pytest.mark.parametrize(
    ("scenario", "revision"), PLAYED, ids=[f"{revision}-{name}" for name, revision in PLAYED]
)
async def test_an_authorization_scenario_passes(suite: Suite, scenario: str, revision: str) -> None:
    found = await suite.client(COMMAND, scenario, revision)
    if not found.passed:  # under load, a second try alone
        found = await suite.client(COMMAND, scenario, revision)
    assert found.passed, found.told()
