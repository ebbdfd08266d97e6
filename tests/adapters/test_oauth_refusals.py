"""What an OAuth client must refuse: each time before anything that matters was sent."""

from collections.abc import AsyncGenerator

import anyio
import httpx2
import pytest

from toolcrib.adapters.oauth.addresses import AddressGuard
from toolcrib.adapters.oauth.authoriser import ServerAuthoriser
from toolcrib.adapters.oauth.grant import GrantBook
from toolcrib.adapters.oauth.requests import OAuthRequests
from toolcrib.adapters.vault.memory_vault import MemoryVault
from toolcrib.config.keys import InstallationKey
from toolcrib.core.partition import LOCAL
from toolcrib.errors import AuthRequired, ConfigError, UpstreamUnreachable
from toolcrib.settings import OAuthSettings, Secret
from toolcrib.testing.oauth_world import CANARY, OAuthWorld, Walker, serve_oauth_world
from toolcrib.testing.virtual_clock import LoopClock


class Watched(MemoryVault):
    """Counts what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    async def write(self, key: str, value: bytes | None) -> None:
        self.writes += 1
        await super().write(key, value)


class Login:
    """One login of a person to the world's server."""

    def __init__(self, world: OAuthWorld) -> None:
        self.world = world
        self.walker = Walker(world)
        self.vault = Watched()

    def authoriser(self, settings: OAuthSettings) -> ServerAuthoriser:
        keys = InstallationKey(bytes(32))
        guard = AddressGuard(httpx2.URL(self.world.url), insecure=settings.insecure)
        return ServerAuthoriser(
            "s",
            settings,
            self.world.url,
            GrantBook(self.vault, keys, LOCAL, "launch"),
            OAuthRequests(guard),
            LoopClock(),
            self.walker,
        )

    async def run(self, settings: OAuthSettings | None = None, challenge: str = "") -> None:
        headers = {"www-authenticate": challenge} if challenge else None
        response = httpx2.Response(401, headers=headers)
        await self.authoriser(settings or OAuthSettings()).log_in(response)

    async def refused(self, *, match: str, challenge: str = "", **settings: object) -> AuthRequired:
        """Logs in, and is refused; nothing is kept."""
        with pytest.raises(AuthRequired, match=match) as refused:
            await self.run(OAuthSettings(**settings), challenge)  # type: ignore[arg-type] # by name
        assert self.vault.writes == 0
        assert CANARY not in refused.value.for_operator()
        return refused.value


@pytest.fixture
async def login() -> AsyncGenerator[Login]:
    with anyio.fail_after(10):
        async with serve_oauth_world() as world:
            yield Login(world)


async def test_a_login_without_a_fault_succeeds(login: Login) -> None:
    await login.run()
    assert login.world.issued == 1


# ---- PKCE ----


@pytest.mark.duty(38)
@pytest.mark.parametrize("methods", [None, [], ["plain"], ["s256"]], ids=str)
async def test_a_server_that_does_not_name_s256_is_refused_before_anybody_is_asked(
    login: Login, methods: list[str] | None
) -> None:
    login.world.metadata = {"code_challenge_methods_supported": methods}
    await login.refused(match="PKCE")
    assert login.walker.urls == []
    assert login.world.registrations == []


@pytest.mark.parametrize("client", ["configured", "document"])
async def test_pkce_is_asked_for_whatever_client_is_used(login: Login, client: str) -> None:
    login.world.metadata = {
        "code_challenge_methods_supported": None,
        "client_id_metadata_document_supported": True,
    }
    settings = {"configured": {"client_id": "mine"}, "document": {}}[client]
    url = "https://crib.example/client.json" if client == "document" else None
    await login.refused(match="PKCE", client_metadata_url=url, **settings)
    assert login.walker.urls == []


async def test_a_server_without_metadata_is_refused(login: Login) -> None:
    login.world.resource = {"authorization_servers": [f"{login.world.base}/a/b"]}
    await login.refused(match="no metadata")
    assert login.world.registrations == []


# ---- issuer and iss ----


@pytest.mark.duty(38)
@pytest.mark.parametrize(
    "issuer", ["https://evil.example", "{base}/two", "{base}/one/", "{base}/ONE"]
)
async def test_metadata_of_another_issuer_is_refused(login: Login, issuer: str) -> None:
    login.world.metadata = {"issuer": issuer.format(base=login.world.base)}
    await login.refused(match="another issuer")
    assert login.walker.urls == []
    assert login.world.registrations == []


@pytest.mark.duty(38)
async def test_an_answer_from_another_issuer_is_refused_before_the_code_is_used(
    login: Login,
) -> None:
    login.world.issuer_sent = "wrong"
    await login.refused(match="iss")
    assert login.world.forms == []


async def test_a_missing_iss_is_refused_where_the_server_promises_one(login: Login) -> None:
    login.world.issuer_sent = "none"
    await login.refused(match="iss")
    assert login.world.forms == []
    login.world.metadata = {"authorization_response_iss_parameter_supported": None}
    await login.run()


