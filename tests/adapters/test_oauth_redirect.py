"""The loopback address a browser returns to: one answer counts, and nothing waits for ever."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from urllib.parse import urlencode

import anyio
import pytest
from mcp.shared.auth import AuthorizationCodeResult

from toolcrib.adapters.oauth.redirect import LoopbackPerson, listen_for_redirect
from toolcrib.errors import AuthRequired, ConfigError

STATE = "the-state"
URL = f"https://as.example/authorize?{urlencode({'state': STATE})}"

Visit = Callable[[int], Awaitable[None]]


async def request(port: int, text: str) -> str:
    """The first line of the answer to raw bytes; "" where there is none."""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(text.encode("latin-1"))
        try:
            return (await stream.receive()).decode().split("\r\n")[0]
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return ""


async def get(port: int, path: str) -> str:
    return await request(port, f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")


async def authorised(
    visit: Visit, *, seconds: float = 5.0, url: str = URL
) -> AuthorizationCodeResult:
    port = 0

    async def show(shown: str, host: str) -> None:
        assert shown == url
        assert host == "as.example"
        await visit(port)

    async with listen_for_redirect(show, seconds=seconds) as person:
        port = int(person.redirect_uri.split(":")[2].split("/")[0])
        return await person.authorise(url)


@pytest.fixture(autouse=True)
async def patience() -> AsyncGenerator[None]:
    with anyio.fail_after(10):
        yield


async def test_the_first_answer_with_our_state_is_taken() -> None:
    async def visit(port: int) -> None:
        answer = await get(port, f"/callback?code=c&state={STATE}&iss=https%3A%2F%2Fas.example")
        assert answer == "HTTP/1.1 200 OK"

    found = await authorised(visit)
    assert (found.code, found.state, found.iss) == ("c", STATE, "https://as.example")


async def test_what_is_no_answer_to_our_question_is_turned_away_and_waiting_goes_on() -> None:
    async def visit(port: int) -> None:
        assert "404" in await get(port, "/")
        assert "404" in await get(port, "/favicon.ico")
        assert "404" in await request(port, "POST /callback?state=x HTTP/1.1\r\n\r\n")
        assert "400" in await get(port, "/callback")
        assert "400" in await get(port, "/callback?code=evil&state=other")
        assert "400" in await get(port, "/callback?code=evil&state=%C3%A9")
        assert "404" in await request(port, "\r\n\r\n")
        assert await request(port, "GET /" + "x" * 20_000) == ""
        assert "200" in await get(port, f"/callback?code=good&state={STATE}")
        assert "400" in await get(port, f"/callback?code=late&state={STATE}")

    assert (await authorised(visit)).code == "good"


async def test_a_refusal_of_the_authorization_server_is_told_by_its_code() -> None:
    async def visit(port: int) -> None:
        await get(port, f"/callback?error=access_denied&error_description=x&state={STATE}")

    with pytest.raises(AuthRequired, match="`access_denied`"):
        await authorised(visit)


async def test_a_refusal_without_our_state_is_not_believed() -> None:
    async def visit(port: int) -> None:
        assert "400" in await get(port, "/callback?error=access_denied")
        await get(port, f"/callback?code=c&state={STATE}")

    assert (await authorised(visit)).code == "c"


async def test_nobody_is_waited_for_without_end() -> None:
    async def visit(port: int) -> None:
        assert port

    with pytest.raises(AuthRequired, match=r"nobody logged in within 0\.05 s"):
        await authorised(visit, seconds=0.05)


async def test_a_person_who_declines_ends_the_waiting_with_that_error() -> None:
    async def visit(port: int) -> None:
        raise AuthRequired(f"declined at {port}")

    with pytest.raises(AuthRequired, match="declined"):
        await authorised(visit)


async def test_only_loopback_is_listened_on_and_only_while_a_login_runs() -> None:
    async def visit(url: str, host: str) -> None:
        raise AssertionError(url, host)

    async with listen_for_redirect(visit) as person:
        assert person.redirect_uri.startswith("http://127.0.0.1:")
        port = int(person.redirect_uri.split(":")[2].split("/")[0])
        with pytest.raises(ConfigError, match=str(port)):
            async with listen_for_redirect(visit, port=port):
                pass
        async with listen_for_redirect(visit, preferred=port) as other:
            assert other.redirect_uri != person.redirect_uri
    async with listen_for_redirect(visit, preferred=port) as again:
        assert isinstance(again, LoopbackPerson)
        assert again.redirect_uri == person.redirect_uri
    with pytest.raises(OSError, match="connect"):
        await get(port, "/")
