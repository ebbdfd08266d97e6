"""The client that the official suite starts for its `auth/*` scenarios: our connector and OAuth.

`conformance client --command "python tests/conformance/client_auth.py" --scenario auth/…` appends
the URL of the server; scenario, revision and context come in the environment. Nobody sits at a
browser, so the authorization URL is followed here; everything else is what production runs.
"""

import asyncio
import json
import os
import sys
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.shared.auth import AuthorizationCodeResult

from toolcrib.adapters.connector import McpConnector
from toolcrib.adapters.oauth.authorisers import Authorisers
from toolcrib.adapters.system_clock import SystemClock
from toolcrib.adapters.vault.memory_vault import MemoryVault
from toolcrib.config.keys import InstallationKey
from toolcrib.errors import ToolcribError
from toolcrib.ports import ClientProfile, EraMemory
from toolcrib.settings import HttpLaunch, Limits, OAuthSettings, Secret, ServerSettings
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.signal_log import SignalLog

METADATA_URL = "https://conformance-test.local/client-metadata.json"
"""The suite's client metadata document; it recognises the URL and fetches nothing."""


class Walker:
    """A person who agrees to everything: follows the redirect without a browser."""

    redirect_uri = "http://127.0.0.1:3999/callback"

    async def authorise(self, url: str) -> AuthorizationCodeResult:
        async with httpx2.AsyncClient() as client:
            answer = await client.get(url)
        query = parse_qs(urlsplit(answer.headers["location"]).query)
        code, state, iss = (query.get(name, [None])[0] for name in ("code", "state", "iss"))
        return AuthorizationCodeResult(code=code or "", state=state, iss=iss)


async def settings_for(scenario: str, context: dict[str, str], url: str) -> OAuthSettings:
    """What a person would configure for the server of a scenario."""
    settings = OAuthSettings(client_id=context.get("client_id"), issuer=context.get("issuer"))
    if "client_secret" in context:
        settings = replace(settings, client_secret=Secret(context["client_secret"]))
    if "private_key_pem" in context:
        settings = replace(settings, private_key=Secret(context["private_key_pem"]))
    if scenario.startswith("auth/client-credentials"):
        issuer = settings.issuer or await named_issuer(url)
        return replace(settings, grant="client_credentials", issuer=issuer)
    if settings.client_id is None:
        return replace(settings, client_metadata_url=METADATA_URL)
    return settings


async def named_issuer(url: str) -> str:
    """The authorization server that the server names: a person would look it up, and decide."""
    parts = urlsplit(url)
    place = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}"
    async with httpx2.AsyncClient() as client:
        answer = await client.get(place)
    return answer.json()["authorization_servers"][0]


async def main(url: str) -> int:
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    version = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "2026-07-28")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    clock = SystemClock()
    connector = McpConnector(
        limits=Limits(),
        observer=Recorder(),
        clock=clock,
        authorisers=Authorisers(
            vault=MemoryVault(), keys=InstallationKey(bytes(32)), clock=clock, person=Walker()
        ),
    )
    oauth = await settings_for(scenario, context, url)
    server = ServerSettings("suite", HttpLaunch(Secret(url), oauth=oauth))
    handshake = EraMemory("handshake", version, clock.now().wall)
    remembered = None if version >= "2026-07-28" else handshake
    try:
        async with connector.connect(server, ClientProfile(), SignalLog(), remembered) as upstream:
            listing = await upstream.request("tools/list")
            for tool in listing["tools"]:
                await upstream.request("tools/call", {"name": tool["name"], "arguments": {}})
    except ToolcribError as error:
        sys.stderr.write(f"{type(error).__name__}: {error.for_operator()}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main(sys.argv[1])))