async def test_an_answer_with_another_state_is_refused(login: Login) -> None:
    honest = login.walker.authorise

    async def forged(url: str) -> object:
        return (await honest(url)).model_copy(update={"state": "other"})

    login.walker.authorise = forged  # type: ignore[assignment,method-assign] # a faulty person
    await login.refused(match="not one to our question")
    assert login.world.forms == []


async def test_an_issuer_that_is_not_the_configured_one_is_refused(login: Login) -> None:
    await login.refused(match="another one is configured", issuer="https://other.example")
    assert login.walker.urls == []


async def test_metadata_of_another_resource_is_refused(login: Login) -> None:
    login.world.resource = {"resource": "https://evil.example/mcp"}
    await login.refused(match="another server")
    assert login.world.asked("/.well-known/oauth-authorization-server") == 0


# ---- addresses ----

PUBLIC = httpx2.URL("https://mcp.example/mcp")


def guard(
    server: httpx2.URL = PUBLIC, *, insecure: bool = False, addresses: list[str] | None = None
) -> AddressGuard:
    async def resolve(host: str, port: int) -> list[str]:
        assert host == "as.example"
        assert port in {443, 8443}
        return addresses or []

    return AddressGuard(server, insecure=insecure, resolve=resolve)


@pytest.mark.duty(38)
@pytest.mark.parametrize(
    "url",
    [
        "http://as.example/x",
        "http://127.0.0.1/x",
        "https://127.0.0.1/x",
        "http://localhost:8080/x",
        "https://foo.localhost/x",
        "https://10.0.0.1/x",
        "https://172.16.3.4/x",
        "https://192.168.0.1/x",
        "https://169.254.169.254/latest/meta-data",
        "https://100.64.0.1/x",
        "https://0.0.0.0/x",
        "https://224.0.0.1/x",
        "https://[::1]/x",
        "https://[fe80::1]/x",
        "https://[fc00::1]/x",
        "https://[::ffff:10.0.0.1]/x",
        "https://[2002:0a00:0001::]/x",
        "https://[64:ff9b:1::1]/x",
        "https://[64:ff9b::10.0.0.1]/x",
        "https://[::ffff:224.0.0.1]/x",
        "https://[ff02::1]/x",
        "https://user:pass@as.example/x",
        "ftp://as.example/x",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/plain,x",
        "",
    ],
)
def test_a_url_that_a_public_server_must_not_send_us_to_is_refused(url: str) -> None:
    with pytest.raises(AuthRequired):
        guard().check(httpx2.URL(url), "it")


@pytest.mark.parametrize(
    "url", ["https://as.example/x", "https://8.8.8.8/x", "https://[2606:4700::1]/x"]
)
def test_a_public_https_url_may_be_used(url: str) -> None:
    guard().check(httpx2.URL(url), "it")


def test_loopback_may_be_used_by_a_server_on_loopback_but_other_plain_http_may_not() -> None:
    local = guard(httpx2.URL("http://localhost:1/mcp"))
    local.check(httpx2.URL("http://127.0.0.1:2/x"), "it")
    for url in ("http://as.example/x", "https://10.0.0.1/x"):
        with pytest.raises(AuthRequired):
            local.check(httpx2.URL(url), "it")


def test_the_host_that_a_person_configured_may_be_private_but_must_be_https() -> None:
    intranet = guard(httpx2.URL("https://10.0.0.1/mcp"))
    intranet.check(httpx2.URL("https://10.0.0.1/x"), "it")
    for url in ("http://10.0.0.1/x", "https://10.0.0.2/x"):
        with pytest.raises(AuthRequired) as refused:
            intranet.check(httpx2.URL(url), "it")
        assert "oauth.insecure" in (refused.value.remedy or "")


def test_insecure_lets_anything_through_that_is_http() -> None:
    lax = guard(insecure=True)
    for url in ("http://as.example/x", "https://10.0.0.1/x", "http://127.0.0.1/x"):
        lax.check(httpx2.URL(url), "it")
    with pytest.raises(AuthRequired):
        lax.check(httpx2.URL("file:///etc/passwd"), "it")


@pytest.mark.parametrize(
    "addresses",
    [["10.0.0.1"], ["127.0.0.1"], ["93.184.215.14", "192.168.1.1"], ["::1"], ["fe80::1%eth0"], []],
    ids=str,
)
@pytest.mark.duty(38)
async def test_a_name_with_any_private_address_is_refused(addresses: list[str]) -> None:
    with pytest.raises(AuthRequired, match="private address"):
        await guard(addresses=addresses).places(httpx2.URL("https://as.example/x"), "it")


async def test_the_addresses_that_were_checked_are_those_that_are_connected_to() -> None:
    seen: list[httpx2.Request] = []

    async def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        if len(seen) == 1:
            raise httpx2.ConnectError("away")
        return httpx2.Response(200, json={})

    requests = OAuthRequests(
        guard(addresses=["93.184.215.14", "2606:4700::1"]), httpx2.MockTransport(answer)
    )
    await requests.send(httpx2.Request("GET", "https://as.example:8443/x?y=1"), "it")
    assert [one.url.host for one in seen] == ["93.184.215.14", "2606:4700::1"]
    assert {one.headers["host"] for one in seen} == {"as.example:8443"}
    assert {one.extensions["sni_hostname"] for one in seen} == {"as.example"}
    assert seen[1].url.port == 8443


