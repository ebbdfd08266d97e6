"""How a missing token is told, and that settings show none of theirs."""

import pytest
from mcp.shared.exceptions import MCPError

from toolcrib.adapters.http.authorisation import refusal_error
from toolcrib.adapters.session.error_mapping import map_error
from toolcrib.errors import AuthRequired, ToolcribError, UpstreamUnreachable
from toolcrib.settings import HttpLaunch, OAuthSettings, Secret


def told(error: ToolcribError) -> ToolcribError:
    """The error as it comes out of the dispatcher's other end."""

    data = refusal_error(error)
    return map_error(MCPError(data.code, data.message, data.data), server="s", http=True)


@pytest.mark.parametrize("status", [401, 403])
def test_a_missing_right_keeps_message_remedy_and_status(status: int) -> None:
    found = told(AuthRequired("m", remedy="r", details={"http_status": status}))
    assert isinstance(found, AuthRequired)
    assert (found.message, found.remedy, found.server) == ("m", "r", "s")
    assert found.details["http_status"] == status


def test_an_authorization_server_that_is_away_means_that_nothing_was_executed() -> None:
    found = told(UpstreamUnreachable("m", remedy="r"))
    assert isinstance(found, UpstreamUnreachable)
    assert (found.message, found.remedy) == ("m", "r")
    assert found.details["never_sent"] is True


def test_a_launch_shows_none_of_its_secrets() -> None:
    oauth = OAuthSettings(client_secret=Secret("CANARY-a"), private_key=Secret("CANARY-b"))
    launch = HttpLaunch(Secret("https://x"), oauth=oauth)
    assert "CANARY" not in repr(launch)
    assert launch.credentialed
