"""What a hostile authorization server, or anybody on this machine, sends during a login."""

import anyio
import httpx2
import pytest

from toolcrib.adapters.oauth.addresses import AddressGuard
from toolcrib.adapters.oauth.authoriser import ServerAuthoriser
from toolcrib.adapters.oauth.grant import GrantBook
from toolcrib.adapters.oauth.redirect import listen_for_redirect
from toolcrib.adapters.oauth.requests import OAuthRequests
from toolcrib.adapters.vault.memory_vault import MemoryVault
from toolcrib.config.keys import InstallationKey
from toolcrib.core.partition import LOCAL
from toolcrib.errors import AuthRequired
from toolcrib.settings import OAuthSettings
from toolcrib.testing.oauth_world import CANARY, Walker, serve_oauth_world
from toolcrib.testing.virtual_clock import LoopClock


async def logged_in(token_body: str) -> str | AuthRequired:
    """The access token that a login brings where the token endpoint answers so, or its refusal."""
    with anyio.fail_after(10):
        async with serve_oauth_world() as world:
            world.token_body = token_body
            guard = AddressGuard(httpx2.URL(world.url), insecure=False)
            book = GrantBook(MemoryVault(), InstallationKey(bytes(32)), LOCAL, "launch")
            authoriser = ServerAuthoriser(
                "s",
                OAuthSettings(),
                world.url,
                book,
                OAuthRequests(guard),
                LoopClock(),
                Walker(world),
            )
            try:
                await authoriser.log_in(httpx2.Response(401))
            except AuthRequired as refused:
                return refused
            token = await authoriser.token()
            return "" if token is None else token.reveal()


@pytest.mark.parametrize("seconds", ["1" + "0" * 400, "-1" + "0" * 400])
async def test_a_life_of_a_token_beyond_all_numbers_is_an_answer_that_cannot_be_used(
    seconds: str,
) -> None:
    refused = await logged_in(f'{{"access_token": "{CANARY}", "expires_in": {seconds}}}')
    assert isinstance(refused, AuthRequired)
    assert refused.message == "the token endpoint gave an answer that cannot be used"


async def test_a_long_life_of_a_token_is_taken() -> None:
    long = f'{{"access_token": "{CANARY}", "expires_in": 1{"0" * 25}}}'
    assert await logged_in(long) == CANARY


@pytest.mark.parametrize("end", ["\\r\\nx-evil: 1", "\\n", "\\u0000", " ", "\\t", "\\u007f"])
async def test_a_token_that_no_header_can_carry_is_refused(end: str) -> None:
    refused = await logged_in(f'{{"access_token": "{CANARY}{end}"}}')
    assert isinstance(refused, AuthRequired)
    assert "no header can carry" in refused.message
    assert CANARY not in refused.for_operator()


async def test_an_empty_token_is_refused() -> None:
    assert isinstance(await logged_in('{"access_token": ""}'), AuthRequired)


@pytest.mark.parametrize(
    "target", ["//[", "http://[::1/callback", "//[v1.x", "//\u2100.x/", "/callback?state=%ff%00"]
)
async def test_a_request_that_is_no_url_does_not_end_the_login(target: str) -> None:
    url = "https://as.example/authorize?state=right"
    port = 0

    async def visit(_url: str, _host: str) -> None:
        for path in (target, "/callback?code=c&state=right"):
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send(f"GET {path} HTTP/1.1\r\n\r\n".encode())
                await stream.receive()

    with anyio.fail_after(10):
        async with listen_for_redirect(visit, seconds=8) as person:
            port = int(person.redirect_uri.split(":")[2].split("/")[0])
            assert (await person.authorise(url)).code == "c"


@pytest.mark.parametrize(
    "address",
    ["fec0::1", "::7f00:1", "::a9fe:a9fe", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "fd00::1"],
)
@pytest.mark.parametrize("how", ["literal", "resolved"])
async def test_no_spelling_of_an_inner_address_is_used(address: str, how: str) -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return ["2606:4700::1111", address]

    server = httpx2.URL("https://mcp.example/mcp")
    guard = AddressGuard(server, insecure=False, resolve=resolve)
    host = f"[{address}]" if how == "literal" else "as.example"
    with pytest.raises(AuthRequired, match="private address"):
        await guard.places(httpx2.URL(f"https://{host}/token"), "the token endpoint")