@pytest.mark.duty(38)
@pytest.mark.parametrize(
    ("member", "where"),
    [
        ("token_endpoint", "the token endpoint"),
        ("registration_endpoint", "the registration of clients"),
        ("authorization_endpoint", "the authorization page"),
    ],
)
@pytest.mark.parametrize("url", ["http://10.0.0.1/x", "https://169.254.169.254/x"])
async def test_an_endpoint_on_a_private_address_is_refused(
    login: Login, member: str, where: str, url: str
) -> None:
    login.world.metadata = {member: url}
    await login.refused(match=where)
    assert login.world.issued == 0


@pytest.mark.duty(38)
@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/prm", "http://as.example/prm", "file:///etc/passwd", "http://[/"]
)
async def test_metadata_at_a_forbidden_url_is_refused(login: Login, url: str) -> None:
    await login.refused(match="the metadata", challenge=f'Bearer resource_metadata="{url}"')
    assert login.world.asked("/") == 0


@pytest.mark.parametrize("there", ["http://127.0.0.1:9/x", "http://10.0.0.1/x", "/one/x", "::"])
async def test_a_redirect_of_metadata_to_elsewhere_is_not_followed(there: str) -> None:
    seen: list[str] = []

    async def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(str(request.url))
        return httpx2.Response(302, headers={"location": there})

    local = httpx2.URL("http://localhost:1/mcp")
    requests = OAuthRequests(guard(local), httpx2.MockTransport(answer))
    response = await requests.send(httpx2.Request("GET", "http://localhost:1/x"), "it")
    assert response.status_code == 302
    assert {httpx2.URL(url).host for url in seen} == {"localhost"}
    assert len(seen) <= 4


async def test_a_post_is_not_redirected_even_within_its_origin() -> None:
    seen: list[str] = []

    async def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.method)
        return httpx2.Response(307, headers={"location": "/y"})

    local = httpx2.URL("http://localhost:1/mcp")
    requests = OAuthRequests(guard(local), httpx2.MockTransport(answer))
    await requests.send(httpx2.Request("POST", "http://localhost:1/x", content=b"s"), "it")
    assert seen == ["POST"]


async def test_an_endless_answer_is_cut_off() -> None:
    async def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=b"x" * 300_000, request=request)

    local = httpx2.URL("http://localhost:1/mcp")
    requests = OAuthRequests(guard(local), httpx2.MockTransport(answer))
    with pytest.raises(UpstreamUnreachable, match="larger than 256 KiB"):
        await requests.send(httpx2.Request("GET", "http://localhost:1/x"), "it")


# ---- settings that cannot be used ----


@pytest.mark.parametrize(
    "settings",
    [
        OAuthSettings(grant="client_credentials"),
        OAuthSettings(grant="client_credentials", client_id="x"),
        OAuthSettings(grant="client_credentials", client_id="x", issuer="https://a.example"),
        OAuthSettings(
            grant="client_credentials",
            client_id="x",
            issuer="https://a.example",
            private_key=Secret(f"{CANARY} is no key"),
        ),
        OAuthSettings(client_metadata_url="https://a.example/"),
        OAuthSettings(client_metadata_url="http://a.example/client.json"),
    ],
)
async def test_settings_that_cannot_be_used_are_an_error_with_a_remedy(
    login: Login, settings: OAuthSettings
) -> None:
    with pytest.raises(ConfigError) as refused:
        await login.run(settings)
    assert refused.value.remedy
    assert CANARY not in refused.value.for_operator()
    assert login.world.asked("/") == 0


# ---- answers that are wrong ----


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{",
        '{"access_token": 1}',
        '{"token_type": "mac", "access_token": "CANARY"}',
        '{"access_token": "CANARY", "expires_in": "soon"}',
        "[" * 100_000,
    ],
)
async def test_an_unusable_answer_of_the_token_endpoint_is_told_without_its_text(
    login: Login, body: str
) -> None:
    login.world.token_body = body
    await login.refused(match="token endpoint")


async def test_an_error_that_nests_without_end_is_an_error_without_a_code(login: Login) -> None:
    login.world.token_status, login.world.token_body = 400, "[" * 100_000
    await login.refused(match=r"refused \(HTTP 400\)")


async def test_an_error_of_the_token_endpoint_is_told_by_its_code_alone(login: Login) -> None:
    login.world.token_status = 400
    error = await login.refused(match=r"refused \(HTTP 400, `invalid_grant`\)")
    assert error.remedy is None


async def test_registration_that_is_refused_says_so(login: Login) -> None:
    login.world.metadata = {"registration_endpoint": f"{login.world.base}/nowhere"}
    await login.refused(match="registration of clients refused")
