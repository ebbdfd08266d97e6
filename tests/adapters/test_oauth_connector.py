"""Tokens on the way of real requests: challenges, renewal, more rights, and what is remembered."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import httpx2
import pytest

from toolcrib.adapters.connector import McpConnector
from toolcrib.adapters.oauth.authorisers import Authorisers
from toolcrib.adapters.session.session import Session
from toolcrib.adapters.vault.file_vault import FileVault
from toolcrib.adapters.vault.memory_vault import MemoryVault
from toolcrib.config.keys import InstallationKey
from toolcrib.errors import AuthRequired, ToolcribError, UpstreamRefused, UpstreamUnreachable
from toolcrib.ports import ClientProfile, Vault
from toolcrib.settings import HttpLaunch, Limits, OAuthSettings, Secret, ServerSettings
from toolcrib.testing.oauth_world import CANARY, OAuthWorld, Walker, serve_oauth_world
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.signal_log import SignalLog
from toolcrib.testing.virtual_clock import LoopClock

MACHINE = OAuthSettings(
    grant="client_credentials", client_id="machine", client_secret=Secret(f"{CANARY}-configured")
)


class Rig:
    """A world, a vault, and processes that share both."""

    def __init__(self, world: OAuthWorld, vault: Vault) -> None:
        self.world = world
        self.vault = vault
        self.walker = Walker(world)
        self.clock = LoopClock()
        self.facts = Recorder()

    def machine(self) -> OAuthSettings:
        return replace(MACHINE, issuer=self.world.issuer)

    def authorisers(self, *, person: bool = False) -> Authorisers:
        return Authorisers(
            vault=self.vault,
            keys=InstallationKey(bytes(32)),
            clock=self.clock,
            person=self.walker if person else None,
        )

    def process(self, *, person: bool = False) -> McpConnector:
        """A connector as another process would have it."""
        authorisers = self.authorisers(person=person)
        return McpConnector(
            limits=Limits(), observer=self.facts, clock=self.clock, authorisers=authorisers
        )

    @asynccontextmanager
    async def connect(
        self,
        oauth: OAuthSettings | None = None,
        *,
        person: bool = False,
        process: McpConnector | None = None,
    ) -> AsyncGenerator[Session]:
        process = process or self.process(person=person)
        launch = HttpLaunch(Secret(self.world.url), oauth=oauth or OAuthSettings())
        server = ServerSettings("s", launch)
        async with process.connect(server, ClientProfile(), SignalLog(), None) as session:
            yield session

    async def log_in(self) -> None:
        """What `toolcrib login` leaves in the vault."""
        async with self.connect(person=True):
            pass


@pytest.fixture
async def rig() -> AsyncGenerator[Rig]:
    with anyio.fail_after(10):
        async with serve_oauth_world() as world:
            yield Rig(world, MemoryVault())


async def call(session: Session) -> None:
    await session.request("tools/call", {"name": "t", "arguments": {}})


# ---- a challenge, a token, one retry ----


async def test_a_challenged_request_is_sent_again_once_with_a_token_and_carried_out_once(
    rig: Rig,
) -> None:
    async with rig.connect(person=True) as session:
        rig.world.revoke_all()
        rig.world.refreshes.clear()
        before = rig.world.asked("/mcp")
        await call(session)
    assert rig.world.executed.count("tools/call") == 1
    assert rig.world.asked("/mcp") - before == 2


async def test_without_a_login_nothing_is_registered_or_opened_and_the_remedy_is_named(
    rig: Rig,
) -> None:
    with pytest.raises(AuthRequired) as refused:
        async with rig.connect():
            pass
    assert refused.value.remedy == "run `toolcrib login s`"
    assert refused.value.server == "s"
    assert refused.value.details["http_status"] == 401
    assert rig.world.asked("/mcp") == 1
    assert rig.world.registrations == []
    assert rig.world.asked("/one") == rig.world.asked("/.well-known") == 0


async def test_a_login_serves_every_later_process(rig: Rig) -> None:
    await rig.log_in()
    async with rig.connect() as session:
        await call(session)
    assert rig.world.issued == 1


async def test_client_credentials_need_nobody(rig: Rig) -> None:
    async with rig.connect(rig.machine()) as session:
        await call(session)
    assert [form["grant_type"] for form in rig.world.forms] == ["client_credentials"]
    assert rig.world.forms[0]["client_secret"] == f"{CANARY}-configured"
    assert rig.world.forms[0]["resource"] == rig.world.url


async def test_client_credentials_go_to_the_configured_server_alone(rig: Rig) -> None:
    settings = rig.machine()
    rig.world.authorization_server = "two"
    with pytest.raises(AuthRequired, match="another one is configured"):
        async with rig.connect(settings):
            pass
    assert rig.world.forms == []


async def test_a_secret_is_sent_as_the_metadata_says(rig: Rig) -> None:
    rig.world.metadata = {"token_endpoint_auth_methods_supported": None}
    async with rig.connect(rig.machine()):
        pass
    assert "client_secret" not in rig.world.forms[0]
    sent = [one for one in rig.world.server.requests if one.path == "/one/token"]
    assert sent[0].headers["authorization"].startswith("Basic ")


# ---- renewal ----


async def test_a_refused_token_is_renewed_without_anybody(rig: Rig) -> None:
    await rig.log_in()
    rig.world.revoke_all()
    async with rig.connect() as session:
        await call(session)
    assert [form["grant_type"] for form in rig.world.forms] == [
        "authorization_code",
        "refresh_token",
    ]
    assert rig.world.forms[1]["client_secret"] == f"{CANARY}-client-one"


async def test_many_requests_that_meet_a_revoked_token_renew_it_once(rig: Rig) -> None:
    await rig.log_in()
    async with rig.connect() as session:
        rig.world.revoke_all()
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(call, session)
    assert rig.world.executed.count("tools/call") == 20
    assert rig.world.issued == 2


async def test_a_token_that_runs_out_is_renewed_before_it_is_sent(rig: Rig) -> None:
    await rig.log_in()
    async with rig.connect() as session:
        rig.clock.wall_offset += 3_580
        before = rig.world.asked("/mcp")
        await call(session)
        assert rig.world.asked("/mcp") - before == 1
    assert rig.world.issued == 2


async def test_many_requests_with_a_token_that_runs_out_renew_it_once(rig: Rig) -> None:
    await rig.log_in()
    async with rig.connect() as session:
        rig.clock.wall_offset += 3_580
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(call, session)
    assert rig.world.executed.count("tools/call") == 20
    assert rig.world.issued == 2


async def test_a_token_that_another_process_renewed_is_taken_from_the_vault(rig: Rig) -> None:
    await rig.log_in()
    async with rig.connect() as one, rig.connect() as other:
        rig.world.revoke_all()
        await call(one)
        await call(other)
    assert rig.world.issued == 2


async def test_processes_whose_tokens_run_out_together_take_turns(rig: Rig, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    vaults = [FileVault(folder, bytes(32), rig.facts) for _ in range(4)]
    processes = [Rig(rig.world, vault) for vault in vaults]
    await processes[0].log_in()
    rig.world.revoke_all()

    async def work(one: Rig) -> None:
        async with one.connect() as session:
            await call(session)

    async with anyio.create_task_group() as tasks:
        for one in processes:
            tasks.start_soon(work, one)
    assert rig.world.executed.count("tools/call") == 4
    assert [form["grant_type"] for form in rig.world.forms].count("refresh_token") == 1
    assert rig.world.registrations == ["one"]


async def test_a_refresh_token_that_another_process_used_up_is_no_logout(rig: Rig) -> None:
    await rig.log_in()
    async with rig.connect() as one:
        rig.world.revoke_all()
        pages: list[bytes | None] = []

        class Late(MemoryVault):
            """Shows the second process the old page three times, as if it had not waited."""

            async def read(self, key: str) -> bytes | None:
                if not pages:
                    pages.append(await rig.vault.read(key))
                    await call(one)
                    return pages[0]
                if len(pages) < 3:
                    pages.append(None)
                    return pages[0]
                return await rig.vault.read(key)

        async with Rig(rig.world, Late()).connect() as other:
            await call(other)
    kinds = [form["grant_type"] for form in rig.world.forms]
    assert kinds.count("refresh_token") == 2
    assert rig.world.issued == 2


async def test_a_login_that_was_revoked_asks_for_another(rig: Rig) -> None:
    await rig.log_in()
    rig.world.revoke_all()
    rig.world.refreshes.clear()
    with pytest.raises(AuthRequired, match="run out or was revoked") as refused:
        async with rig.connect():
            pass
    assert refused.value.remedy == "run `toolcrib login s`"
    assert rig.world.registrations == ["one"]


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_an_authorization_server_that_is_away_is_an_outage_and_no_lost_right(
    rig: Rig, status: int
) -> None:
    await rig.log_in()
    async with rig.connect() as session:
        rig.world.revoke_all()
        rig.world.token_status = status
        with pytest.raises(UpstreamUnreachable, match=f"token endpoint answered HTTP {status}"):
            await call(session)
        rig.world.token_status = 200
        with pytest.raises(UpstreamUnreachable):
            await call(session)  # what failed lately is not asked again at once
        assert len(rig.world.forms) == 2
    async with rig.connect() as session:
        await call(session)
    assert rig.world.executed.count("tools/call") == 1


async def test_a_token_that_still_lasts_is_used_while_it_cannot_be_renewed(rig: Rig) -> None:
    await rig.log_in()
    async with rig.connect() as session:
        rig.clock.wall_offset += 3_580
        rig.world.token_status = 503
        await call(session)
        rig.clock.wall_offset += 60
        with pytest.raises(UpstreamUnreachable):
            await call(session)


async def test_a_server_that_refuses_what_was_just_issued_is_not_asked_again_and_again(
    rig: Rig,
) -> None:
    rig.world.refuses_all = True
    rig.world.refreshable = False
    process = rig.process()
    for _ in range(3):
        with pytest.raises(AuthRequired):
            async with rig.connect(rig.machine(), process=process):
                pass
    assert rig.world.issued == 1


# ---- more rights ----


async def test_more_rights_are_asked_for_together_with_those_there_are(rig: Rig) -> None:
    rig.world.needs = {"server/discover": "read", "tools/call": "write"}
    async with rig.connect(person=True) as session:
        await call(session)
    scopes = [url.split("scope=")[1].split("&")[0] for url in rig.walker.urls if "scope=" in url]
    assert scopes == ["read", "read+write"]
    assert rig.world.executed.count("tools/call") == 1


async def test_rights_that_are_never_granted_are_asked_for_once(rig: Rig) -> None:
    rig.world.needs = {"tools/call": "write"}
    rig.world.grants_scopes = False
    async with rig.connect(person=True) as session:
        for _ in range(4):
            with pytest.raises(AuthRequired) as refused:
                await call(session)
            assert refused.value.details["http_status"] == 403
    assert len(rig.walker.urls) == 2


async def test_missing_rights_are_asked_for_at_the_next_login(rig: Rig) -> None:
    await rig.log_in()
    rig.world.needs = {"tools/call": "write"}
    async with rig.connect() as session:
        with pytest.raises(AuthRequired, match="`write`") as refused:
            await call(session)
    assert refused.value.remedy == "run `toolcrib login s`"
    rig.world.revoke_all()
    rig.world.refreshes.clear()
    server = ServerSettings("s", HttpLaunch(Secret(rig.world.url), oauth=OAuthSettings()))
    authoriser = rig.authorisers(person=True).for_server(server)
    assert authoriser is not None
    await authoriser.log_in(httpx2.Response(401))
    assert "scope=write" in rig.walker.urls[-1]
    async with rig.connect() as session:
        await call(session)


async def test_a_403_that_is_not_about_scopes_is_left_as_it_is(rig: Rig) -> None:
    await rig.log_in()
    async with rig.connect() as session:
        rig.world.challenge = 'Bearer error="insufficient_user_authentication"'
        rig.world.needs = {"tools/call": ""}
        before = len(rig.world.forms)
        with pytest.raises(UpstreamRefused):
            await session.request("x/y")
        assert len(rig.world.forms) == before


# ---- another authorization server ----


async def test_credentials_of_one_authorization_server_are_not_shown_to_another(rig: Rig) -> None:
    async with rig.connect(person=True) as session:
        rig.world.authorization_server = "two"
        rig.world.revoke_all()
        rig.world.refreshes.clear()
        await call(session)
    assert rig.world.registrations == ["one", "two"]
    last = rig.world.forms[-1]
    assert last["client_id"] == "client-two"
    assert last["client_secret"] == f"{CANARY}-client-two"


async def test_metadata_of_one_authorization_server_is_not_used_for_another(rig: Rig) -> None:
    rig.world.metadata = {"client_id_metadata_document_supported": True}
    settings = OAuthSettings(client_metadata_url="https://crib.example/client.json")
    async with rig.connect(settings, person=True) as session:
        rig.world.resource = {"authorization_servers": [f"{rig.world.base}/has/none"]}
        rig.world.revoke_all()
        rig.world.refreshes.clear()
        with pytest.raises(AuthRequired, match="no metadata"):
            await call(session)
    assert len(rig.walker.urls) == 1


async def test_a_configured_client_is_not_taken_to_another_authorization_server(rig: Rig) -> None:
    settings = OAuthSettings(client_id="mine", client_secret=Secret(f"{CANARY}-mine"))
    async with rig.connect(settings, person=True) as session:
        rig.world.authorization_server = "two"
        rig.world.revoke_all()
        rig.world.refreshes.clear()
        with pytest.raises(AuthRequired, match="another authorization server"):
            await call(session)
    assert rig.world.registrations == []
    assert {form["client_id"] for form in rig.world.forms} == {"mine"}


async def test_a_url_that_no_token_may_be_sent_to_is_refused_before_anything_is_sent(
    rig: Rig,
) -> None:
    server = ServerSettings("s", HttpLaunch(Secret("http://a.example/mcp"), oauth=OAuthSettings()))
    with pytest.raises(AuthRequired, match="not https") as refused:
        async with rig.process().connect(server, ClientProfile(), SignalLog(), None):
            pass
    assert isinstance(refused.value, ToolcribError)
    assert refused.value.server == "s"


async def test_a_server_that_nobody_configured_oauth_for_says_how_to(rig: Rig) -> None:
    server = ServerSettings("s", HttpLaunch(Secret(rig.world.url)))
    with pytest.raises(AuthRequired) as refused:
        async with rig.process().connect(server, ClientProfile(), SignalLog(), None):
            pass
    assert "[servers.s.oauth]" in (refused.value.remedy or "")
    assert rig.world.registrations == []


async def test_the_older_transport_asks_for_a_login_just_the_same(rig: Rig) -> None:
    launch = HttpLaunch(Secret(rig.world.url), transport="sse", oauth=OAuthSettings())
    server = ServerSettings("s", launch)
    with pytest.raises(AuthRequired) as refused:
        async with rig.process().connect(server, ClientProfile(), SignalLog(), None):
            pass
    assert refused.value.remedy == "run `toolcrib login s`"
